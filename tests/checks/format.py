#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that clang-format would change nothing. Versions differ in what they would change (14 and 19
do on concepts), so only the one that the code was formatted with is asked."""

import os
import re
import shutil
import subprocess

import common

VERSION = "14"  # Debian 12's


def clang_format():
    """The program of the right version, or None."""
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path:
            said = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
            found = re.search(r"version (\d+)\.", said)
            if found and found[1] == VERSION:
                return path
    return None


def main():
    root = common.arguments(__doc__).root
    program = clang_format()
    if not program:
        common.skip(f"no clang-format {VERSION} here, and other versions format differently")
    names = common.files(root, ".cpp", ".hpp", ".h")
    offences = []
    if names:
        command = [program, "--dry-run", "--style=file", *map(str, names)]
        said = subprocess.run(command, cwd=root, capture_output=True, text=True,
                              env={**os.environ, "LC_ALL": "C"}).stderr
        found = re.findall(r"^(\S+?:\d+):\d+: (?:warning|error):", said, re.MULTILINE)
        offences = [f"{place}: clang-format -i would change this" for place in dict.fromkeys(found)]
    common.finish(offences, f"the format of {len(names)} files")


if __name__ == "__main__":
    main()
