#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The command line as a user meets it: texts, streams and exit statuses. Argument: the program."""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

TROUPE = ""

GRAPH = """[app]
name = "digits"
seed = 7
[[actor]]
path = "trainers"
kind = "easyscale.trainer"
count = 3
[actor.args]
program = "digits"
ranks = 8
batch = 8
epochs = 12
"""


def troupe(*words):
    """Runs the program; gives exit status, stdout, stderr."""
    done = subprocess.run([TROUPE, *words], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout, done.stderr


class Cli(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.write(GRAPH)

    @staticmethod
    def write(text):
        with open("g.toml", "w", encoding="utf-8") as file:
            file.write(text)

    def refused(self, status, error, *words):
        """The command fails with this status, says this first, and puts nothing on stdout."""
        code, out, err = troupe(*words)
        self.assertEqual((code, out, err.split("\n")[0]), (status, "", error))

    def test_version_starts_quickly(self):
        best = 1.0
        for _ in range(20):
            begin = time.monotonic()
            code, out, err = troupe("--version")
            best = min(best, time.monotonic() - begin)
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, r"^troupe \d+\.\d+\.\d+\n$")
        self.assertLess(best, 0.05)

    def test_a_good_graph_is_listed(self):
        code, out, err = troupe("graph", "check", "g.toml")
        self.assertEqual((code, err), (0, "g.toml: no problems, 3 actors\n"))
        self.assertEqual(out.split("\n")[0].split(),
                         ["PATH", "KIND", "COUNT", "RESTART", "PROGRAM", "SUPERVISOR",
                          "SHUTDOWN", "NEEDS"])
        self.assertEqual(out.split("\n")[1].split(), ["/jobs/digits/trainers", "easyscale.trainer",
                                                      "3", "permanent", "troupe-train", ".",
                                                      "3s", "-"])

    def test_how_actors_are_supervised_and_what_they_need_is_shown(self):
        self.write(GRAPH.replace("count = 3", "count = 3\nshutdown = \"brutal\"\n"
                                 "needs = { gpu = 1, memory = \"2GiB\", labels = [\"ssd\"] }")
                   + "[[supervisor]]\nstrategy = \"one_for_all\"\n")
        code, out, err = troupe("graph", "check", "g.toml")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"troupe-train +\. +brutal +memory=2GiB gpu=1 ssd\n")
        self.assertRegex(out, r"\. +one_for_all +5 in 60 s +-\n")
        listed = json.loads(troupe("graph", "check", "g.toml", "-o", "json")[1])
        self.assertEqual(listed["actors"][0]["shutdown"], "brutal")
        self.assertEqual(listed["actors"][0]["needs"], "memory=2GiB gpu=1 ssd")
        self.assertEqual(listed["actors"][0]["backoff"]["first_ms"], 100)
        self.assertEqual(listed["supervisors"][0]["strategy"], "one_for_all")
        self.write(GRAPH.replace("count = 3", "count = 3\nshutdown = \"never\""))
        self.refused(1, "g.toml:8:12: 'never' is no way to stop: write \"brutal\", \"infinity\", or a "
                        "time from 1ms to 1h such as \"5s\" (of 'trainers')", "graph", "check", "g.toml")

    def test_a_good_graph_as_names_and_as_json(self):
        self.assertEqual(troupe("graph", "check", "g.toml", "-o", "name")[1],
                         "/jobs/digits/trainers\n")
        code, out, _ = troupe("graph", "check", "g.toml", "-o", "json", "--set", "trainers.count=5")
        listed = json.loads(out)
        self.assertEqual(code, 0)
        self.assertEqual(listed["ok"], True)
        self.assertEqual(listed["actors"][0]["count"], 5)

    def test_a_bad_graph_names_the_place(self):
        self.write(GRAPH.replace("count", "cuont"))
        self.refused(1, "g.toml:7:1: unknown key 'cuont', did you mean 'count'?",
                     "graph", "check", "g.toml")
        self.write(GRAPH.replace("count = 3", "count = -3"))
        self.refused(1, "g.toml:7:9: must not be negative", "graph", "check", "g.toml")
        self.write(GRAPH.replace("easyscale.trainer", "easyscale.trainr"))
        self.refused(1, "g.toml:6:8: unknown kind 'easyscale.trainr' of 'trainers', did you mean "
                        "'easyscale.trainer'?", "graph", "check", "g.toml")
        self.write(GRAPH + "[[supervisor]]\npath = \"a\"\nsupervisor = \"a\"\n")
        self.refused(1, "g.toml:15:14: supervisors in a circle: a -> a",
                     "graph", "check", "g.toml")

    def test_broken_toml_names_the_place(self):
        self.write(GRAPH + "[actor.args\n")
        code, out, err = troupe("graph", "check", "g.toml")
        self.assertEqual((code, out), (1, ""))
        self.assertRegex(err, r"^g\.toml:13:\d+: ")

    def test_a_bad_graph_as_json_lists_its_problems(self):
        self.write(GRAPH.replace("batch", "bacth").replace("epochs", "epohcs"))
        code, out, err = troupe("graph", "check", "g.toml", "-o", "json")
        problems = json.loads(out)["problems"]
        self.assertEqual(code, 1)
        self.assertEqual([p.split(": ")[0] for p in problems], ["g.toml:11:1", "g.toml:12:1"])
        self.assertEqual(err.strip().split("\n"), problems)

    def test_a_bad_override_is_named(self):
        self.refused(1, "--set trainers.cout=3: unknown key 'cout', did you mean 'count'?",
                     "graph", "check", "g.toml", "--set", "trainers.cout=3")
        self.refused(2, "troupe graph check: --set: 'seed=1' is not TARGET.KEY=VALUE, such as "
                        "app.seed=1 or trainers.args.epochs=2",
                     "graph", "check", "g.toml", "--set", "seed=1")

    def test_what_trainers_cannot_do_is_said_before_they_start(self):
        where = "--set trainers.args."
        for value, why in (("accumulate=0", "accumulate must be 1 to 131072, not 0"),
                           ("accumulate=131073", "accumulate must be 1 to 131072, not 131073"),
                           ("clip_norm=-1", "clip_norm must not be negative")):
            self.refused(1, f"{where}{value}: args of 'trainers': {why}",
                         "graph", "check", "g.toml", "--set", f"trainers.args.{value}")
        self.refused(1, "g.toml:9:11: args of 'trainers': program and module exclude each other",
                     "graph", "check", "g.toml", "--set", "trainers.args.module=model.pt")

    def test_files_that_are_no_graphs(self):
        self.refused(1, "nowhere.toml: no such file", "graph", "check", "nowhere.toml")
        self.refused(1, ".: is a folder, not a graph file", "graph", "check", ".")
        self.write("#" * (2 << 20))
        self.refused(1, "g.toml: larger than 1 MiB, which no graph may be",
                     "graph", "check", "g.toml")

    def test_mistakes_in_usage_have_status_2(self):
        self.refused(2, "troupe: no command 'grpah', did you mean 'graph'?", "grpah", "check")
        self.refused(2, "troupe graph: no command 'chek', did you mean 'check'?", "graph", "chek")
        self.refused(2, "troupe run: GRAPH is required", "run")
        self.refused(2, "troupe run: --kill-one-at: no phase 'forwrd', did you mean 'forward'?",
                     "run", "g.toml", "--kill-one-at", "4:forwrd")
        self.refused(2, "troupe node: --listen: '7070': expected HOST:PORT, such as "
                        "127.0.0.1:7070 or [::1]:7070", "node", "--listen", "7070")
        self.assertEqual(troupe()[0], 2)

    def test_a_misspelt_benchmark_gets_the_one_that_was_meant(self):
        self.refused(2, "troupe bench: no benchmark 'actros', did you mean 'actors'?",
                     "bench", "actros")

    def test_every_command_has_help_with_an_example(self):
        for words in [[], ["run"], ["node"], ["graph"], ["graph", "check"], ["doctor"],
                      ["bench"], ["ps"], ["tree"], ["top"], ["kill"], ["drain"], ["logs"]]:
            code, out, err = troupe(*words, "--help")
            self.assertEqual((code, err), (0, ""), words)
            self.assertIn("Example", out)

    def test_doctor_reports_whatever_the_machine_has(self):
        code, out, err = troupe("doctor", "-o", "json")
        self.assertEqual((code, err), (0, ""))
        rows = {row["what"]: row for row in json.loads(out)["rows"]}
        for what in ["caf", "ucx", "rdma", "kvm", "cuda", "nccl", "torch", "cma", "memlock",
                     "cores", "memory", "cgroups"]:
            self.assertIn(what, rows)
            self.assertIn(rows[what]["status"], ["ok", "note", "missing"])
            self.assertTrue(rows[what]["found"] and rows[what]["means"])

    def test_doctor_as_a_table_has_one_line_a_row(self):
        code, out, _ = troupe("doctor")
        self.assertEqual(code, 0)
        self.assertEqual(out.split("\n")[0].split()[0:2], ["WHAT", "STATUS"])
        self.assertGreater(len(out.strip().split("\n")), 10)


if __name__ == "__main__":
    TROUPE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
