#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs deploy/setup with stand-ins for Debian's tools, to see what it says when something is missing."""

import gzip
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import common

SETUP = common.HERE.parent.parent / "deploy"
TOOLS = ("awk bash cat chmod cp cut dirname env grep mkdir mktemp mv nproc rm sha256sum tee tr wc zcat gzip"
         " sh sort").split()
INSTALLED = "printf installed"
NOTHING_INSTALLED = "exit 1"
KNOWN = "printf '  Candidate: 1.0\\n'"
UNKNOWN = "printf '  Candidate: (none)\\n'"


class Setup(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.root.chmod(0o755)
        shutil.copytree(SETUP, self.root / "deploy")
        self.bin = self.root / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.release("bookworm")
        self.stand_in("dpkg-query", NOTHING_INSTALLED)
        self.stand_in("apt-cache", KNOWN)
        self.stand_in("apt-get", "exit 0")
        self.stand_in("dpkg-deb", "exit 0")

    def stand_in(self, name, script):
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.bin / name).chmod(0o755)

    def release(self, codename):
        (self.root / "os-release").write_text(f"VERSION_CODENAME={codename}\n")

    def setup(self, *sections, **settings):
        environment = {"PATH": str(self.bin), "TROUPE_OS_RELEASE": str(self.root / "os-release"),
                       "LANG": "C"}
        return subprocess.run([self.root / "deploy/setup", *sections], capture_output=True, text=True,
                              env=environment, stdin=subprocess.DEVNULL, **settings)

    def assert_refused(self, words, said):
        self.assertEqual(said.returncode, 1, said.stdout + said.stderr)
        self.assertIn(words, said.stderr)

    def test_a_system_without_apt_is_told_so(self):
        (self.bin / "apt-get").unlink()
        self.assert_refused("this is not Debian", self.setup())

    def test_another_release_is_named(self):
        self.release("buster")
        self.assert_refused("unsupported release 'buster'", self.setup())

    def test_an_unknown_section_is_answered_with_the_known_ones(self):
        self.assert_refused("[build] [run] [check] [long] [fresh]", self.setup("biuld"))

    def test_a_package_that_apt_does_not_know_is_named(self):
        self.stand_in("apt-cache", f'case $2 in libcaf-dev) {UNKNOWN};; *) {KNOWN};; esac')
        said = self.setup()
        self.assert_refused("apt knows no package named: libcaf-dev", said)
        self.assertIn("bookworm's 'main'", said.stderr)

    def test_a_missing_network_is_called_that(self):
        self.stand_in("apt-cache", UNKNOWN)
        self.stand_in("apt-get", "echo 'Err: Could not resolve host'; exit 100")
        self.assert_refused("no network", self.setup())

    def test_a_failing_installation_fails_after_one_more_try(self):
        self.stand_in("apt-get", f"echo $1 >> {self.root}/calls; test $1 != install")
        self.assert_refused("could not install", self.setup())
        self.assertEqual((self.root / "calls").read_text().split(), ["install", "update", "install"])

    @unittest.skipIf(os.geteuid(), "only root can become somebody else")
    def test_who_is_not_root_and_has_no_sudo_is_told_so(self):
        said = self.setup(user="nobody", extra_groups=[])
        self.assert_refused("needs root, and there is no sudo", said)

    def test_wrong_digits_are_not_taken(self):
        self.stand_in("dpkg-query", INSTALLED)
        self.stand_in("apt-get", ": > python3-sklearn_1_all.deb")
        path = "usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz"
        if pathlib.Path("/", path).exists():
            self.skipTest("python3-sklearn is installed here, so nothing is downloaded")
        wrong = self.root / "wrong.gz"
        wrong.write_bytes(gzip.compress(b"1,2,3\n"))
        self.stand_in("dpkg-deb", f'mkdir -p "$3/{os.path.dirname(path)}"; cp {wrong} "$3/{path}"')
        self.assert_refused("with the contents that we know", self.setup())
        self.assertFalse((self.root / "data/digits.csv.gz").exists())

    def test_nothing_is_done_where_all_is_there(self):
        digits = common.HERE.parent.parent / "data/digits.csv.gz"
        if not digits.is_file():
            self.skipTest("deploy/setup has not fetched the digits yet")
        (self.root / "data").mkdir()
        shutil.copy(digits, self.root / "data")
        self.stand_in("dpkg-query", INSTALLED)
        self.stand_in("apt-get", "exit 1")
        said = self.setup("build", "run", "check")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertNotIn("$ ", said.stderr)


if __name__ == "__main__":
    unittest.main()
