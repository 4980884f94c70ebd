#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Levels of determinism on real trainer processes that are made to compute with different instruction
sets, as machines of different types would. Needs a CPU with AVX2."""

import pathlib
import unittest

from run_support import BIN, Home, settings, train

# Starts the real trainer. The first of a job gets its environment as it is; the others compute as a
# machine with lesser instructions would.
WRAPPER = """#!/bin/sh
if ! mkdir "{mark}" 2> /dev/null; then
  export ATEN_CPU_CAPABILITY="{capability}" ONEDNN_MAX_CPU_ISA="{onednn}"
fi
exec "{trainer}" "$@"
"""


def has_avx2():
    return " avx2 " in pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii", errors="ignore")


@unittest.skipUnless(has_avx2(), "this CPU has no AVX2")
class Determinism(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)

    def run_job(self, level, *words, trainers=2, env=None):
        """Gives exit status and events of a short job whose host has these variables too."""
        self.home.env.update(env or {})
        code, events, err = train(self.home, *settings(trainers, 1), "--set",
                                  f"trainers.args.determinism={level}", *words)
        for name in env or {}:
            del self.home.env[name]
        self.assertTrue(events, err)
        return code, events

    def result(self, level, *words, **how):
        code, events = self.run_job(level, *words, **how)
        self.assertEqual(code, 0, events[-1])
        return events[-1]["params_sha256"]

    def wrapped(self, capability, onednn):
        """Words for a job whose second trainer is on a machine of another type."""
        folder = pathlib.Path(self.home.folder.name)
        script = folder / "wrapped"
        script.write_text(WRAPPER.format(mark=script.with_suffix(".mark"), capability=capability,
                                         onednn=onednn, trainer=BIN / "troupe-train"),
                          encoding="ascii")
        script.chmod(0o700)
        return "--set", f"trainers.binary={script}"

    LESSER = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}

    def test_d1_gives_other_bits_on_a_machine_of_another_type(self):
        self.assertNotEqual(self.result("D1"), self.result("D1", env=self.LESSER))

    def test_d2_gives_the_same_bits_on_machines_of_any_type(self):
        here = self.result("D2")
        self.assertEqual(here, self.result("D2", env=self.LESSER))
        self.assertEqual(here, self.result("D2", trainers=3))
        mixed = self.wrapped("${ATEN_CPU_CAPABILITY:-default}", "${ONEDNN_MAX_CPU_ISA:-SSE41}")
        self.assertEqual(here, self.result("D2", *mixed))

    def test_d1_refuses_a_trainer_on_a_machine_of_another_type(self):
        mixed = self.wrapped("${ATEN_CPU_CAPABILITY:-default}", "${ONEDNN_MAX_CPU_ISA:-SSE41}")
        code, events = self.run_job("D1", *mixed)
        self.assertEqual(code, 1)
        self.assertRegex(events[-1]["error"], "would compute other bits than the trainers before")

    def test_d2_refuses_a_trainer_that_cannot_honour_it(self):
        code, events = self.run_job("D2", *self.wrapped("default", "SSE41"))
        self.assertEqual(code, 1)
        self.assertRegex(events[-1]["error"], r"trainer \d: determinism D2 needs AVX2 and nothing "
                         "wider, and here torch's instruction set is (DEFAULT|NO AVX), "
                         "ONEDNN_MAX_CPU_ISA is SSE41")

    def test_d0_gives_the_same_bits_for_the_same_trainers_only(self):
        three = self.result("D0", trainers=3)
        self.assertEqual(three, self.result("D0", trainers=3))
        self.assertNotEqual(three, self.result("D0", trainers=2))

    def test_both_reducers_give_the_same_bits_for_any_number_of_trainers(self):
        words = ("--set", "trainers.args.reducer=int64")
        integers = self.result("D1", *words, trainers=1)
        self.assertEqual(integers, self.result("D1", *words, trainers=3))
        self.assertEqual(integers, self.result("D1", *words, "--kill-one-at", "5:exchange:1",
                                               trainers=3))
        self.assertNotEqual(integers, self.result("D1"))

    def test_the_start_says_the_level_and_what_it_costs_this_model(self):
        _, events = self.run_job("D2")
        (start,) = [e for e in events if e["event"] == "start"]
        self.assertEqual(start["determinism"], "D2")
        self.assertRegex(start["model"], "2 Conv2d")
        self.assertRegex(start["costs"], r"D2: 2 convolution\(s\)")


if __name__ == "__main__":
    unittest.main(verbosity=2)
