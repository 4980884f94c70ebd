#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input to whole programs: one error that names the place and the way out, and nothing is left
half started."""

import gzip
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from run_support import GRAPH, REPOSITORY, Home, failed, settings, train

DIGITS = REPOSITORY / "data/digits.csv.gz"


class BadInput(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check_fails(self, *words, says):
        begin = time.monotonic()
        failed(self, self.home, *words, says=says)
        self.assertLess(time.monotonic() - begin, 20)

    def data(self, text):
        path = self.folder / "digits.csv.gz"
        path.write_bytes(gzip.compress(text.encode()))
        return "--set", f'trainers.args.data="{path}"'

    def test_a_missing_data_file_is_named(self):
        path = self.folder / "nowhere.csv.gz"
        self.check_fails("--set", f'trainers.args.data="{path}"', says=[str(path)])

    def test_a_data_file_cut_short_is_named(self):
        path = self.folder / "cut.csv.gz"
        path.write_bytes(DIGITS.read_bytes()[:20000])
        self.check_fails("--set", f'trainers.args.data="{path}"', says=[str(path), "cut"])

    def test_a_row_with_a_missing_column_is_named_with_its_line(self):
        rows = gzip.decompress(DIGITS.read_bytes()).decode().splitlines()
        rows[16] = rows[16].rsplit(",", 1)[0]
        self.check_fails(*self.data("\n".join(rows) + "\n"), says=["digits.csv.gz:17:", "64"])

    def test_a_program_that_nobody_knows_is_named_with_those_that_are(self):
        self.check_fails("--set", 'trainers.args.program="digit"', says=['"digit"', "known: digits"])

    def test_a_binary_that_is_not_there_is_named(self):
        graph = self.folder / "g.toml"
        graph.write_text(GRAPH.read_text().replace(
            'kind = "easyscale.trainer"', 'kind = "easyscale.trainer"\nbinary = "./nobody"'))
        job = self.home.start("run", str(graph))
        _, err = job.communicate(timeout=20)
        self.assertEqual(job.returncode, 1)
        self.assertIn("./nobody", err)

    def test_a_program_that_ends_at_once_is_reported_with_its_exit_status(self):
        script = self.folder / "broken"
        script.write_text("#!/bin/sh\necho no such library >&2\nexit 3\n")
        script.chmod(0o755)
        self.check_fails("--set", f'trainers.binary="{script}"', *settings(2, 1),
                         says=["exit status 3", "no such library", "gave up"])

    def node(self, *words):
        return self.home.start("node", *words)

    def listening_node(self, *words):
        node = self.node("--listen", "127.0.0.1:0", "--name", "first", *words)
        self.addCleanup(node.communicate)
        self.addCleanup(node.terminate)
        line = node.stdout.readline()
        self.assertRegex(line, r"^node first listens on 127\.0\.0\.1:[0-9]+\n$")
        return line.split()[-1]

    def check_node_fails(self, *words, says):
        node = self.node(*words)
        _, err = node.communicate(timeout=20)
        self.assertEqual(node.returncode, 1, err)
        self.assertIn(says, err)

    def secret(self, name, mode=0o600):
        path = self.folder / name
        path.write_text(f"{name} 0123456789abcdef0123456789abcdef\n")
        path.chmod(mode)
        return str(path)

    def test_a_port_in_use_is_named(self):
        address = self.listening_node()
        self.check_node_fails("--listen", address, says=f"{address}: the port is in use")

    def test_a_wrong_secret_keeps_a_node_out(self):
        address = self.listening_node("--secret-file", self.secret("right"))
        self.check_node_fails("--join", address, "--secret-file", self.secret("wrong"),
                              says="wrong cluster secret")

    def test_a_node_of_another_version_is_kept_out_and_told(self):
        secret = self.secret("shared")
        address = self.listening_node("--secret-file", secret)
        other = subprocess.run([os.environ["TROUPE_OTHER_VERSION"], address, secret],
                               capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual(other.returncode, 0, other.stdout + other.stderr)
        for text in ("0.0.1", "install the same version on both"):
            self.assertIn(text, other.stdout)

    def test_the_log_of_a_trainer_that_was_killed_is_not_offered_as_a_cause(self):
        script = self.folder / "killed"
        script.write_text("#!/bin/sh\necho all is well >&2\nkill -9 $$\n")
        script.chmod(0o755)
        code, _, err = train(self.home, "--set", f'trainers.binary="{script}"', *settings(1, 1))
        self.assertEqual(code, 1)
        self.assertIn("killed by signal 9", err)
        self.assertNotIn("all is well", err)

    def test_who_encrypts_and_who_does_not_do_not_meet(self):
        address = self.listening_node("--encrypt")
        self.check_node_fails("--join", address, says="encrypts and the other does not")

    def test_a_secret_that_others_can_read_is_refused(self):
        self.check_node_fails("--secret-file", self.secret("open", 0o644), says="chmod 600")

    def test_nobody_to_join_is_said(self):
        self.check_node_fails("--join", "127.0.0.1:1", says="127.0.0.1:1: connection refused")

    def test_a_public_address_needs_a_secret(self):
        self.check_node_fails("--listen", "0.0.0.0:0", says="--secret-file")

    def test_nodes_of_one_user_find_each_other_without_further_ado(self):
        address = self.listening_node()
        second = self.node("--join", address, "--name", "second", "--listen", "127.0.0.1:0")
        until = time.monotonic() + 20
        line = ""
        while "first" not in line and time.monotonic() < until:
            line = second.stderr.readline()
        self.assertIn("is up", line)
        second.send_signal(signal.SIGTERM)
        second.communicate(timeout=20)
        self.assertEqual(second.returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
