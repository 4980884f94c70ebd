#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that clang-format would change nothing. Versions differ in what they would change, so only
those of the supported Debian releases are asked, which agree on this code."""

import os
import re
import shutil
import subprocess

import common

VERSIONS = ("14", "19")


def clang_format():
    """A program of one of the versions, or None."""
    for name in (*(f"clang-format-{version}" for version in VERSIONS), "clang-format"):
        path = shutil.which(name)
        if path:
            said = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
            found = re.search(r"version (\d+)\.", said)
            if found and found[1] in VERSIONS:
                return path
    return None


def main():
    root = common.arguments(__doc__).root
    program = clang_format()
    if not program:
        common.skip(f"no clang-format {' or '.join(VERSIONS)} here, and others format differently")
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
