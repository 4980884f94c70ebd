#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A job on the nodes of a cluster: three `troupe node`s on this machine stand for three hosts."""

import json
import pathlib
import re
import shutil
import signal
import unittest

from run_support import GRAPH, Home, settings, train, wait_until

EPOCHS = 6


class Host:
    """A `troupe node`, in a home of its own that has the cluster's secret."""

    def __init__(self, home, name, *words):
        self.name = name
        self.process = home.start("node", "--name", name, "--listen", "127.0.0.1:0", *words)
        line = self.process.stdout.readline()
        self.address = re.fullmatch(rf"node {name} listens on (\S+)\n", line).group(1)

    def launched(self):
        """Process ids of what it has launched."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if not entry.name.isdigit():
                    continue
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if b"--launched" in words and self.address.encode() in words:
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.communicate(timeout=20)
        return self.process.returncode


class Cluster(unittest.TestCase):
    reference = {}

    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)
        self.hosts = []

    def host(self, name, *words):
        host = Host(self.home, name, *words)
        self.addCleanup(host.stop)
        self.hosts.append(host)
        return host

    def cluster(self):
        return [word for host in self.hosts for word in ("--cluster", host.address)]

    def start(self, *words, trainers=3, epochs=EPOCHS):
        job = self.home.start("run", str(GRAPH), "-o", "json", *settings(trainers, epochs),
                              *self.cluster(), *words)
        self.addCleanup(self.end, job)
        return job

    def end(self, job):
        if job.poll() is None:
            job.kill()
        if not job.stdout.closed:
            job.communicate()

    def read_until(self, job, events, accept):
        for line in job.stdout:
            events.append(json.loads(line))
            if accept(events[-1]):
                return
        self.fail(f"not seen; {events[-3:]} {job.stderr.read()}")

    def finish(self, job, events):
        out, err = job.communicate(timeout=120)
        events += [json.loads(line) for line in out.splitlines()]
        self.assertEqual(job.returncode, 0, err)
        return events[-1]

    def on_one_machine(self, epochs=EPOCHS):
        """The parameters' hash of an undisturbed run without a cluster."""
        if epochs not in Cluster.reference:
            code, events, err = train(self.home, *settings(2, epochs))
            self.assertEqual(code, 0, err)
            Cluster.reference[epochs] = events[-1]["params_sha256"]
        return Cluster.reference[epochs]

    def test_a_job_is_spread_and_survives_the_death_of_a_host(self):
        for name in ("h1", "h2", "h3"):
            self.host(name)
        epochs = 20  # so that it still trains when the new one is up
        job, events = self.start(epochs=epochs), []
        self.read_until(job, events, lambda e: e["event"] == "step" and e["step"] == 10)
        self.assertEqual([len(host.launched()) for host in self.hosts], [1, 1, 1])
        self.hosts[1].stop(signal.SIGKILL)
        self.read_until(job, events, lambda e: e["event"] == "actor_down")
        self.assertIn("h2", events[-1]["why"])
        where = events[-1]["path"]
        self.read_until(job, events, lambda e: e["event"] == "actor_up" and e["path"] == where)
        self.assertEqual(sorted(len(host.launched()) for host in self.hosts), [0, 1, 2])
        done = self.finish(job, events)
        self.assertEqual(done["params_sha256"], self.on_one_machine(epochs))
        self.assertLessEqual(done["redone_steps"], 1)
        for host in self.hosts:
            self.assertTrue(wait_until(lambda h=host: not h.launched(), 10), "a trainer is left")

    def test_a_job_goes_on_from_a_checkpoint_that_its_hosts_wrote(self):
        for name in ("h1", "h2"):
            self.host(name)
        first = self.finish(self.start("--set", "trainers.args.checkpoint_every=10"), [])
        run = next(pathlib.Path(self.home.folder.name, "digits").iterdir())
        written = sorted((run / "checkpoints/trainers").glob("step-*"))
        self.assertEqual(int(written[-1].name[5:]), first["steps"])
        shutil.rmtree(written[-1])
        events = []
        done = self.finish(self.start("--resume", str(run), trainers=2), events)
        self.assertEqual([event["step"] for event in events if event["event"] == "resume"],
                         [int(written[-2].name[5:])])
        self.assertEqual(done["params_sha256"], self.on_one_machine())

    def test_a_killed_trainer_is_started_again_and_its_host_tells_how_it_ended(self):
        self.host("only")
        job, events = self.start("--kill-one-at", "7:exchange:1"), []
        self.read_until(job, events, lambda e: e["event"] == "actor_down")
        self.assertRegex(events[-1]["why"], r"^node only: process \d+: killed by signal 9")
        self.assertEqual(self.finish(job, events)["params_sha256"], self.on_one_machine())
        logs = pathlib.Path(self.home.folder.name, ".nodes/only/digits/trainers")
        self.assertEqual(sorted(p.name for p in logs.iterdir()), ["0.log", "1.log", "2.log"])

    def test_who_fits_on_no_node_waits_for_one_and_spends_no_restart(self):
        self.host("plain", "--gpu", "0")
        job = self.start("--set", "trainers.needs.gpu=1", "--set",
                         "supervisor.intensity.restarts=0", trainers=2)
        events = []
        self.read_until(job, events, lambda e: e["event"] == "actor_waits")
        self.assertEqual(events[-1]["what"], "waits for a node with gpu=1 (plain: needs gpu=1, "
                                             "0 of 0 free)")
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=20)
        self.assertEqual(job.returncode, -signal.SIGINT)
        late = self.host("late", "--gpu", "2")
        job, events = self.start("--set", "trainers.needs.gpu=1", trainers=2), []
        self.read_until(job, events, lambda e: e["event"] == "step")
        self.assertEqual(len(late.launched()), 2)
        self.assertEqual(self.finish(job, events)["params_sha256"], self.on_one_machine())

    def test_a_stopped_host_ends_what_it_has_launched_and_others_take_over(self):
        first, _ = self.host("first"), self.host("second")
        epochs = 20
        job, events = self.start("--set", "trainers.restart=transient", epochs=epochs), []
        self.read_until(job, events, lambda e: e["event"] == "step" and e["step"] == 5)
        self.assertEqual(first.stop(), 0)
        self.read_until(job, events, lambda e: e["event"] == "actor_down")
        self.assertEqual(events[-1]["why"], "node first is stopping")
        self.assertFalse(first.launched())
        self.assertEqual(self.finish(job, events)["params_sha256"], self.on_one_machine(epochs))

    def test_an_interrupted_run_leaves_nothing_on_the_hosts(self):
        self.host("h1")
        job, events = self.start(epochs=1000), []
        self.read_until(job, events, lambda e: e["event"] == "step")
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=30)
        self.assertEqual(job.returncode, -signal.SIGINT)
        self.assertTrue(wait_until(lambda: not self.hosts[0].launched(), 5))

    def test_a_killed_run_leaves_orphans_that_its_hosts_keep_for_a_while(self):
        self.host("h1")
        job, events = self.start(epochs=1000), []
        self.read_until(job, events, lambda e: e["event"] == "step")
        before = sorted(self.hosts[0].launched())
        job.kill()
        job.communicate()
        self.assertEqual(sorted(self.hosts[0].launched()), before)
        # A new run of the same job takes their places.
        again, events = self.start(), []
        self.read_until(again, events, lambda e: e["event"] == "step")
        self.assertFalse(set(before) & set(self.hosts[0].launched()))
        self.assertEqual(self.finish(again, events)["params_sha256"], self.on_one_machine())

    def refused(self, *words):
        job = self.home.start("run", str(GRAPH), *words)
        _, err = job.communicate(timeout=60)
        self.assertNotEqual(job.returncode, 0)
        return err

    def test_what_cannot_run_on_a_cluster_is_refused_with_the_reason(self):
        self.assertRegex(self.refused("--cluster", "127.0.0.1:1"),
                         r"cannot join 127\.0\.0\.1:1: .*refused")
        self.assertIn("--cluster", self.refused("--cluster", "nowhere"))
        self.assertIn("--cluster", self.refused("--secret-file", "x"))
        self.assertIn("excludes", self.refused("--cluster", "127.0.0.1:1", "--in-process"))
        host = self.host("h1")
        self.assertIn("'binary' is a name that each host looks for",
                      self.refused("--cluster", host.address, "--set",
                                   "trainers.binary=/usr/bin/env"))
        err = self.refused("--cluster", host.address, "--set", "trainers.binary=no-such-program")
        self.assertRegex(err, r"gave up.*node h1: .*there is no program .*no-such-program")

    def test_a_wrong_secret_is_said(self):
        host = self.host("h1")
        wrong = pathlib.Path(self.home.folder.name, "wrong")
        wrong.write_text("bm90IHRoZSBzZWNyZXQgb2YgdGhpcyBjbHVzdGVyICEhISE=\n")
        wrong.chmod(0o600)
        err = self.refused("--cluster", host.address, "--secret-file", str(wrong))
        self.assertRegex(err, r"cannot join .*secret")


if __name__ == "__main__":
    unittest.main(verbosity=2)
