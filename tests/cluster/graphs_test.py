#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Graphs of other shapes than the example's, on real processes."""

import pathlib
import tempfile
import unittest

from run_support import BIN, GRAPH, Home, failed, settings, train, wait_until

JOB = """[app]
name = "{job}"
seed = 7
"""
GROUP = """[[actor]]
path = "{path}"
kind = "easyscale.trainer"
count = {count}
supervisor = "{supervisor}"
[actor.args]
program = "digits"
epochs = 1
"""


def group(path, count, supervisor="."):
    return GROUP.format(path=path, count=count, supervisor=supervisor)


class Graphs(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def graph(self, *parts, job="shapes"):
        path = self.folder / "g.toml"
        path.write_text(JOB.format(job=job) + "".join(parts))
        return path

    def script(self, text):
        path = self.folder / "script"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def done(self, *words, graph=GRAPH):
        code, events, err = train(self.home, *words, graph=graph)
        self.assertEqual(code, 0, err)
        self.assertEqual([e["event"] for e in events].count("done"), 1)
        self.assertEqual(events[-1]["event"], "done")
        self.assertTrue(wait_until(lambda: not self.home.processes(), 5), "processes are left")
        return events

    def fails(self, *words, says, graph=GRAPH):
        return failed(self, self.home, *words, says=says, graph=graph)

    @staticmethod
    def count(events, name, path):
        return sum(e["event"] == name and e["path"].endswith(path) for e in events)

    def test_a_group_below_a_supervisor_of_its_own_is_restarted_there(self):
        graph = self.graph(group("group/trainers", 1, "group"),
                           '[[supervisor]]\npath = "group"\n')
        events = self.done("--kill-one-at", "3:exchange", graph=graph)
        self.assertEqual(self.count(events, "actor_down", "/group/trainers/0"), 1)
        self.assertEqual(self.count(events, "actor_up", "/group/trainers/0"), 2)
        self.assertEqual(events[-1]["path"], "/jobs/shapes/group/trainers")
        (run,) = (pathlib.Path(self.home.folder.name) / "shapes").iterdir()
        self.assertTrue((run / "logs/group/trainers/0.log").exists())

    def test_the_longest_names_run_too(self):
        graph = self.graph(group("/".join(["p" * 64] * 3), 2), job="j" * 64)
        self.done(graph=graph)

    def test_a_temporary_trainer_stays_away_and_the_others_go_on(self):
        words = settings(3, 1, "--set", "trainers.restart=temporary")
        events = self.done(*words, "--kill-one-at", "3:forward:1")
        self.assertEqual(self.count(events, "actor_down", "trainers/1"), 1)
        self.assertEqual(self.count(events, "actor_up", "trainers/1"), 1)
        undisturbed = self.done(*settings(2, 1))
        self.assertEqual(events[-1]["params_sha256"], undisturbed[-1]["params_sha256"])

    def test_a_job_whose_last_temporary_trainer_is_killed_fails(self):
        self.fails(*settings(1, 1, "--set", "trainers.restart=temporary", "--kill-one-at", "3"),
                   says=["troupe run: "])

    def test_a_killed_transient_trainer_comes_back(self):
        words = settings(1, 1, "--set", "trainers.restart=transient")
        events = self.done(*words, "--kill-one-at", "3")
        self.assertEqual(self.count(events, "actor_up", "trainers/0"), 2)

    def test_two_groups_report_each_for_itself_and_end_with_one_done(self):
        graph = self.graph(group("b", 2), group("a", 1))
        events = self.done(graph=graph)
        for event in events:
            if event["event"] in ("start", "view", "step", "epoch", "group_done"):
                self.assertIn(event["path"], ("/jobs/shapes/a", "/jobs/shapes/b"), event)
        ends = {e["path"]: e for e in events if e["event"] == "group_done"}
        self.assertEqual(len(ends), 2)
        self.assertEqual(events[-1]["groups"], 2)
        self.assertEqual(events[-1]["path"], "/jobs/shapes/b")
        self.assertEqual(len({e["params_sha256"] for e in ends.values()}), 1)
        for path, end in ends.items():
            steps = [e["step"] for e in events if e["event"] == "step" and e["path"] == path]
            self.assertEqual(steps, list(range(1, end["steps"] + 1)))

    def test_a_kill_needs_a_graph_of_one_group(self):
        graph = self.graph(group("a", 1), group("b", 1))
        events = self.fails("--kill-one-at", "3", graph=graph,
                            says=["--kill-one-at", "/jobs/shapes/a, /jobs/shapes/b"])
        self.assertEqual(events, [])

    def test_one_process_becomes_the_program_that_the_graph_names(self):
        script = self.script(f'exec {BIN}/troupe-train "$@"')
        for binary in (BIN / "troupe-train", script):
            with self.subTest(binary=binary):
                events = self.done(*settings(2, 1, "--set", f'trainers.binary="{binary}"'),
                                   "--in-process")
                self.assertEqual(events[-1]["steps"], 22)

    def test_one_process_cannot_be_two_programs(self):
        script = self.script(f'exec {BIN}/troupe-train "$@"')
        graph = self.graph(group("a", 1), group("b", 1))
        self.fails("--in-process", "--set", f'b.binary="{script}"', graph=graph,
                   says=["a needs", "troupe-train", "b needs", str(script)])

    def test_a_binary_that_is_a_folder_is_refused_before_anything_starts(self):
        for words in ([], ["--in-process"]):
            events = self.fails("--set", f'trainers.binary="{self.folder}"', *words,
                                says=[str(self.folder), "no regular file"])
            self.assertEqual(events, [])

    def test_an_empty_binary_is_the_kinds_own(self):
        self.done(*settings(1, 1, "--set", 'trainers.binary=""'))

    def test_a_job_may_be_called_secret(self):
        node = self.home.start("node", "--listen", "127.0.0.1:0")
        node.stdout.readline()
        node.terminate()
        node.communicate(timeout=20)
        self.done(*settings(1, 1, "--set", "app.name=secret"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
