#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the checkers: each must be content with a clean tree and report an offence where it is."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import common

LINE = "// SPDX-License-Identifier: Apache-2.0\n"


class Checkers(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.write("messages/result.hpp", LINE + "#pragma once\n#include <string>\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_checker(self, name, *options):
        return subprocess.run([sys.executable, common.HERE / f"{name}.py", "--root", self.root, *options],
                              capture_output=True, text=True)

    def assert_content(self, name, *options):
        said = self.run_checker(name, *options)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)

    def assert_offence(self, place, name, *options, why=""):
        said = self.run_checker(name, *options)
        self.assertEqual(said.returncode, 1, said.stdout + said.stderr)
        self.assertIn(place + ": ", said.stdout)
        self.assertIn(why, said.stdout)

    def test_layering_reports_an_engine_that_includes_another(self):
        self.write("gpu/easyscale/tree.cpp", '#include "messages/result.hpp"\n#include <torch/torch.h>\n')
        self.assert_content("layering")
        self.write("gpu/easyscale/kinds.cpp", '#include <vector>\n#include "vmft/machine/vcpu.hpp"\n')
        self.assert_offence("gpu/easyscale/kinds.cpp:2", "layering", why="may not include vmft")

    def test_layering_lets_only_actor_files_of_an_engine_use_the_runtime(self):
        runtime = '#include "actors/core/node.hpp"\n#include <caf/all.hpp>\n'
        self.write("gpu/easyscale/trainer_actor.cpp", runtime)
        self.write("gpu/easyscale/kinds.hpp", runtime)
        self.assert_content("layering")
        self.write("gpu/easyscale/replica.cpp", runtime)
        self.assert_offence("gpu/easyscale/replica.cpp:1", "layering", why="actors/core")
        self.assert_offence("gpu/easyscale/replica.cpp:2", "layering", why="caf")

    def test_layering_reports_lower_layers_that_include_higher_ones(self):
        for name, include in (("messages/ids.hpp", "<fmt/core.h>"), ("actors/base/log.hpp", "<caf/all.hpp>"),
                              ("actors/net/bulk.cpp", '"actors/core/node.hpp"'),
                              ("actors/core/node.cpp", "<toml++/toml.h>"),
                              ("actors/control/load.cpp", '"apps/troupe/main.hpp"')):
            with self.subTest(name):
                self.write(name, f"#include {include}\n")
                self.assert_offence(f"{name}:1", "layering")
                (self.root / name).unlink()

    def test_layering_reports_unknown_rooms_and_libraries(self):
        self.write("misc/a.cpp", "\n")
        self.assert_offence("misc/a.cpp:1", "layering", why="no room")
        self.write("actors/base/a.cpp", '#include <whatever/a.hpp>\n#include "a.hpp"\n')
        self.assert_offence("actors/base/a.cpp:1", "layering", why="no known library")
        self.assert_offence("actors/base/a.cpp:2", "layering", why="does not begin with a room")

    def test_layering_reports_a_slow_header_in_two_files(self):
        self.write("apps/troupe/a.cpp", "#include <CLI/CLI.hpp>\n")
        self.assert_content("layering")
        self.write("apps/troupe/b.cpp", "#include <CLI/CLI.hpp>\n")
        self.assert_offence("apps/troupe/b.cpp:1", "layering", why="by 1 only")

    def test_sizes_reports_long_files_and_headers(self):
        self.write("apps/a.cpp", "int a;\n" * 600)
        self.write("apps/a.hpp", "int a;\n" * 300)
        self.assert_content("sizes")
        self.write("apps/b.cpp", "int a;\n" * 601)
        self.write("apps/b.hpp", "int a;\n" * 301)
        self.assert_offence("apps/b.cpp:600", "sizes", why="601 lines")
        self.assert_offence("apps/b.hpp:300", "sizes", why="301 lines")

    def test_sizes_reports_long_functions_only(self):
        fits = "A::A(int x)\n    : x_{x}, y_(x) {\n" + "  f({1});\n" * 57 + "}\n"
        table = "struct B {\n" + "  int x = f({});\n" * 70 + "};\nint t[] = {\n" + "  f(1),\n" * 70 + "};\n"
        self.write("apps/a.cpp", "namespace n {\n" + fits + table + "}\n")
        self.assert_content("sizes")
        long = "template <class T>\nauto g(T x) -> T {\n  auto h = [&] { return '{'; };\n" + "  h();\n" * 59 + "}\n"
        self.write("apps/b.cpp", "namespace n {\n" + long + "}\n")
        self.assert_offence("apps/b.cpp:2", "sizes", why="g has 63 lines")
        self.write("apps/c.cpp", "BOOST_AUTO_TEST_CASE(is_long) {\n" + "  f();\n" * 60 + "}\n")
        self.assert_offence("apps/c.cpp:1", "sizes", why="62 lines")

    def test_sizes_reports_crowded_folders(self):
        for i in range(15):
            self.write(f"apps/x/a{i}.cpp", "\n")
            self.write(f"apps/x/a{i}.hpp", "\n")
        self.assert_content("sizes")
        self.write("apps/x/more.cpp", "\n")
        self.assert_offence("apps/x:1", "sizes", why="16 sources")

    def test_format_reports_what_clang_format_would_change(self):
        shutil.copy(common.HERE.parent.parent / ".clang-format", self.root)
        if self.run_checker("format").returncode == common.SKIPPED:
            self.skipTest("no clang-format of a version that counts")
        self.assert_content("format")
        self.write("apps/a.cpp", "int a;\nint   b;\n")
        self.assert_offence("apps/a.cpp:2", "format")

    def test_headers_reports_a_header_that_leans_on_its_includer(self):
        self.write("apps/a.hpp", '#pragma once\n#include "messages/result.hpp"\ninline std::string a;\n')
        entry = {"directory": str(self.root), "file": str(self.root / "apps/a.cpp"),
                 "command": "c++ -std=c++20 -include pch.hpp -o a.o -c apps/a.cpp"}
        self.write("build/compile_commands.json", json.dumps([entry]))
        options = ("--build", self.root / "build")
        self.assert_content("headers", *options)
        self.write("apps/b.hpp", "#pragma once\ninline std::string b;\n")
        self.assert_offence("apps/b.hpp:1", "headers", *options)

    def test_schemas_reports_what_older_programs_could_not_read(self):
        old = "@0xb2c9a0c57a1e3f99;\nstruct A {\n  x @0 :UInt32;\n  y @1 :Text;\n}\n"
        self.write("messages/a.capnp", old)
        self.assertEqual(self.run_checker("schemas", "--update").returncode, 0)
        self.assert_content("schemas")
        for what, line, new in (
                ("removed", 1, old.replace("  y @1 :Text;\n", "")),
                ("retyped", 3, old.replace(":UInt32", ":UInt64")),
                ("renumbered", 4, old.replace("x @0", "x @1").replace("y @1", "y @0")),
                ("another default", 3, old.replace(":UInt32", ":UInt32 = 1"))):
            with self.subTest(what):
                self.write("messages/a.capnp", new)
                self.assert_offence(f"messages/a.capnp:{line}", "schemas", why="older programs know it")

    def test_schemas_wants_new_fields_in_the_golden(self):
        text = "@0xb2c9a0c57a1e3f99;\nstruct A {\n  x @0 :UInt32;\n}\n"
        self.write("messages/a.capnp", text)
        self.run_checker("schemas", "--update")
        self.write("messages/a.capnp", text.replace("}", "  y @1 :List(A);\n}"))
        self.assert_offence("messages/a.capnp:4", "schemas", why="--update")
        self.assert_content("schemas", "--update")

    def test_docs_code_reports_code_that_no_program_has(self):
        self.write("docs/page.md", "Text\n\n```cpp\nint f();\nint g();\n```\n")
        self.write("tests/install/consumer/a.cpp", "// code\nint f();\nint g();\n")
        self.assert_content("docs_code")
        self.write("tests/install/consumer/a.cpp", "// code\nint f();\n\nint g();\n")
        self.assert_offence("docs/page.md:4", "docs_code", why="in no source")

    def test_docs_commands_reports_commands_that_fail(self):
        self.write("deploy/setup", "")
        (self.root / "deploy/setup").chmod(0o755)
        good = "```sh\ndeploy/setup\necho $TROUPE_HOME | grep home\n```\n<!-- exit status 1 -->\n```sh\nfalse\n```\n"
        self.write("README.md", good + "\n<!-- not run: takes for ever -->\n\n```sh\nfalse\n```\n")
        options = ("--bin", self.root)
        self.assertIn("takes for ever", self.run_checker("docs_commands", *options).stdout)
        self.assert_content("docs_commands", *options)
        self.write("docs/a.md", "# A\n\n```sh\ntrue\nfalse\n```\n")
        self.assert_offence("docs/a.md:4", "docs_commands", *options, why="exit status 1")
        self.write("docs/a.md", "```sh\ndeploy/nothing\n```\n")
        self.assert_offence("docs/a.md:2", "docs_commands", *options, why="no program")


if __name__ == "__main__":
    unittest.main()
