#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every header compiles by itself, with the flags of a source that lives next to it.

With the build's compiler launcher (ccache) a second run takes seconds. Headers that pull in torch cost
tens of seconds each: they are checked when TROUPE_LONG is set.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess

import common

TORCH = re.compile(r"^\s*#\s*include\s*<(?:torch|ATen|c10)/", re.MULTILINE)
OURS = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def needs_torch(root, name, seen=None):
    """Whether a header includes torch, itself or through other headers of ours."""
    seen = set() if seen is None else seen
    if name in seen or not (root / name).is_file():
        return False
    seen.add(name)
    text = (root / name).read_text()
    return bool(TORCH.search(text)) or any(needs_torch(root, pathlib.Path(other), seen)
                                           for other in OURS.findall(text))


def distance(one, other):
    """How many folders lie between two files."""
    shared = len(os.path.commonpath([one.parent, other.parent]).split(os.sep))
    return len(one.parent.parts) + len(other.parent.parts) - 2 * shared


def flags_of(command):
    """The command without its input, its output, its dependency file and its precompiled header."""
    words, kept = iter(shlex.split(command)), []
    for word in words:
        if word in ("-o", "-MF", "-MT", "-MQ", "-include"):
            next(words)
        elif word not in ("-c", "-MD", "-MMD", "-Winvalid-pch") and not re.search(r"\.(cpp|c\+\+)$", word):
            kept.append(word)
    return kept


def compile_alone(root, build, launcher, name, commands):
    """The offence of a header, or None."""
    header = root / name
    nearest = min(commands, key=lambda c: (distance(header, pathlib.Path(c["file"])), c["file"]))
    stub = build / "checks" / "headers" / name.with_suffix(".cpp")
    stub.parent.mkdir(parents=True, exist_ok=True)
    line = f'#include "{name}"\n'
    if not stub.is_file() or stub.read_text() != line:
        stub.write_text(line)
    command = [*launcher, *flags_of(nearest["command"]), f"-I{root}", "-O0", "-w",
               "-c", str(stub), "-o", f"{stub}.o"]
    said = subprocess.run(command, cwd=nearest["directory"], capture_output=True, text=True)
    if said.returncode == 0:
        return None
    error = next((s for s in said.stderr.splitlines() if "error:" in s), said.stderr.strip())
    return f"{name}:1: does not compile by itself: {error}"


def main():
    options = common.arguments(
        __doc__, ("--build", {"type": pathlib.Path, "required": True}),
        ("--launcher", {"type": shlex.split, "default": [], "help": "what compiles through a cache"}))
    root, build = options.root.resolve(), options.build.resolve()
    commands = json.loads((build / "compile_commands.json").read_text())
    names = common.files(root, ".hpp", ".h")
    slow = [] if os.environ.get("TROUPE_LONG") else [n for n in names if needs_torch(root, n)]
    names = [n for n in names if n not in slow]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda n: compile_alone(root, build, options.launcher, n, commands), names))
    left = f" ({len(slow)} headers with torch are left to --long)" if slow else ""
    common.finish([f for f in found if f], f"{len(names)} headers{left}")


if __name__ == "__main__":
    main()
