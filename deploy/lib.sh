# SPDX-License-Identifier: Apache-2.0
# What the scripts of this folder share; sourced by them.
# shellcheck shell=bash

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
jobs="$(nproc)"

say() { printf '%s\n' "$*" >&2; }

die() {
  say "${0##*/}: $*"
  exit 1
}

# Prints a command as it can be typed, then runs it.
show() {
  printf '\n$ %s\n' "$*" >&2
  "$@"
}

# Configures and builds a preset: build PRESET [-D SETTING]... [TARGET...], without targets all of them.
build() {
  local preset="$1" settings=() targets=()
  shift
  while [[ "${1:-}" == -D ]]; do
    settings+=("$1" "$2")
    shift 2
  done
  (($# == 0)) || targets=(--target "$@")
  show cmake --preset "$preset" "${settings[@]}"
  show cmake --build --preset "$preset" -j "$jobs" "${targets[@]}"
}

# The names of the packages in the given sections of packages.txt for release $1.
packages() {
  local release="$1"
  shift
  awk -v release="$release" -v wanted=" $* " '
    { sub(/#.*/, "") }
    /^\[/ { section = substr($1, 2, length($1) - 2); next }
    NF && index(wanted, " " section " ") {
      ok = NF == 1
      for (i = 2; i <= NF; ++i) ok = ok || $i == release
      if (ok) print $1
    }' "$root/deploy/packages.txt"
}
