#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""moved_prefix_test.py CMAKE BUILD SOURCE: installs Troupe, moves the prefix elsewhere, hides the
source's data, and runs the main job from there."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def hide(folder):
    """The words before a command for which this folder is empty; none where nobody may mount."""
    for words in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
        mount = [*words, "mount", "-t", "tmpfs", "none", str(folder)]
        if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
            return [*words, "sh", "-c", f'mount -t tmpfs none "{folder}" && exec "$@"', "sh"]
    print("nothing can be mounted here: the source's data stays in sight")
    return []


def run(hidden, prefix, home):
    """Two epochs of the example; gives exit status and all output."""
    graph = prefix / "share/troupe/examples/digits.toml"
    words = [str(prefix / "bin/troupe"), "run", str(graph), "--set", "trainers.args.epochs=2"]
    env = {name: value for name, value in os.environ.items() if name != "TROUPE_DATA"}
    done = subprocess.run([*hidden, *words], env=dict(env, TROUPE_HOME=str(home)), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
    return done.returncode, done.stdout


def main(cmake, build, source):
    with tempfile.TemporaryDirectory(prefix="troupe-test-") as name:
        folder = pathlib.Path(name)
        subprocess.run([cmake, "--install", build, "--prefix", folder / "first"], check=True,
                       stdout=subprocess.DEVNULL)
        prefix = (folder / "first").rename(folder / "moved")
        hidden = hide(pathlib.Path(source, "data"))
        code, out = run(hidden, prefix, folder / "home")
        assert code == 0 and "test accuracy" in out, out
        data = prefix / "share/troupe/data/digits.csv.gz"
        data.write_bytes(data.read_bytes()[:1000])
        code, out = run(hidden, prefix, folder / "home")
        assert code == 1 and str(data) in out, out  # it is this one that is read
        if hidden:
            shutil.rmtree(data.parent)
            code, out = run(hidden, prefix, folder / "home")
            assert code == 1 and str(data) in out and "TROUPE_DATA" in out, out
    print("a moved installation trains with its own data")


if __name__ == "__main__":
    main(*sys.argv[1:])
