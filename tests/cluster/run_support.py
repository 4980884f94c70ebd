# SPDX-License-Identifier: Apache-2.0
"""Starts real jobs for the tests of this folder, and looks after what they leave behind."""

import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import time

BIN = pathlib.Path(os.environ.get("TROUPE_BIN", "build/release/bin")).resolve()
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
GRAPH = REPOSITORY / "apps/examples/digits.toml"
LONG = os.environ.get("TROUPE_LONG") == "1"


# A job that was started in the background ignores interrupts, and so would what it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Home:
    """A TROUPE_HOME of its own; every process of a run has it in its environment."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="troupe-test-")
        self.sockets = pathlib.Path(self.folder.name, ".run")  # no job can have that name
        self.sockets.mkdir(mode=0o700)
        self.env = dict(os.environ, TROUPE_HOME=self.folder.name, XDG_RUNTIME_DIR=str(self.sockets))

    def processes(self):
        """The ids of all living processes that run in this home."""
        mark = f"TROUPE_HOME={self.folder.name}".encode()
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue  # it has just ended
        return found

    def trainers(self):
        """Process ids of the engine processes."""
        found = []
        for pid in self.processes():
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"--launched" in words:
                found.append(pid)
        return found

    def run_folder(self):
        """The folder of the only run."""
        (folder,) = pathlib.Path(self.folder.name, "digits").iterdir()
        return folder

    def start(self, *words, program="troupe", **more):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, **more}
        return subprocess.Popen([str(BIN / program), *words], env=self.env, text=True,
                                start_new_session=True, **streams)

    def close(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.folder.cleanup()


class NodeProgram:
    """A `troupe node` whose words go to files."""

    def __init__(self, folder, name, secret, *words):
        self.folder = pathlib.Path(folder)
        self.name = name
        with (self.folder / f"{name}.out").open("wb") as out, \
             (self.folder / f"{name}.err").open("wb") as err:
            self.process = subprocess.Popen(
                [BIN / "troupe", "node", "--name", name, "--listen", "127.0.0.1:0", "--secret-file",
                 secret, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def said(self, stream="err"):
        return (self.folder / f"{self.name}.{stream}").read_text(errors="replace")

    def address(self):
        assert wait_until(lambda: self.said("out").endswith("\n"), 20), self.said()
        host, port = self.said("out").split()[-1].split(":")
        return host, int(port)

    def descriptors(self):
        return len(list(pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def memory(self):
        pages = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


def wait_until(condition, limit=30.0):
    """True as soon as the condition holds; False when it has not in time."""
    until = time.monotonic() + limit
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.01)
    return False


def private_mounts():
    """The words before a command that may mount what nobody else sees; None where nobody may."""
    for words in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
        probe = [*words, "mount", "-t", "tmpfs", "none", "/mnt"]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return words
    return None


def train(home, *words, limit=120, graph=GRAPH):
    """Runs a job to its end; gives exit status, events, stderr."""
    job = home.start("run", str(graph), "-o", "json", *words)
    try:
        out, err = job.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        out, err = job.communicate()
        raise AssertionError(f"hung: {words}\n{out[-2000:]}\n{err[-2000:]}") from None
    return job.returncode, [json.loads(line) for line in out.splitlines()], err


def failed(test, home, *words, says, graph=GRAPH):
    """Runs a job that must fail with an error that says all this, and must leave nothing; gives its
    events."""
    code, events, err = train(home, *words, graph=graph, limit=40)
    test.assertEqual(code, 1, err)
    for text in says:
        test.assertIn(text, err)
    test.assertFalse(any(e["event"] == "done" for e in events))
    test.assertTrue(wait_until(lambda: not home.processes(), 5), "processes are left")
    return events


def settings(trainers, epochs, *more):
    return ("--set", f"trainers.count={trainers}", "--set", f"trainers.args.epochs={epochs}",
            *more)
