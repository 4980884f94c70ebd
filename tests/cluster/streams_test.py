#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Streams, disks and signals that are not as one would wish."""

import json
import os
import pathlib
import signal
import stat
import subprocess
import tempfile
import unittest

from run_support import BIN, GRAPH, Home, private_mounts, settings, wait_until


class Streams(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)

    def ends(self, job, status, says=()):
        out, err = job.communicate(timeout=60)
        self.assertEqual(job.returncode, status, err)
        for text in says:
            self.assertIn(text, err)
        self.assertTrue(wait_until(lambda: not self.home.processes(), 5), "processes are left")
        return out, err

    def test_a_signal_ends_a_run_whose_streams_are_closed(self):
        for closed in ((1,), (0,), (0, 1, 2)):
            with self.subTest(closed=closed):
                job = self.home.start("run", str(GRAPH), "-o", "json",
                                      preexec_fn=lambda fds=closed: [os.close(f) for f in fds])
                self.assertTrue(wait_until(lambda: len(self.home.trainers()) == 3))
                job.terminate()
                self.ends(job, -signal.SIGTERM)

    def test_a_signal_ends_a_node_whose_streams_are_closed(self):
        node = self.home.start("node", "--listen", "127.0.0.1:0",
                               preexec_fn=lambda: [os.close(f) for f in (0, 1)])
        tasks = pathlib.Path(f"/proc/{node.pid}/task")
        self.assertTrue(wait_until(lambda: len(list(tasks.iterdir())) > 2))
        node.terminate()
        self.ends(node, 0)

    def test_output_that_does_not_arrive_is_an_error(self):
        says = ["standard output (/dev/full)", "No space left on device"]
        for words in (["--help"], ["graph", "check", str(GRAPH)],
                      ["run", str(GRAPH), *settings(1, 1)],
                      ["run", str(GRAPH), "-o", "json", *settings(1, 1)]):
            with self.subTest(words=words), open("/dev/full", "w", encoding="utf-8") as full:
                self.ends(self.home.start(*words, stdout=full), 1, says)

    def test_a_record_that_finds_no_room_is_said_once_and_the_run_goes_on(self):
        words = private_mounts()
        if words is None:
            self.skipTest("this user may not mount anything")
        home = self.home.folder.name
        script = f'mount -t tmpfs -o size=32k none {home} && exec "$@"'
        job = subprocess.Popen(
            [*words, "sh", "-c", script, "sh", str(BIN / "troupe"), "run", str(GRAPH), "-o", "json",
             *settings(1, 12)], env=self.home.env, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True)
        out, err = self.ends(job, 0, ["events.jsonl: No space left on device"])
        self.assertEqual(err.count("events.jsonl: No space left"), 1)
        self.assertLessEqual(err.count("hashes: No space left"), 1)
        self.assertEqual(json.loads(out.splitlines()[-1])["event"], "done")

    def test_a_home_that_cannot_be_is_told_with_its_reason(self):
        with tempfile.NamedTemporaryFile() as file:
            self.home.env["TROUPE_HOME"] = file.name
            job = self.home.start("run", str(GRAPH))
            self.ends(job, 1, [file.name, "Not a directory", "set TROUPE_HOME"])

    def test_a_home_that_is_there_keeps_its_mode(self):
        os.chmod(self.home.folder.name, 0o755)
        self.ends(self.home.start("run", str(GRAPH), *settings(1, 1)), 0)
        self.assertEqual(stat.S_IMODE(os.stat(self.home.folder.name).st_mode), 0o755)
        run = self.home.run_folder()
        self.assertEqual(stat.S_IMODE(os.stat(run).st_mode), 0o700)

    def test_an_interrupt_ends_a_run_in_one_process(self):
        for stop in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=stop):
                job = self.home.start("run", str(GRAPH), "-o", "json", "--in-process")
                while json.loads(job.stdout.readline())["event"] != "step":
                    pass
                job.send_signal(stop)
                self.ends(job, -stop)


if __name__ == "__main__":
    unittest.main(verbosity=2)
