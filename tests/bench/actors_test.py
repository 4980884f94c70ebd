#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`troupe bench actors` with tiny counts: what it prints, and that it leaves nothing behind.

Argument: the folder with the programs.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path()

OURS = {"local_rtt_us", "remote_sched_rtt_us_p50", "remote_sched_rtt_us_p99", "raw_ucx_rtt_us_p50",
        "raw_ucx_rtt_us_p99", "remote_msgs_per_s", "raw_ucx_msgs_per_s", "blob_1mib_gbps",
        "blob_64mib_gbps", "raw_ucx_1mib_gbps", "raw_ucx_64mib_gbps"}
BASP = {"basp_rtt_us_p50", "basp_rtt_us_p99", "basp_sharing_rtt_us_p50", "basp_msgs_per_s",
        "basp_sharing_msgs_per_s", "basp_1mib_gbps", "basp_64mib_gbps"}
BULK = {f"bulk_{path}{size}_gbps" for path in ("memfd", "cma", "message") for size in ("", "_64mib")}
INLINE = {"remote_inline_rtt_us_p50", "remote_inline_rtt_us_p99", "remote_inline_msgs_per_s"}


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=250,
                          stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout, done.stderr


def processes_of(folder):
    """The command lines of processes whose program is in the folder."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if pathlib.Path(os.readlink(process / "exe")).parent == folder:
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found


class Actors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        for name in ("troupe", "troupe-bench-actors"):
            shutil.copy2(BIN / name, self.folder / name)

    def measured(self, *words):
        """The last line of stdout, read; nothing that was started is left."""
        code, out, err = run(*words)
        self.assertEqual(code, 0, err)
        self.assertEqual(processes_of(self.folder), [])
        return json.loads(out.splitlines()[-1])

    def check_figures(self, figures, keys):
        for key in keys:
            self.assertIn(key, figures)
            self.assertGreater(figures[key], 0, key)
            low, high = figures["spread"][key]
            self.assertLessEqual(low, figures[key])
            self.assertGreaterEqual(high, figures[key])
            self.assertTrue(figures["samples"][key])

    def test_every_figure_is_there_with_its_spread_and_samples(self):
        peers = BASP if (BIN / "troupe-bench-basp").exists() else set()
        if peers:
            shutil.copy2(BIN / "troupe-bench-basp", self.folder)
        answer = self.measured(self.folder / "troupe", "bench", "actors", "--quick", "-o", "json")
        sets = [answer["one_core"]] + ([answer] if "two_cores_skipped" not in answer else [])
        for figures in sets:
            self.check_figures(figures, OURS | peers)
            if "remote_inline_rtt_skipped" not in figures:
                self.check_figures(figures, INLINE)
            for key in BULK:
                if key + "_skipped" not in figures:
                    self.check_figures(figures, {key})
            self.assertIn("bulk_memfd_gbps", figures)
            self.assertIn("bulk_message_gbps", figures)
            for bar in figures["bars"].values():
                self.assertEqual(set(bar), {"ratio", "bar", "met"})
        self.assertEqual((answer["bench"], answer["rounds"]), ("actors", 1))
        for what in ("processor", "cores", "load_before", "load_after", "ucx", "caf",
                     "ucx_settings", "wait_mode"):
            self.assertIn(what, answer["conditions"])
        self.assertEqual(answer["conditions"]["ucx_settings"]["UCX_TLS"], "tcp")

    def test_without_its_rival_the_rest_is_measured(self):
        answer = self.measured(self.folder / "troupe-bench-actors", "--quick", "-o", "json")
        self.assertIn("is not there", answer["one_core"]["basp_skipped"])
        self.check_figures(answer["one_core"], OURS)

    def test_mistakes_in_usage_have_status_2(self):
        code, out, err = run(BIN / "troupe-bench-actors", "--quik")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("unknown option '--quik', did you mean '--quick'?", err)
        self.assertEqual(run(BIN / "troupe-bench-actors", "--peer", "troupe")[0], 2)


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
