#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""own_program_test.py CMAKE BUILD SOURCE [LAUNCHER]: builds apps/examples/own against an installed
Troupe, in a copy of its folder, and trains with it: the same bits for any number of trainers."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def done(program, graph, home, *words):
    """Runs the job to its end; gives its last event."""
    run = subprocess.run([program, "run", graph, "-o", "json", *words], check=False, text=True,
                         env=dict(os.environ, TROUPE_HOME=str(home)), timeout=300,
                         capture_output=True)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    return json.loads(run.stdout.splitlines()[-1])


def main(cmake, build, source, launcher=""):
    with tempfile.TemporaryDirectory(prefix="troupe-test-") as name:
        folder = pathlib.Path(name)
        prefix, own = folder / "prefix", folder / "own"
        subprocess.run([cmake, "--install", build, "--prefix", prefix], check=True,
                       stdout=subprocess.DEVNULL)
        shutil.copytree(pathlib.Path(source, "apps/examples/own"), own)
        subprocess.run([cmake, "-S", own, "-B", own / "build", "-G", "Ninja",
                        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"],
                       check=True)
        subprocess.run([cmake, "--build", own / "build"], check=True)
        program, graph = own / "build/spirals", own / "spirals.toml"
        three = done(program, graph, folder, "--kill-one-at", "100:forward:1")
        assert three["test_accuracy"] > 0.95, three
        alone = done(program, graph, folder, "--set", "trainers.count=1")
        assert alone["params_sha256"] == three["params_sha256"], (alone, three)
    print("a program of its own trains the same bits with one trainer and with three, one killed")


if __name__ == "__main__":
    main(*sys.argv[1:])
