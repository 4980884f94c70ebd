# SPDX-License-Identifier: Apache-2.0
"""What the checkers share: which files there are, and how offences are reported."""

import argparse
import os
import pathlib
import subprocess
import sys

SKIPPED = 77  # exit status by which ctest knows a skipped test
HERE = pathlib.Path(__file__).resolve().parent
NOT_OURS = {"build", "data", ".git", "__pycache__", "shared"}


def arguments(doc, *extra):
    """Parses --root and the given extra options, each a (flag, settings) pair."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--root", type=pathlib.Path, default=HERE.parent.parent)
    for flag, settings in extra:
        parser.add_argument(flag, **settings)
    return parser.parse_args()


def files(root, *suffixes):
    """The project's files with one of the suffixes, as sorted paths relative to root."""
    names = tracked(root)
    if names is None:
        names = walked(root)
    return sorted(n for n in names if n.suffix in suffixes and (root / n).is_file())


def tracked(root):
    """What git knows or would add; None where root is no working tree of its own."""
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "-c", "safe.directory=*", "ls-files", "-z",
               "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        return None
    return [pathlib.Path(n) for n in listed.split("\0") if n]


def walked(root):
    found = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [s for s in subfolders if s not in NOT_OURS and not s.startswith("build-")]
        found += [pathlib.Path(folder, n).relative_to(root) for n in names]
    return found


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def finish(offences, checked):
    """Prints the offences (each 'file:line: why') and ends the checker."""
    for offence in offences:
        print(offence)
    if offences:
        print(f"{len(offences)} offences in {checked}")
        sys.exit(1)
    print(f"no offence in {checked}")
    sys.exit(0)
