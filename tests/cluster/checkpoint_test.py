#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of real jobs: killed as a whole and resumed with other numbers of trainers, damaged,
foreign, on a full disk; and the commands that look at them. TROUPE_LONG=1 resumes more often."""

import hashlib
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import threading
import unittest

from run_support import BIN, GRAPH, LONG, Home, private_mounts, settings, train, wait_until

EPOCHS = 2
STEPS = 44
SEED = int(os.environ.get("TROUPE_SEED", "1"))


def keep(every, *more):
    return ("--set", f"trainers.args.checkpoint_every={every}",
            "--set", "trainers.args.checkpoint_keep=100", *more)


class Checkpoints(unittest.TestCase):
    reference = None

    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)

    def runs(self):
        """The folders of all runs, oldest first."""
        folder = pathlib.Path(self.home.folder.name, "digits")
        return sorted(folder.iterdir(), key=lambda run: run.stat().st_ctime_ns)

    def folder(self, run=-1):
        return self.runs()[run] / "checkpoints" / "trainers"

    def steps(self, run=-1):
        return sorted(int(one.name[5:]) for one in self.folder(run).glob("step-*"))

    def done(self, *words, trainers=3):
        code, events, err = train(self.home, *settings(trainers, EPOCHS, *words))
        self.assertEqual(code, 0, f"{words}\n{err}")
        self.assertEqual(events[-1]["event"], "done")
        return events[-1], events

    def expected_hash(self):
        """Of an undisturbed run without checkpoints."""
        if Checkpoints.reference is None:
            home = Home()
            self.addCleanup(home.close)
            code, events, err = train(home, *settings(2, EPOCHS))
            self.assertEqual(code, 0, err)
            Checkpoints.reference = events[-1]["params_sha256"]
        return Checkpoints.reference

    def kill_all_after(self, step, *words, trainers=3):
        """Runs until the checkpoint of a step is reported, then kills every process at once."""
        job = self.home.start("run", str(GRAPH), "-o", "json", *settings(trainers, EPOCHS, *words))
        alarm = threading.Timer(60, job.kill)
        alarm.start()
        try:
            for line in job.stdout:
                event = json.loads(line)
                if event["event"] == "checkpoint" and event["step"] >= step:
                    break
            else:
                self.fail(f"no checkpoint of step {step}: {job.stderr.read()}")
        finally:
            alarm.cancel()
        for pid in self.home.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        job.communicate()
        self.assertTrue(wait_until(lambda: not self.home.processes(), 5))

    def troupe(self, *words):
        done = subprocess.run([str(BIN / "troupe"), *words], env=self.home.env, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_a_job_killed_as_a_whole_goes_on_with_other_numbers_of_trainers(self):
        # Epochs have 22 steps, so all of these are in the middle of one.
        self.kill_all_after(5, *keep(5), trainers=3)
        self.kill_all_after(12, *keep(3), "--resume", str(self.runs()[-1]), trainers=1)
        first = self.steps()[0]
        self.assertGreater(first, 5, "it went on and did not start again")
        name = "digits/" + self.runs()[-1].name
        counts = (2, 5) if not LONG else (1, 2, 3, 4, 5, 6, 7, 8, 9)
        for count in counts:
            with self.subTest(trainers=count):
                done, events = self.done("--resume", name, trainers=count)
                self.assertEqual(done["params_sha256"], self.expected_hash())
                resumed = next(e["step"] for e in events if e["event"] == "resume")
                steps = [e["step"] for e in events if e["event"] == "step"]
                self.assertEqual(steps, list(range(resumed + 1, STEPS + 1)))
                self.assertEqual(done["redone_steps"], 0)
        done, _ = self.done("--resume", name, "--in-process")
        self.assertEqual(done["params_sha256"], self.expected_hash())
        done, _ = self.done("--resume", name, "--kill-one-at", "30:exchange:1")
        self.assertEqual(done["params_sha256"], self.expected_hash())

    def test_checkpoints_change_nothing_and_the_last_step_has_one(self):
        done, events = self.done(*keep(10))
        self.assertEqual(done["params_sha256"], self.expected_hash())
        written = [e["step"] for e in events if e["event"] == "checkpoint"]
        missed = [e["step"] for e in events if e["event"] == "checkpoint_missed"]
        self.assertEqual(sorted(written + missed), [10, 20, 30, 40, 44])
        self.assertEqual(self.steps(), written)
        self.assertIn(44, written)
        done, _ = self.done("--resume", str(self.runs()[-1]))  # nothing is left to do
        self.assertEqual(done["params_sha256"], self.expected_hash())
        self.assertGreater(done["test_accuracy"], 0.9)

    def test_only_as_many_are_kept_as_the_graph_says(self):
        self.done("--set", "trainers.args.checkpoint_every=5",
                  "--set", "trainers.args.checkpoint_keep=2")
        self.assertEqual(len(self.steps()), 2)
        self.assertEqual(self.steps()[-1], STEPS)

    def test_the_tensors_are_where_the_format_says(self):
        done, _ = self.done(*keep(1000))
        (file,) = self.folder().glob("step-*/*.safetensors")
        data = file.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + length])
        self.assertEqual((8 + length) % 64, 0)
        digest = hashlib.sha256()
        for name, tensor in header.items():  # in the model's order
            if name.startswith(("optimizer.", "state.", "__")) or "running" in name:
                continue
            if tensor["dtype"] == "F32":
                begin, end = tensor["data_offsets"]
                digest.update(data[8 + length + begin:8 + length + end])
        self.assertEqual(digest.hexdigest(), done["params_sha256"])

    def test_a_damaged_one_is_named_and_the_one_before_it_is_used(self):
        self.kill_all_after(15, *keep(5))
        steps = self.steps()
        newest = self.folder() / f"step-{steps[-1]:012}"
        if not (newest / "manifest").exists():  # killed while it was written
            newest = self.folder() / f"step-{steps[-2]:012}"
        (file,) = newest.glob("*.safetensors")
        data = bytearray(file.read_bytes())
        data[random.Random(SEED).randrange(len(data) - 200_000, len(data) - 1000)] ^= 1
        file.write_bytes(data)
        code, out, _ = self.troupe("checkpoint", "verify", str(self.runs()[-1]), "-o", "json")
        self.assertEqual(code, 1)
        (bad,) = [e for e in json.loads(out)["checkpoints"] if e["state"] == "damaged"]
        self.assertRegex(bad["why"], rf"{file}: tensor \S+ is not the one that was written")
        done, events = self.done("--resume", str(self.runs()[-1]), trainers=2)
        self.assertEqual(done["params_sha256"], self.expected_hash())
        reasons = " ".join(e["why"] for e in events if e["event"] == "checkpoint_refused")
        self.assertRegex(reasons, rf"{file}: tensor \S+ is not the one that was written")

    def test_one_of_another_job_or_none_is_refused_with_the_reason(self):
        self.done(*keep(1000), trainers=1)
        run = str(self.runs()[-1])
        for word, why in (("app.seed=8", "seed 7 there, 8 in this graph"),
                          ("trainers.args.ranks=4", "ranks 8 there, 4 in this graph"),
                          ("app.name=\"other\"", "name digits there, other in this graph"),
                          ("trainers.args.epochs=1", "give it more epochs")):
            with self.subTest(word=word):
                code, events, err = train(self.home, *settings(1, EPOCHS), "--set", word,
                                          "--resume", run)
                self.assertEqual(code, 1)
                self.assertIn(why, err)
                self.assertFalse(any(e["event"] == "step" for e in events))
        code, _, err = train(self.home, "--resume", "nowhere")
        self.assertEqual((code, err), (1, "troupe run: --resume: nowhere: there is no such folder\n"))

    def test_a_full_disk_costs_checkpoints_and_nothing_else(self):
        words = private_mounts()
        if words is None:
            self.skipTest("this user may not mount anything")
        small = pathlib.Path(self.home.folder.name, "small")
        small.mkdir()
        script = f'mount -t tmpfs -o size=700k none {small} && exec "$@"'
        job = subprocess.Popen(
            [*words, "sh", "-c", script, "sh", str(BIN / "troupe"), "run", str(GRAPH), "-o", "json",
             *settings(2, EPOCHS), *keep(5), "--set", f'app.checkpoint_dir="{small}"'],
            env=self.home.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        out, err = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0, err)
        events = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(events[-1]["params_sha256"], self.expected_hash())
        self.assertTrue(any(e["event"] == "checkpoint" for e in events))
        missed = [e["why"] for e in events if e["event"] == "checkpoint_missed"]
        self.assertTrue(any("No space left on device" in why for why in missed), missed)

    def test_commands_list_compare_and_verify(self):
        self.done(*keep(11))
        self.done(*keep(11), "--set", "app.seed=8", trainers=2)
        self.done(*keep(11), trainers=1)
        a, b, c = (str(run) for run in self.runs())
        code, out, _ = self.troupe("checkpoint", "ls", a)
        self.assertEqual(code, 0)
        self.assertEqual(out.split("\n", maxsplit=1)[0].split(),
                         ["CHECKPOINT", "STEP", "EPOCH", "SIZE", "STATE"])
        self.assertRegex(out, r"step-000000000044 +44 +2 +\d+\.\d KiB +complete\n$")
        code, names, _ = self.troupe("checkpoint", "ls", a, "-o", "name")
        self.assertEqual(names.splitlines()[-1], str(self.folder(0) / "step-000000000044"))
        self.assertEqual(self.troupe("checkpoint", "verify", a)[0], 0)
        code, out, err = self.troupe("checkpoint", "diff", a, c, "-o", "json")
        self.assertEqual((code, json.loads(out)["equal"]), (0, True), err)
        code, out, err = self.troupe("checkpoint", "diff", a, b, "-o", "json")
        difference = json.loads(out)
        self.assertEqual((code, difference["equal"]), (1, False))
        self.assertEqual(difference["first"]["tensor"], "conv1.weight")
        self.assertEqual(difference["first"]["element"], "[0, 0, 0, 0]")
        self.assertNotEqual(difference["first"]["a"], difference["first"]["b"])
        self.assertGreater(difference["largest"]["difference"], 0)
        code, _, err = self.troupe("run", "verify", a, c)
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"^equal in all \d+ steps")
        code, out, _ = self.troupe("run", "verify", a, b, "-o", "json")
        first = json.loads(out)["first"]
        self.assertEqual((code, first["step"], first["tensor"]), (1, 0, "conv1.weight"))
        self.assertEqual(first["element"]["checkpoint_step"], 11)

    def test_verify_finds_the_step_and_element_where_runs_part(self):
        self.done(*keep(10), "--set", "trainers.args.hash_every=1")
        run = self.runs()[-1]
        hashes = (run / "hashes").read_text().splitlines()
        self.assertEqual(hashes[0], "troupe-hashes 1")
        steps = sorted({int(line.split()[0]) for line in hashes[1:]})
        self.assertEqual((steps[0], steps[-1]), (0, STEPS))
        self.assertTrue(all(len(line.split()[3]) == 64 for line in hashes[1:]))
        part = steps[len(steps) // 2]
        other = pathlib.Path(self.home.folder.name, "other")
        other.mkdir()
        changed = [line[:-1] + ("0" if line[-1] != "0" else "1")
                   if line.startswith(f"{part} ") and " conv2.weight " in line else line
                   for line in hashes]
        (other / "hashes").write_text("\n".join(changed) + "\n")
        code, out, err = self.troupe("run", "verify", str(run), str(other), "-o", "json")
        first = json.loads(out)["first"]
        self.assertEqual((code, first["step"], first["tensor"]), (1, part, "conv2.weight"))
        self.assertEqual(first["last_equal_step"], steps[len(steps) // 2 - 1])
        self.assertIn("which element it is cannot be said", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
