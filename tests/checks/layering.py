#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks on the include lines who may include whom.

Every file belongs to one room; a room may include its own files, those of the rooms named for it, and
the libraries named for it besides the standard library and the system's headers.
"""

import re

import common

# Library -> how its headers begin.
LIBRARIES = {
    "expected": ("tl/",), "capnp": ("capnp/", "kj/"), "log": ("fmt/", "spdlog/"),
    "prometheus": ("prometheus/",), "ucx": ("ucp/", "uct/", "ucs/", "ucm/"),
    "rdma": ("infiniband/", "rdma/"), "sodium": ("sodium.h", "sodium/"), "caf": ("caf/",),
    "toml": ("toml++/",), "json": ("nlohmann/",), "cli": ("CLI/",), "boost": ("boost/",),
    "sqlite": ("sqlite3.h",), "torch": ("torch/", "ATen/", "c10/", "caffe2/"),
    "cuda": ("cuda.h", "cuda_runtime", "nccl.h"), "jpeg": ("turbojpeg.h", "jpeglib.h"),
    "kvm": ("linux/kvm.h",), "libvirt": ("libvirt/",),
    "compression": ("zstd.h", "lz4.h", "xxhash.h", "zlib.h"),
}
SYSTEM = ("sys/", "linux/", "netinet/", "arpa/", "net/", "asm/", "bits/")
EVERYTHING = set(LIBRARIES)

# Room -> (rooms it may include besides itself, libraries). Most special first: see room_of.
WIRE = {"capnp", "expected"}
ROOMS = {
    "basic types": ((), {"expected"}),
    "messages": (("basic types",), WIRE),
    "actors/base": (("basic types",), {"expected", "log", "prometheus"}),
    "actors/net": (("basic types", "messages", "actors/base"),
                   WIRE | {"ucx", "rdma", "sodium", "log"}),
    "actors/core": (("basic types", "messages", "actors/base", "actors/net"),
                    WIRE | {"caf", "log"}),
    "actors/control": (("basic types", "messages", "actors/base", "actors/net", "actors/core"),
                       WIRE | {"caf", "log", "prometheus", "toml", "json", "boost", "sqlite"}),
    "gpu": (("basic types",), {"expected", "torch", "cuda", "json"}),
    "preprocess": (("basic types",), {"expected", "torch", "jpeg"}),
    "vmft": (("basic types",), {"expected", "kvm", "libvirt", "compression"}),
}
ENGINES = ("gpu", "preprocess", "vmft")
RUNTIME = ("basic types", "messages", "actors/base", "actors/net", "actors/core", "actors/control")
for engine in ENGINES:
    ROOMS[engine + " actors"] = ((engine, *RUNTIME), WIRE | {"caf", "ucx"} | ROOMS[engine][1])
ROOMS["apps"] = ((*RUNTIME, *ENGINES, *(e + " actors" for e in ENGINES)), EVERYTHING)
ROOMS["tests"] = ((*ROOMS["apps"][0], "apps"), EVERYTHING)

BASIC_TYPES = re.compile(r"messages/(result|ids|units|slice|version)\.hpp$")
ACTOR_FILE = re.compile(r"(^|/)([a-z0-9_]+_(actor|link)|kinds)\.[a-z]+$")
# Headers that take seconds to compile, and how many files may include them: Beast's server and client.
SLOW = {"cli": (r"CLI/", 1), "beast": (r"boost/beast", 2)}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def room_of(path):
    """The room of a file or of an include line's path; None where no room is known for it."""
    if BASIC_TYPES.match(path):
        return "basic types"
    top, _, rest = path.partition("/")
    if top in ENGINES:
        return top + " actors" if ACTOR_FILE.search(path) else top
    if top == "actors":
        return f"actors/{rest.partition('/')[0]}"
    return top if top in ("messages", "apps", "tests") else None


def library_of(header):
    for library, beginnings in LIBRARIES.items():
        if header.startswith(beginnings):
            return library
    return None


def judge(room, quote, header):
    """Why a file of the room may not have this include line; None where it may."""
    rooms, libraries = ROOMS[room]
    if quote == '"':
        other = room_of(header)
        if other not in ROOMS:
            return f'"{header}" does not begin with a room (the include root is the repository\'s root)'
        return None if other == room or other in rooms else f"{room} may not include {other}"
    library = library_of(header)
    if library is None:
        if "/" in header and not header.startswith(SYSTEM) and room not in ("apps", "tests"):
            return f"<{header}> is of no known library: add it to LIBRARIES and to the rooms that use it"
        return None
    return None if library in libraries else f"{room} may not include {library}"


def check_file(root, name, users):
    room = room_of(name.as_posix())
    if room not in ROOMS:
        return [f"{name}:1: belongs to no room that layering.py knows"]
    offences = []
    for number, line in enumerate((root / name).read_text().splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        why = judge(room, *found.groups())
        if why:
            offences.append(f"{name}:{number}: {why}")
        for slow, (pattern, _) in SLOW.items():
            if room != "tests" and re.match(pattern, found[2]):
                users.setdefault(slow, []).append(f"{name}:{number}")
    return offences


def main():
    root = common.arguments(__doc__).root
    names = common.files(root, ".cpp", ".hpp", ".h")
    offences, users = [], {}
    for name in names:
        offences += check_file(root, name, users)
    for slow, places in users.items():
        files = {p.partition(":")[0] for p in places}
        if len(files) > SLOW[slow][1]:
            offences += [f"{p}: {slow} is included by {len(files)} files, and by {SLOW[slow][1]} only "
                         "it may be" for p in places]
    common.finish(offences, f"the include lines of {len(names)} files")


if __name__ == "__main__":
    main()
