#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the fuzz targets with clang and libFuzzer, and lets each look for new inputs for a minute.
Only with TROUPE_LONG=1; exit status 77 means skipped."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SECONDS = 60


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def run(*words, **options):
    print("$", *words, flush=True)
    return subprocess.run([str(w) for w in words], check=False, **options).returncode


def has_libfuzzer(clang):
    program = "#include <stddef.h>\n" \
              "extern \"C\" int LLVMFuzzerTestOneInput(const unsigned char*, size_t) { return 0; }\n"
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([clang, "-x", "c++", "-", "-fsanitize=fuzzer,address", "-o",
                               pathlib.Path(folder, "probe")], input=program, text=True,
                              capture_output=True, check=False).returncode == 0


def build(source, folder, clang):
    done = run("cmake", "-S", source, "-B", folder, "-G", "Ninja", "-D", "CMAKE_BUILD_TYPE=Release",
               "-D", f"CMAKE_CXX_COMPILER={clang}", "-D", "TROUPE_FUZZ=ON", "-D", "TROUPE_TORCH=OFF",
               "-D", "TROUPE_SANITIZE=ON", stdout=subprocess.DEVNULL)
    if done == 0:
        done = run("cmake", "--build", folder, "--target", "tests/fuzz/all", stdout=subprocess.DEVNULL)
    if done != 0:
        sys.exit("the targets cannot be built with clang")


def fuzz(program, corpus, findings):
    """New inputs go to a folder of their own: the stored corpus stays small."""
    with tempfile.TemporaryDirectory() as fresh:
        return run(program, f"-max_total_time={SECONDS}", "-max_len=65536", "-timeout=20",
                   "-rss_limit_mb=4096", "-print_final_stats=1", f"-artifact_prefix={findings}/",
                   fresh, corpus)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options = parser.parse_args()
    if os.environ.get("TROUPE_LONG") != "1":
        skip("takes minutes; TROUPE_LONG=1 runs it")
    clang = shutil.which("clang++")
    if not clang or not has_libfuzzer(clang):
        skip("no clang++ with libFuzzer here (packages clang and libclang-rt-dev)")
    build(options.source, options.build, clang)
    failed = []
    for corpus in sorted((options.source / "tests/fuzz/corpus").iterdir()):
        findings = options.build / "findings" / corpus.name
        findings.mkdir(parents=True, exist_ok=True)
        if fuzz(options.build / "bin" / f"{corpus.name}_fuzz", corpus, findings) != 0:
            failed.append(f"{corpus.name}: see {findings}")
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
