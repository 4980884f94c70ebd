#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The packets that end a program that uses UCX as it comes, sent to that and to a node. UCX asserts
things about what strangers send to its ports; a node has no ucp_listener, and a gate before the port
of its data."""

import os
import pathlib
import signal
import socket
import struct
import subprocess
import tempfile
import unittest

from run_support import NodeProgram, wait_until

# Garbage, for a ucp_listener; UCX's magic number and a length that makes no sense, for a data port.
GARBAGE = b"\xff" * 16
PACKET = struct.pack("<Q", 0xCAFEBABE12345678).ljust(77, b"\xee")
NOBODY = 65534
ATTEMPTS = 20


def listening_ports(pid):
    """The TCP ports that a process listens on."""
    sockets = set()
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(os.readlink(entry))
        except OSError:
            continue  # it has just been closed
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                ports.add(int(words[1].split(":")[1], 16))
    return ports


def send(port, data):
    """True where the other side hung up."""
    with socket.socket() as one:
        one.settimeout(5)
        one.connect(("127.0.0.1", port))
        try:
            one.sendall(data)
            one.shutdown(socket.SHUT_WR)
            return one.recv(1) == b""
        except TimeoutError:
            return False
        except OSError:
            return True


def send_as_nobody(port, data):
    """The same by a process of another user."""
    child = os.fork()
    if child == 0:
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os._exit(0 if send(port, data) else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class StockUcx(unittest.TestCase):
    def check_aborts(self, mode, packet):
        with subprocess.Popen([os.environ["TROUPE_STOCK_UCX"], mode], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as program:
            self.addCleanup(program.kill)
            version, port = program.stdout.readline().decode().split()
            for _ in range(ATTEMPTS):
                if program.poll() is not None:
                    break
                try:
                    send(int(port), packet)
                except OSError:
                    break  # nobody listens any more
            program.stdin.close()
            said = program.stdout.read().decode(errors="replace")
            if program.wait(10) == 0 and not version.startswith("1.13"):
                self.skipTest(f"UCX {version} survives it")
            self.assertEqual(program.wait(10), -signal.SIGABRT, said)
            self.assertIn("Assertion", said)

    def test_garbage_ends_a_ucp_listener(self):
        self.check_aborts("listener", GARBAGE)

    def test_a_packet_ends_whoever_has_a_data_port(self):
        self.check_aborts("worker", PACKET)


class Node(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="troupe-test-")
        self.addCleanup(folder.cleanup)
        secret = pathlib.Path(folder.name, "secret")
        secret.write_text("0123456789abcdef0123456789abcdef\n")
        secret.chmod(0o600)
        self.node = NodeProgram(folder.name, "node", secret)
        self.addCleanup(self.node.stop)
        self.control = self.node.address()[1]
        self.data = listening_ports(self.node.process.pid) - {self.control}
        self.assertTrue(self.data, "a node has a data port")
        self.folder, self.secret = folder.name, secret

    def check_it_goes_on(self):
        member = NodeProgram(self.folder, "member", self.secret, "--join",
                             f"127.0.0.1:{self.control}")
        self.assertTrue(wait_until(lambda: "is up" in member.said(), 20), member.said())
        self.assertEqual(member.stop(), 0)
        self.assertIsNone(self.node.process.poll(), self.node.said())

    def test_its_control_port_takes_both(self):
        for _ in range(ATTEMPTS):
            self.assertTrue(send(self.control, GARBAGE))
            self.assertTrue(send(self.control, PACKET))
        self.check_it_goes_on()

    @unittest.skipIf(os.geteuid() != 0, "only root can be another user")
    def test_another_users_packet_does_not_reach_its_data_port(self):
        for port in self.data:
            for _ in range(ATTEMPTS):
                self.assertTrue(send_as_nobody(port, PACKET))
                self.assertTrue(send_as_nobody(port, GARBAGE))
        self.check_it_goes_on()


if __name__ == "__main__":
    unittest.main(verbosity=2)
