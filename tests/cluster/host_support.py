# SPDX-License-Identifier: Apache-2.0
"""Several hosts on one machine, for tests of whole clusters.

Each host has process, network and host name spaces of its own, and hangs on one switch. A host can lose
its power, freeze, lose its link, or stop hearing another one; none of that touches the machine's own
network. Needs root; `why_not()` says what is missing.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

NETWORK = "10.77.0"


def sh(*words, check=True):
    return subprocess.run([str(w) for w in words], check=check, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL).stdout


def why_not():
    """Why there can be no hosts here; None where there can."""
    if os.geteuid() != 0:
        return "name spaces for hosts need root"
    for program in ("ip", "unshare", "nsenter"):
        if shutil.which(program) is None:
            return f"there is no program '{program}'"
    done = subprocess.run(["unshare", "--net", "--pid", "--uts", "--mount", "--fork", "--mount-proc",
                           "ip", "link", "add", "probe", "type", "bridge"],
                          capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else "no name spaces here: " + done.stderr.strip()


class Spaces:
    """A process that keeps name spaces alive; everything in them dies with it."""

    def __init__(self, *flags):
        self.holder = subprocess.Popen(
            ["unshare", "--net", *flags, "--fork", "--kill-child", "sh", "-c",
             "echo ready; exec sleep infinity"], stdout=subprocess.PIPE, text=True)
        self.holder.stdout.readline()
        children = f"/proc/{self.holder.pid}/task/{self.holder.pid}/children"
        self.pid = int(pathlib.Path(children).read_text().split()[0])

    def enter(self, *flags):
        return ["nsenter", "-t", str(self.pid), "--net", *flags]

    def end(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()


class Host:
    """One host: switched on at first."""

    def __init__(self, switch, number, folder):
        self.switch = switch
        self.number = number
        self.name = f"host{number}"
        self.address = f"{NETWORK}.{number}"
        self.folder = folder / self.name  # its disk: outlives a loss of power
        self.folder.mkdir()
        self.spaces = None
        self.cut = set()
        self.entrances = []  # the processes outside that wait for those inside
        self.power_on()

    def power_on(self):
        self.spaces = Spaces("--pid", "--uts", "--mount", "--mount-proc")
        near, far = f"p{self.number}", "eth0"
        sh("ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", self.spaces.pid)
        sh("ip", "link", "set", near, "netns", self.switch.pid)
        sh(*self.switch.enter(), "ip", "link", "set", near, "master", "switch", "up")
        # The same card after each start: others remember its number.
        self.sh("ip", "link", "set", far, "address", f"02:00:00:00:00:{self.number:02x}")
        self.sh("hostname", self.name)
        self.sh("ip", "link", "set", "lo", "up")
        self.sh("ip", "address", "add", f"{self.address}/24", "dev", far)
        self.sh("ip", "link", "set", far, "up")
        self.cut.clear()

    def command(self, *words):
        return self.spaces.enter("--pid", "--uts", "--mount") + [str(w) for w in words]

    def sh(self, *words, check=True):
        return sh(*self.command(*words), check=check)

    def start(self, *words, environment=None, **more):
        """A process on this host, with its own home and runtime folder."""
        own = {"HOME": str(self.folder), "TROUPE_HOME": str(self.folder / "troupe"),
               "XDG_RUNTIME_DIR": str(self.folder / "runtime")}
        (self.folder / "runtime").mkdir(mode=0o700, exist_ok=True)
        process = subprocess.Popen(
            self.command(*words), env={**os.environ, **own, **(environment or {})}, cwd=self.folder,
            stdin=subprocess.DEVNULL, **more)
        self.entrances.append(process)
        return process

    def pids(self):
        """What runs on this host but the process that holds it, as the machine numbers them."""
        own = os.readlink(f"/proc/{self.spaces.pid}/ns/pid")
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(process / "ns/pid") == own:
                    found.append(int(process.name))
            except OSError:
                continue
        return [pid for pid in found if pid != self.spaces.pid]

    def power_off(self):
        """Everything on it is gone at once, and nobody is told."""
        # First the link: sockets of dying processes would say goodbye.
        self.link(False)
        self.spaces.end()
        self.clear_entrances()
        sh(*self.switch.enter(), "ip", "link", "delete", f"p{self.number}")

    def freeze(self):
        for pid in self.pids():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self):
        for pid in self.pids():
            os.kill(pid, signal.SIGCONT)
        for process in self.entrances:  # nsenter stops with what it has started
            process.send_signal(signal.SIGCONT)

    def link(self, up):
        sh(*self.spaces.enter(), "ip", "link", "set", "eth0", "up" if up else "down")

    def stop_reaching(self, other):
        """What this host sends to the other one vanishes; the other way is open."""
        self.sh("ip", "route", "add", "blackhole", f"{other.address}/32")
        self.cut.add(other.address)

    def reach_again(self):
        for address in self.cut:
            self.sh("ip", "route", "del", "blackhole", f"{address}/32")
        self.cut.clear()

    def clear_entrances(self):
        for process in self.entrances:
            process.send_signal(signal.SIGCONT)
            process.wait(10)
        self.entrances.clear()

    def end(self):
        if self.spaces.holder.poll() is None:
            self.spaces.end()
        self.clear_entrances()


class Hosts:
    """`with Hosts(3) as hosts: hosts[0].start(...)`; numbers in names and addresses begin with 1."""

    def __init__(self, count):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-hosts-"))
        self.switch = Spaces()
        self.hosts = []
        try:
            sh(*self.switch.enter(), "ip", "link", "add", "switch", "type", "bridge")
            sh(*self.switch.enter(), "ip", "link", "set", "switch", "up")
            for number in range(1, count + 1):
                self.hosts.append(Host(self.switch, number, self.folder))
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __getitem__(self, index):
        return self.hosts[index]

    def __iter__(self):
        return iter(self.hosts)

    def close(self):
        for host in self.hosts:
            host.end()
        self.switch.end()
        for _ in range(50):  # the last writers may still be dying
            shutil.rmtree(self.folder, ignore_errors=True)
            if not self.folder.exists():
                return
            time.sleep(0.1)
