#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Nodes of one cluster on this machine: who joins, who is silent, who dies, who leaves."""

import pathlib
import re
import signal
import time
import unittest

from run_support import Home, wait_until

UP = re.compile(r"\b(?:host|control) ([\w.-]+)/(\d+) at (\S+) is up")


class Node:
    """A `troupe node` whose log is kept in a file."""

    def __init__(self, home, name, *words):
        self.name = name
        self.log = pathlib.Path(home.folder.name, f"{name}.log")
        with self.log.open("w", encoding="utf-8") as file:
            self.process = home.start("node", "--name", name, "--listen", "127.0.0.1:0", *words,
                                      stderr=file)
        self.address = self.process.stdout.readline().split()[-1]

    def said(self):
        return self.log.read_text(encoding="utf-8")

    def has_said(self, text, since=0):
        return text in self.said()[since:]

    def sees(self):
        """Name -> incarnation of those that have come up, the last of each."""
        return {name: incarnation for name, incarnation, _ in UP.findall(self.said())}

    def send(self, number):
        self.process.send_signal(number)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Members(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)
        self.nodes = {}

    def start(self, name, *words):
        node = Node(self.home, name, *words)
        self.addCleanup(node.end)
        self.nodes[name] = node
        return node

    def cluster(self, names):
        """All join the first."""
        first = self.start(names[0], "--role", "control")
        for name in names[1:]:
            self.start(name, "--join", first.address, "--label", f"name={name}")
        for node in self.nodes.values():
            others = set(names) - {node.name}
            self.assertTrue(wait_until(lambda n=node, o=others: set(n.sees()) == o),
                            f"{node.name}:\n{node.said()}")

    def marks(self):
        return {name: len(node.said()) for name, node in self.nodes.items()}

    def everybody_says(self, text, limit, but=(), since=None):
        """Seconds until all but those have said it; fails where it takes longer than the limit."""
        begin = time.monotonic()
        for name, node in self.nodes.items():
            if name in but:
                continue
            left = limit - (time.monotonic() - begin)
            said = wait_until(lambda n=node, f=name: n.has_said(text, (since or {}).get(f, 0)), left)
            self.assertTrue(said, f"{name} has not said '{text}' in {limit} s:\n{node.said()}")
        return time.monotonic() - begin

    def test_stopped_killed_and_drained(self):
        self.cluster(["a", "b", "c", "d"])
        c, d, b = self.nodes["c"], self.nodes["d"], self.nodes["b"]
        old = self.nodes["a"].sees()["c"]

        c.send(signal.SIGSTOP)
        took = self.everybody_says(f"c/{old} is down", 6.0, but=["c"])
        print(f"a stopped node was noticed by all after {took:.2f} s")

        c.send(signal.SIGCONT)
        self.assertTrue(wait_until(lambda: c.has_said("going on as a new incarnation"), 20),
                        c.said())
        for name in "abd":
            node = self.nodes[name]
            self.assertTrue(wait_until(lambda n=node: n.sees()["c"] != old, 20), node.said())
        self.assertTrue(wait_until(lambda: set(c.sees()) == set("abd")), c.said())
        news = {self.nodes[name].sees()["c"] for name in "abd"}
        self.assertEqual(len(news), 1)
        for name in "abd":  # the old one never comes back, and nobody else has changed
            said = self.nodes[name].said()
            self.assertEqual(said.count(f"c/{old} at"), 1, said)
            self.assertNotIn("going on as a new incarnation", said)

        killed = self.nodes["a"].sees()["d"]
        d.send(signal.SIGKILL)
        took = self.everybody_says(f"d/{killed} is down", 1.0, but=["d"])
        print(f"a killed node was noticed by all after {took:.2f} s")
        self.everybody_says("any more", 5.0, but=["d"])  # confirmed: nothing listens there

        drained = self.nodes["a"].sees()["b"]
        marks = self.marks()
        b.send(signal.SIGTERM)
        self.everybody_says(f"b/{drained} is leaving", 5.0, but=["b", "d"], since=marks)
        self.everybody_says(f"b/{drained} has left", 5.0, but=["b", "d"], since=marks)
        self.assertEqual(b.process.wait(20), 0, b.said())
        for name in "ac":
            self.assertNotIn(f"b/{drained} is down", self.nodes[name].said()[marks[name]:])

    def test_a_first_node_that_was_stopped_comes_back_though_it_joined_nobody(self):
        self.cluster(["a", "b", "c"])
        old = self.nodes["b"].sees()["a"]
        self.nodes["a"].send(signal.SIGSTOP)
        self.everybody_says(f"a/{old} is down", 6.0, but=["a"])
        self.nodes["a"].send(signal.SIGCONT)
        for name in "bc":
            node = self.nodes[name]
            self.assertTrue(wait_until(lambda n=node: n.sees()["a"] != old, 20), node.said())

    def test_two_seconds_of_not_running_are_no_death(self):
        self.cluster(["a", "b", "c"])
        marks = self.marks()
        self.nodes["b"].send(signal.SIGSTOP)
        time.sleep(2)  # what is tested: so long a pause
        self.nodes["b"].send(signal.SIGCONT)
        self.assertFalse(wait_until(
            lambda: any("is down" in node.said()[marks[name]:]
                        for name, node in self.nodes.items()), 5))

    def test_a_name_that_is_taken_is_refused_with_the_way_out(self):
        self.cluster(["a", "b"])
        second = self.home.start("node", "--name", "b", "--join", self.nodes["a"].address)
        _, err = second.communicate(timeout=20)
        self.assertEqual(second.returncode, 1, err)
        self.assertIn("the name 'b' is taken by the node at", err)
        self.assertIn("choose another with --name", err)
        self.assertNotIn("b/" + self.nodes["a"].sees()["b"] + " is down", self.nodes["a"].said())

    def test_nobody_there_ends_after_some_tries(self):
        begin = time.monotonic()
        node = self.home.start("node", "--name", "x", "--join", "127.0.0.1:1")
        _, err = node.communicate(timeout=30)
        self.assertEqual(node.returncode, 1)
        self.assertIn("cannot join 127.0.0.1:1: connection refused", err)
        self.assertIn("--join-retry", err)
        self.assertGreater(time.monotonic() - begin, 3)

    def test_who_waits_for_the_first_node_joins_it_later(self):
        first = self.start("a")
        address = first.address
        first.end()
        late = self.start("b", "--join", address, "--join-retry")
        self.assertTrue(wait_until(lambda: late.said().count("trying again") >= 2), late.said())
        again = self.home.start("node", "--name", "a", "--listen", address)
        self.addCleanup(again.communicate)
        self.addCleanup(again.terminate)
        self.assertTrue(wait_until(lambda: "a" in late.sees(), 20), late.said())


if __name__ == "__main__":
    unittest.main(verbosity=2)
