#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The transformer example on real processes, on a few verses, or with TROUPE_LONG=1 as it is."""

import math
import pathlib
import unittest

from run_support import LONG, REPOSITORY, Home, settings, train, wait_until

GRAPH = REPOSITORY / "apps/examples/verses.toml"
WORDS = ("And God said Let there be light and there was light in the beginning was the word and the "
         "word was with God who is like unto the beast and all the days of the earth").split()


def verses(count):
    """Lines of very different lengths."""
    return [" ".join(WORDS[(i * j) % len(WORDS)] for j in range(1, 3 + i * 7 % 23)) + "."
            for i in range(count)]


class Verses(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)
        self.text = pathlib.Path(self.home.folder.name, "verses.txt")
        self.text.write_text("\n".join(verses(140)) + "\n", encoding="ascii")

    def done(self, *words, trainers=3, epochs=3):
        code, events, err = train(
            self.home, *settings(trainers, epochs), "--set", f"trainers.args.data={self.text}",
            "--set", "trainers.args.batch=4", *words, graph=GRAPH)
        self.assertEqual(code, 0, f"{words}\n{err}\n{events[-1:]}")
        self.assertTrue(wait_until(lambda: not self.home.processes(), 5), "processes are left")
        return events

    def test_bits_do_not_depend_on_the_trainers(self):
        for precision in ("f32", "bf16"):
            words = ("--set", f"trainers.args.precision={precision}")
            events = self.done(*words)
            epochs = [e for e in events if e["event"] == "epoch"]
            self.assertEqual(len(epochs), 3)
            self.assertLess(epochs[2]["test_loss"], epochs[0]["test_loss"])
            self.assertLess(epochs[0]["test_loss"], 1.1 * math.log2(96))  # bits: of 96 tokens
            expected = events[-1]["params_sha256"]
            counts = (1, 2) if precision == "f32" else (2,)
            for trainers in counts:
                with self.subTest(trainers=trainers, precision=precision):
                    again = self.done(*words, trainers=trainers)[-1]
                    self.assertEqual(again["params_sha256"], expected)
            killed = self.done(*words, "--kill-one-at", "5:forward:1")
            self.assertEqual(killed[-1]["params_sha256"], expected)
            self.assertTrue(any(e["event"] == "actor_down" for e in killed))

    def test_accumulating_and_both_reducers_do_not_make_them_depend_on_it(self):
        words = ("--set", "trainers.args.batch=2", "--set", "trainers.args.accumulate=2", "--set",
                 "trainers.args.reducer=int64")
        first = self.done(*words, epochs=1)[-1]["params_sha256"]
        self.assertEqual(self.done(*words, epochs=1, trainers=2)[-1]["params_sha256"], first)

    def test_a_text_that_is_not_there_is_an_error(self):
        code, events, _ = train(self.home, "--set", "trainers.args.data=/nowhere/x", graph=GRAPH)
        self.assertEqual(code, 1)
        self.assertRegex(events[-1]["error"], "/nowhere/x: No such file")

    @unittest.skipUnless(LONG, "takes minutes: TROUPE_LONG=1")
    def test_the_example_learns_the_new_testament(self):
        code, events, err = train(self.home, graph=GRAPH, limit=1200)
        self.assertEqual(code, 0, err)
        epochs = [e["test_loss"] for e in events if e["event"] == "epoch"]
        self.assertEqual(epochs, sorted(epochs, reverse=True))
        self.assertLess(epochs[-1], 3.2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
