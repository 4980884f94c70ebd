#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that README.md and docs/ show, so that they stay true.

Every ```sh block is run from the repository's root with the build's programs on PATH and a scratch
TROUPE_HOME; the blocks of a page share that, so a page reads and runs from top to bottom. A comment in
front of a block says what differs: `<!-- not run: why -->`, or `<!-- exit status 1 -->` where the last
command of the block is meant to fail. Commands of deploy/ are only looked up: they run this check.
"""

import os
import pathlib
import re
import subprocess
import tempfile

import common

TIMEOUT_S = 120
BLOCK = re.compile(r"(?:<!-- (?P<note>[^>]*?) -->\s*?\n)?^```sh\n(?P<commands>.*?)^```$",
                   re.MULTILINE | re.DOTALL)
SCRIPT = re.compile(r"^\s*(?:sudo )?(deploy/[\w./-]+)")


def blocks(text):
    """(line, note, commands) of each block."""
    for found in BLOCK.finditer(text):
        yield text.count("\n", 0, found.start("commands")) + 1, found["note"] or "", found["commands"]


def run_block(root, environment, commands):
    """(exit status, what was printed). Nothing that the commands start outlives them."""
    shell = subprocess.Popen(["bash", "-euo", "pipefail", "-c", commands], cwd=root, env=environment,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True)
    try:
        printed, _ = shell.communicate(timeout=TIMEOUT_S)
        return shell.returncode, printed.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return None, f"did not end within {TIMEOUT_S} s"
    finally:
        try:
            os.killpg(shell.pid, 9)
        except ProcessLookupError:
            pass


def check_block(root, environment, place, note, commands):
    """The offences of one block."""
    offences, lines = [], []
    for line in commands.splitlines():
        script = SCRIPT.match(line)
        if not script:
            lines.append(line.replace("build/release/bin/", ""))
        elif not os.access(root / script[1], os.X_OK):
            offences.append(f"{place}: there is no program {script[1]}")
    if note.startswith("not run:"):
        print(f"{place}: {note}")
    elif any(line.strip() for line in lines):
        wanted = re.fullmatch(r"exit status (\d+)", note)
        expected = int(wanted[1]) if wanted else 0
        status, printed = run_block(root, environment, "\n".join(lines))
        if status != expected:
            tail = "\n    ".join(printed.strip().splitlines()[-8:])
            offences.append(f"{place}: exit status {status}, not {expected}:\n    {tail}")
    return offences


def main():
    options = common.arguments(
        __doc__, ("--bin", {"type": pathlib.Path, "required": True, "help": "the build's programs"}))
    root = options.root.resolve()
    pages = [n for n in common.files(root, ".md")
             if n.as_posix() == "README.md" or n.parts[0] == "docs"]
    offences, count = [], 0
    for page in pages:
        with tempfile.TemporaryDirectory() as scratch:
            environment = {**os.environ, "TROUPE_HOME": f"{scratch}/home", "TMPDIR": scratch,
                           "XDG_RUNTIME_DIR": scratch,
                           "PATH": f"{options.bin.resolve()}:{os.environ['PATH']}"}
            for line, note, commands in blocks((root / page).read_text()):
                count += 1
                offences += check_block(root, environment, f"{page}:{line}", note, commands)
    common.finish(offences, f"{count} command blocks of {len(pages)} pages")


if __name__ == "__main__":
    main()
