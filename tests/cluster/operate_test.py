#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The commands that look at a running cluster and tell it what to do, on real jobs and nodes."""

import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from run_support import GRAPH, Home, settings, wait_until

ALL = ["/jobs/digits", "/jobs/digits/trainers", "/jobs/digits/trainers/0", "/jobs/digits/trainers/1"]


class Operate(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def troupe(self, *words, status=0, limit=30):
        """Runs a command; gives stdout and stderr."""
        command = self.home.start(*words)
        try:
            out, err = command.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            command.kill()
            raise AssertionError(f"hung: {words}: {command.communicate()}") from None
        self.assertEqual(command.returncode, status, (words, out, err))
        return out, err

    def json(self, *words):
        return json.loads(self.troupe(*words, "-o", "json")[0])

    def refused(self, *words, says):
        out, err = self.troupe(*words, status=1)
        self.assertEqual(out, "")
        self.assertTrue(err.startswith(f"troupe {words[0]}: "), err)
        self.assertRegex(err, says)

    def begin(self, *words):
        """Starts a program that is stopped when the test ends."""
        process = self.home.start(*words)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def actors(self, *words):
        return {row["path"]: row for row in self.json("ps", *words)["actors"]}

    def job(self, *words):
        """A job of two trainers that goes on until it is stopped, in the middle of its work."""
        log = open(self.folder / "job.txt", "w+", encoding="utf-8")
        self.addCleanup(log.close)
        job = self.home.start("run", str(GRAPH), *settings(2, 5000, *words), stdout=log, stderr=log)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        self.assertTrue(wait_until(self.is_training, 60), pathlib.Path(log.name).read_text())
        return job

    def is_training(self):
        out = self.home.start("ps", "digits", "-o", "json").communicate(timeout=30)[0]
        rows = {row["path"]: row for row in json.loads(out)["actors"]} if out else {}
        return (sorted(rows) == ALL and all(row["state"] == "running" for row in rows.values())
                and rows["/jobs/digits/trainers"].get("steps_per_s", 0) > 0)

    def node(self, name, *words):
        """A node; gives the process and where it listens."""
        node = self.begin("node", "--listen", "127.0.0.1:0", "--name", name, *words)
        line = node.stdout.readline()
        self.assertRegex(line, rf"^node {name} listens on 127\.0\.0\.1:[0-9]+\n$")
        return node, line.split()[-1]

    def three_nodes(self):
        first, address = self.node("first")
        second, _ = self.node("second", "--join", address)
        third, _ = self.node("third", "--join", address)
        self.assertTrue(wait_until(lambda: len(self.json("ps", "--node", "first")["nodes"]) == 3, 20))
        return first, second, third

    # A job.

    def test_a_running_job_is_listed(self):
        job = self.job()
        rows = self.actors()
        self.assertEqual(sorted(rows), ALL)
        self.assertEqual(rows["/jobs/digits"]["kind"], "supervisor")
        self.assertEqual(rows["/jobs/digits"]["pid"], job.pid)
        pids = {rows[path]["pid"] for path in ALL[2:]}
        self.assertEqual(pids, set(self.home.trainers()))
        for path in ALL[2:]:
            self.assertEqual(rows[path]["supervisor"], "/jobs/digits")
            self.assertEqual(rows[path]["kind"], "easyscale.trainer")
            self.assertEqual(rows[path]["restarts"], 0)
            self.assertRegex(rows[path]["node"], r"^digits\.trainers-[01]\.1$")
        self.assertEqual(sorted(self.actors("digits/trainers")), ALL[1:])
        out, err = self.troupe("ps")
        self.assertEqual(err, "")
        self.assertEqual(out.split("\n")[0].split(),
                         ["PATH", "KIND", "NODE", "PROCESS", "STATE", "SINCE", "RESTARTS", "STEPS/S",
                          "REMARK"])
        self.assertEqual(len(out.splitlines()), 2 + len(ALL))
        self.assertEqual(self.troupe("ps", "-o", "name")[0].split(), ALL)
        self.check_tree_and_top()
        self.refused("ps", "digits/trainer", says="no actor /jobs/digits/trainer, did you mean "
                                                  "'/jobs/digits/trainers'")
        self.refused("kill", "digits/trainers/7",
                     says="no actor /jobs/digits/trainers/7, did you mean '/jobs/digits/trainers/")
        self.refused("drain", "digits.hots", says="no node 'digits.hots', did you mean 'digits.host'")

    def check_tree_and_top(self):
        out, _ = self.troupe("tree")
        self.assertRegex(out, r"(?m)^digits\.host \(node, up, process \d+, \d+ s\)$")
        self.assertRegex(out, r"(?m)^└─ /jobs/digits  supervisor  running$")
        self.assertRegex(out, r"(?m)^   ├─ trainers  easyscale\.trainer leader  running, [\d.]+ steps/s$")
        self.assertRegex(out, r"(?m)^   └─ trainers/1  easyscale\.trainer  running on "
                              r"digits\.trainers-1\.1, process \d+$")
        self.assertEqual(self.troupe("tree", "-o", "name")[0].split(), ALL)
        (node,) = self.json("tree")["nodes"]
        (root,) = node["children"]
        self.assertEqual([child["path"] for child in root["children"]], ALL[1:])
        out, _ = self.troupe("top")  # once, for it is no terminal
        self.assertRegex(out, r"^1 node, 4 actors: 4 running; [\d.]+ steps/s\n\nPATH ")
        out, _ = self.troupe("top", "-n", "3", "--every-ms", "100", "-o", "json")
        self.assertEqual([len(json.loads(line)["actors"]) for line in out.splitlines()], [4, 4, 4])

    def test_a_killed_trainer_comes_back_and_its_cause_is_kept(self):
        self.job()
        path = "/jobs/digits/trainers/1"
        before = self.actors()[path]["pid"]
        answer = self.json("kill", "digits/trainers/1")
        self.assertEqual((answer["path"], answer["pid"], answer["comes_back"]), (path, before, True))
        self.assertTrue(wait_until(lambda: self.actors().get(path, {}).get("restarts") == 1, 10))
        self.assertTrue(wait_until(self.is_training, 60))
        self.assertNotEqual(self.actors()[path]["pid"], before)
        self.assertFalse(pathlib.Path(f"/proc/{before}").exists())
        (ended,) = self.json("ps", "--ended")["ended"]
        self.assertEqual((ended["path"], ended["pid"], ended["state"]), (path, before, "failed"))
        self.assertRegex(ended["cause"], r"^troupe kill by client\.\d+$")
        self.assertIn("CAUSE", self.troupe("ps", "--ended")[0])
        log, _ = self.troupe("logs", path)
        self.assertRegex(log, rf'(?m)^ts=\S+Z level=info node=digits\.host actor={path} '
                              rf'trace={answer["trace"]} msg="killed: troupe kill by client')
        self.assertIn("easyscale.trainer", self.troupe("kill", "digits/trainers/0")[0] +
                      self.troupe("ps")[0])

    def test_a_hung_trainer_is_killed_too(self):
        self.job()
        path = "/jobs/digits/trainers/0"
        pid = self.actors()[path]["pid"]
        os.kill(pid, signal.SIGSTOP)
        self.troupe("kill", path)
        self.assertTrue(wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), 10))
        self.assertTrue(wait_until(self.is_training, 60))

    def test_what_a_job_waits_for_is_said(self):
        self.job()
        pid = self.actors()["/jobs/digits/trainers/0"]["pid"]
        os.kill(pid, signal.SIGSTOP)
        leader = lambda: self.actors().get("/jobs/digits/trainers", {})
        self.assertTrue(wait_until(lambda: leader().get("state") == "waiting", 20), leader())
        self.assertIn("trainer", leader()["waits_for"])
        self.assertIn("waits for ", self.troupe("ps")[0])
        os.kill(pid, signal.SIGCONT)

    def test_a_job_is_drained_and_its_logs_stay(self):
        job = self.job()
        follower = self.home.start("logs", "-f", "digits")
        self.addCleanup(follower.kill)
        self.assertEqual(self.troupe("logs", "digits", "-o", "name")[0].split(), ALL)
        first = json.loads(self.troupe("logs", "digits/trainers/0", "-o", "json")[0].split("\n")[0])
        self.assertEqual(first["actor"], "/jobs/digits/trainers/0")
        self.assertRegex(first["ts"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.refused("logs", "digist", says="no logs of a job 'digist', did you mean 'digits'")
        self.refused("logs", "digits/trainers/7", says="no log of /jobs/digits/trainers/7, did you mean")
        self.refused("logs", "../digits", says="'../digits' is neither a job nor the path of an actor")
        self.assertEqual(self.troupe("drain", "digits.host", "-o", "name")[0], "digits.host\n")
        self.assertEqual(job.wait(timeout=30), -signal.SIGTERM)
        out, err = follower.communicate(timeout=30)
        self.assertEqual(follower.returncode, 0, err)
        self.assertRegex(out, r'actor=/jobs/digits/trainers/1 msg="down: ended normally"')
        self.refused("ps", says="no node of this user runs on this machine; start a job with "
                                "'troupe run GRAPH'")
        self.check_logs_of_the_past(out)

    def check_logs_of_the_past(self, followed):
        out, err = self.troupe("logs", "digits")
        self.assertEqual(err, "")
        self.assertEqual(sorted(out.splitlines()), sorted(followed.splitlines()))
        times = re.findall(r"(?m)^ts=(\S+)", out)
        self.assertGreater(len(times), 6)
        self.assertEqual(times, sorted(times))
        since = times[-2]
        self.assertEqual(re.findall(r"(?m)^ts=(\S+)", self.troupe("logs", "digits", "--since", since)[0]),
                         [t for t in times if t >= since])
        run = self.home.run_folder().name
        self.assertEqual(self.troupe("logs", "digits", "--run", run)[0], out)
        self.refused("logs", "digits", "--run", "1", says="no logs of run 1")
        node, _ = self.node("later")  # any node of this home has them
        self.assertEqual(self.troupe("logs", "digits", "--node", "later")[0], out)
        self.assertEqual(self.troupe("logs", "-f", "digits/trainers", "-o", "name")[0].split(), ALL[1:])
        node.terminate()

    def test_a_job_is_killed_by_its_path(self):
        job = self.job()
        self.troupe("kill", "digits")
        self.assertEqual(job.wait(timeout=30), 1)
        self.assertIn("/jobs/digits: troupe kill by client.",
                      (self.folder / "job.txt").read_text(encoding="utf-8"))
        self.assertTrue(wait_until(lambda: not self.home.processes(), 10))
        self.assertRegex(self.troupe("logs", "digits")[0],
                         r'actor=/jobs/digits trace=[0-9a-f]{16} msg="the job ends: troupe kill by')

    def test_top_redraws_on_a_terminal_until_it_is_interrupted(self):
        self.node("first")
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        top = self.home.start("top", "--every-ms", "100", stdout=theirs)
        os.close(theirs)
        seen = b""
        until = time.monotonic() + 20
        while seen.count(b"\x1b[H\x1b[2J") < 3 and time.monotonic() < until:
            if select.select([ours], [], [], 1)[0]:
                seen += os.read(ours, 65536)
        self.assertGreaterEqual(seen.count(b"\x1b[H\x1b[2J"), 3, seen)
        self.assertIn(b"/nodes/first", seen)
        top.send_signal(signal.SIGINT)
        _, err = top.communicate(timeout=10)
        self.assertEqual((top.returncode, err), (0, ""))

    # Nodes.

    def test_a_node_that_goes_meanwhile_is_said(self):
        first, _ = self.node("first")
        top = self.home.start("top", "-n", "1000", "--every-ms", "100", "-o", "json")
        self.addCleanup(top.kill)
        self.assertIn('"first"', top.stdout.readline())
        first.kill()
        _, err = top.communicate(timeout=20)
        self.assertEqual(top.returncode, 1)
        self.assertRegex(err, r"^troupe top: first: .*(gone|down|no answer)")

    def test_several_nodes_are_named_and_one_is_picked(self):
        first, _ = self.node("first")
        self.assertEqual([n["name"] for n in self.json("ps")["nodes"]], ["first"])
        second, _ = self.node("second")
        self.refused("ps", says=rf"several nodes run here: first \(process {first.pid}\), second "
                                rf"\(process {second.pid}\); say which one to ask with --node NAME")
        self.assertEqual([n["name"] for n in self.json("ps", "--node", "second")["nodes"]], ["second"])
        self.refused("ps", "--node", "secnd", says="no node 'secnd' .* did you mean 'second'")
        twin, _ = self.node("second")
        self.refused("ps", "--node", "second", says="--node PROCESS")
        (node,) = self.json("ps", "--node", str(twin.pid))["nodes"]
        self.assertEqual((node["name"], node["pid"], node["state"]), ("second", twin.pid, "up"))

    def test_a_node_that_hangs_is_shown_as_such_within_a_second(self):
        _, second, third = self.three_nodes()
        os.kill(second.pid, signal.SIGSTOP)
        for command in ("ps", "top"):
            begin = time.monotonic()
            out, err = self.troupe(command, "--node", "first", "-o", "json")
            took = time.monotonic() - begin
            states = {n["name"]: n["state"] for n in json.loads(out.splitlines()[-1])["nodes"]}
            self.assertEqual(states, {"first": "up", "second": "no answer", "third": "up"})
            self.assertLess(took, 1.0)
            print(f"{command} of three nodes, one of which hangs: {took:.2f} s")
        self.assertIn("node second gives no answer", self.troupe("ps", "--node", "first")[1])
        self.refused("ps", "--node", "second", says="does not answer")
        self.refused("drain", "second", "--node", "first", says="gives no answer")
        third.terminate()
        self.assertTrue(wait_until(lambda: third.poll() is not None, 10))
        os.kill(second.pid, signal.SIGCONT)

    def test_the_only_node_hangs(self):
        first, _ = self.node("first")
        os.kill(first.pid, signal.SIGSTOP)
        self.refused("ps", says=f"the node of process {first.pid} does not answer; is it stopped")
        os.kill(first.pid, signal.SIGCONT)

    def test_a_node_is_drained_by_way_of_another(self):
        _, second, third = self.three_nodes()
        self.assertEqual(self.json("drain", "third", "--node", "first")["what"], "draining")
        self.assertEqual(third.wait(timeout=20), 0)
        names = lambda: [n["name"] for n in self.json("ps", "--node", "first")["nodes"]]
        self.assertTrue(wait_until(lambda: names() == ["first", "second"], 20), names())
        second.kill()
        self.assertTrue(wait_until(lambda: names() == ["first"], 20), names())
        ended = {e["path"]: e["cause"] for e in self.json("ps", "--ended", "--node", "first")["ended"]}
        self.assertEqual(sorted(ended), ["/nodes/second", "/nodes/third"])
        self.refused("drain", "second", "--node", "first", says="no node 'second'")

    def test_a_killed_node_leaves_no_socket_in_the_way(self):
        first, _ = self.node("first")
        first.kill()
        first.wait()
        self.assertEqual(len(list((self.home.sockets / "troupe").iterdir())), 1)
        self.refused("ps", says="no node of this user runs")
        self.assertEqual(list((self.home.sockets / "troupe").iterdir()), [])

    def secret(self, name, mode=0o600):
        path = self.folder / name
        path.write_text(f"{name} 0123456789abcdef0123456789abcdef\n")
        path.chmod(mode)
        return str(path)

    def test_a_node_elsewhere_is_asked_by_address_and_secret(self):
        right = self.secret("right")
        _, address = self.node("first", "--secret-file", right)
        for path in (self.home.sockets / "troupe").iterdir():
            path.unlink()  # as if it ran on another machine
        remote = ("--connect", address, "--secret-file")
        self.assertEqual([n["name"] for n in self.json("ps", *remote, right)["nodes"]], ["first"])
        self.refused("ps", *remote, self.secret("wrong"), says="cannot join .*: .*secret")
        self.refused("ps", *remote, self.secret("open", 0o644), says="chmod 600")
        self.refused("ps", *remote, str(self.folder / "none"), says="none")
        self.refused("ps", *remote, right, "--encrypt", says="encrypts and the other does not")
        self.refused("tree", "--connect", "127.0.0.1:1", says="127.0.0.1:1: connection refused")
        self.refused("ps", "--connect", "192.0.2.1:7070", says="needs a secret: --secret-file")
        self.troupe("drain", "first", *remote, right)

    def test_an_encrypted_node_is_found_without_further_ado(self):
        self.node("first", "--encrypt")
        self.assertEqual([n["state"] for n in self.json("ps")["nodes"]], ["up"])

    def test_a_socket_folder_that_is_open_to_others_is_refused(self):
        folder = self.home.sockets / "troupe"
        folder.mkdir(mode=0o755)
        folder.chmod(0o755)
        self.refused("ps", says=f"{folder} is open to other users; chmod 700 it")
        node = self.begin("node", "--listen", "127.0.0.1:0", "--name", "first")
        self.assertIn("node first listens", node.stdout.readline())  # it runs all the same
        folder.rmdir()
        folder.symlink_to("/nowhere")
        self.refused("ps", says=str(folder))

    def get(self, url):
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def test_a_jobs_metrics_tell_states_and_rates(self):
        self.job("--http", "127.0.0.1:0")
        said = (self.folder / "job.txt").read_text(encoding="utf-8")
        url = re.search(r"metrics at (http://\S+)", said)[1]
        text = self.get(url)[1]
        self.assertIn('troupe_actors{state="running"} 4\n', text)
        self.assertRegex(text, r'troupe_steps_per_second\{path="/jobs/digits/trainers"\} [\d.]+\n')
        self.troupe("kill", "digits/trainers/0")
        self.assertTrue(wait_until(lambda: "troupe_actor_restarts_total 1\n" in self.get(url)[1], 20))

    def test_metrics_and_health_are_answered_over_http(self):
        node = self.begin("node", "--listen", "127.0.0.1:0", "--name", "first",
                          "--http", "127.0.0.1:0")
        node.stdout.readline()
        line = node.stdout.readline()
        self.assertRegex(line, r"^metrics at http://127\.0\.0\.1:\d+/metrics\n$")
        base = line.split()[-1].removesuffix("/metrics")
        self.assertEqual(self.get(base + "/alive"), (200, "alive\n"))
        self.assertEqual(self.get(base + "/ready"), (200, "ready\n"))
        self.assertEqual(self.get(base + "/x")[0], 404)
        status, text = self.get(base + "/metrics")
        self.assertEqual(status, 200)
        self.assertIn('troupe_node_info{node="first",version="', text)
        self.assertIn('troupe_actors{state="running"} 0\n', text)
        address = base.removeprefix("http://")
        other = self.home.start("node", "--name", "second", "--http", address)
        _, err = other.communicate(timeout=20)
        self.assertEqual(other.returncode, 1)
        self.assertIn(f"HTTP on {address}: ", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
