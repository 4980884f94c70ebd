#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the C++ that README.md and docs/ show is part of a program that tests build and run:
each ```cpp block stands, as it is, in a source of tests/install/consumer."""

import pathlib
import re

import common

BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SOURCES = pathlib.Path("tests/install/consumer")


def main():
    root = common.arguments(__doc__).root
    sources = [(root / name).read_text() for name in common.files(root, ".cpp")
               if name.parent == SOURCES]
    offences, count = [], 0
    for page in common.files(root, ".md"):
        if page.parts[0] != "docs" and page.name != "README.md":
            continue
        text = (root / page).read_text()
        for found in BLOCK.finditer(text):
            count += 1
            if not any(found[1] in source for source in sources):
                line = text.count("\n", 0, found.start(1)) + 1
                offences.append(f"{page}:{line}: this code is in no source of {SOURCES}")
    common.finish(offences, f"{count} blocks of C++ in the pages")


if __name__ == "__main__":
    main()
