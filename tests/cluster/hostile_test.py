#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Strangers attack a node's control port with real sockets: the node stays up, takes no more memory and
descriptors than it may, gives them back, and lets a member in meanwhile. TROUPE_LONG=1 attacks ten times
as often. A failing test prints its seed; TROUPE_SEED=N runs with that one."""

import os
import pathlib
import random
import resource
import select
import socket
import tempfile
import threading
import time
import unittest

from run_support import LONG, NodeProgram, wait_until

SEED = int(os.environ.get("TROUPE_SEED", random.randrange(1 << 30)))
MANY = 10_000 if LONG else 1_000
IDLE = 1_000
MAX_STRANGERS = 256
HANDSHAKE_S = 5
JOIN_S = 2.0
MEMORY = 8 << 20


class Recorder:
    """Stands between two nodes and keeps what the calling one says."""

    def __init__(self, target):
        self.target = target
        self.said = b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "%s:%d" % self.listener.getsockname()
        threading.Thread(target=self.carry, daemon=True).start()

    def carry(self):
        caller, _ = self.listener.accept()
        self.listener.close()
        called = socket.create_connection(self.target)
        while True:
            for side in select.select([caller, called], [], [])[0]:
                data = side.recv(65536)
                if not data:
                    caller.close()
                    called.close()
                    return
                if side is caller:
                    self.said += data
                (called if side is caller else caller).sendall(data)


def mutate(dice, data):
    data = bytearray(data)
    for _ in range(dice.randrange(1, 5)):
        at = dice.randrange(len(data) or 1)
        kind = dice.randrange(5)
        if kind == 0:
            del data[at:]
        elif kind == 1:
            del data[at:at + dice.randrange(1, 9)]
        elif kind == 2:
            data[at:at] = dice.randbytes(dice.randrange(1, 9))
        elif kind == 3:
            data += data[at:]
        elif data:
            data[min(at, len(data) - 1)] ^= 1 << dice.randrange(8)
    return bytes(data)


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
        cls.folder = tempfile.TemporaryDirectory(prefix="troupe-test-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.secret = pathlib.Path(cls.folder.name, "secret")
        cls.secret.write_text("0123456789abcdef0123456789abcdef\n")
        cls.secret.chmod(0o600)
        cls.node = NodeProgram(cls.folder.name, "first", cls.secret)
        cls.addClassCleanup(cls.node.stop)
        cls.address = cls.node.address()
        recorder = Recorder(cls.address)
        member = NodeProgram(cls.folder.name, "recorded", cls.secret, "--join", recorder.address)
        assert wait_until(lambda: "is up" in member.said(), 20), member.said()
        cls.recorded = recorder.said
        member.stop()
        assert wait_until(lambda: "has left" in cls.node.said(), 20)
        cls.members = 0
        # What a node keeps for good, such as a peer that once was, is there from here on.
        cls.descriptors = cls.node.descriptors()
        cls.memory = cls.node.memory()

    def setUp(self):
        self.dice = random.Random(f"{SEED} {self.id()}")
        self.sockets = []
        self.peak_descriptors = self.peak_memory = 0

    def tearDown(self):
        for one in self.sockets:
            one.close()

    def connect(self):
        one = socket.create_connection(self.address, timeout=10)
        self.sockets.append(one)
        return one

    def send_and_leave(self, data):
        with socket.create_connection(self.address, timeout=10) as one:
            try:
                one.sendall(data)
                if self.dice.random() < 0.1:
                    one.shutdown(socket.SHUT_WR)
                    while one.recv(4096):
                        pass
            except OSError:
                pass  # it has hung up on us

    def look(self):
        self.peak_descriptors = max(self.peak_descriptors, self.node.descriptors())
        self.peak_memory = max(self.peak_memory, self.node.memory())

    def check_a_member_joins(self):
        type(self).members += 1
        begin = time.monotonic()
        member = NodeProgram(self.folder.name, f"member{self.members}", self.secret, "--join",
                         "%s:%d" % self.address)
        up = wait_until(lambda: self.look() or "is up" in member.said(), 20)
        took = time.monotonic() - begin
        self.assertTrue(up, member.said())
        self.assertLess(took, JOIN_S, f"seed {SEED}")
        self.assertEqual(member.stop(), 0, member.said())
        return took

    def check_all_is_as_before(self, took):
        for one in self.sockets:
            one.close()
        self.look()
        self.assertIsNone(self.node.process.poll(), f"seed {SEED}: {self.node.said()[-2000:]}")
        back = wait_until(lambda: self.node.descriptors() <= self.descriptors, HANDSHAKE_S + 3)
        self.assertTrue(back, f"seed {SEED}: {self.node.descriptors()} descriptors, "
                              f"{self.descriptors} before")
        self.assertLessEqual(self.peak_descriptors, self.descriptors + MAX_STRANGERS + 16)
        for memory in (self.peak_memory, self.node.memory()):
            self.assertLess(memory, self.memory + MEMORY, f"seed {SEED}")
        print(f"{self._testMethodName}: joined in {took:.2f} s, at most {self.peak_descriptors} "
              f"descriptors ({self.descriptors} before), memory +{(self.peak_memory - self.memory) >> 10}"
              " KiB", flush=True)

    def test_random_bytes(self):
        for i in range(MANY):
            data = self.dice.randbytes(self.dice.randrange(400))
            if i % 2:
                data = self.recorded[:self.dice.randrange(64)] + data
            self.send_and_leave(data)
            if i % 50 == 0:
                self.look()
        self.check_all_is_as_before(self.check_a_member_joins())

    def test_changed_handshakes(self):
        for i in range(MANY):
            self.send_and_leave(mutate(self.dice, self.recorded))
            if i % 50 == 0:
                self.look()
        self.check_all_is_as_before(self.check_a_member_joins())

    def test_a_recorded_handshake_proves_nothing(self):
        one = self.connect()
        one.sendall(self.recorded)
        one.settimeout(HANDSHAKE_S + 3)
        while one.recv(4096):  # until the node hangs up
            pass
        self.assertNotIn("recorded", self.node.said().split("has left")[-1])
        self.check_all_is_as_before(self.check_a_member_joins())

    def test_idle_connections(self):
        for _ in range(IDLE):
            self.connect()
        self.look()
        self.check_all_is_as_before(self.check_a_member_joins())

    def test_bytes_one_at_a_time_and_never_all(self):
        slow = [self.connect() for _ in range(100)]
        begin = time.monotonic()
        took = None
        for byte in self.recorded[:-1] * 10:
            slow = [one for one in slow if self.push(one, byte)]
            if took is None:
                took = self.check_a_member_joins()
            if not slow:
                break
            self.look()
            select.select([], [], [], 0.05)
        self.assertFalse(slow, "the node waits for ever")
        self.assertLess(time.monotonic() - begin, HANDSHAKE_S + 3)
        self.check_all_is_as_before(took)

    @staticmethod
    def push(one, byte):
        """False where the node has hung up."""
        try:
            one.send(bytes([byte]))
            one.setblocking(False)
            return one.recv(1) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def test_connections_that_stop_reading(self):
        hello = self.recorded[:48 + int.from_bytes(self.recorded[8:12], "little")]
        for _ in range(IDLE):
            one = self.connect()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            one.setblocking(False)
            try:
                one.send(hello)
            except OSError:
                pass  # it has hung up on us
        self.look()
        self.check_all_is_as_before(self.check_a_member_joins())

    def test_members_join_while_connections_pour_in(self):
        stop = threading.Event()

        def pour():
            while not stop.is_set():
                try:
                    with socket.create_connection(self.address, timeout=10) as one:
                        one.send(self.recorded[:60])
                except OSError:
                    pass

        threads = [threading.Thread(target=pour) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            took = max(self.check_a_member_joins() for _ in range(3))
            self.look()
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.check_all_is_as_before(took)


if __name__ == "__main__":
    print(f"TROUPE_SEED={SEED}", flush=True)
    unittest.main(verbosity=0)
