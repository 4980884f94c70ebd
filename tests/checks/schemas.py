#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the schemas can still read what older programs wrote.

Lists what is on the wire (ids, numbers, names, types, places, defaults) and compares it with
golden/schemas.txt: nothing listed there may change or go; what is new must be added with --update.
"""

import pathlib
import subprocess

import capnp_text
import common

GOLDEN = pathlib.Path("tests/checks/golden/schemas.txt")


def run(command, **settings):
    said = subprocess.run(command, capture_output=True, **settings)
    if said.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {said.stderr.decode().strip()}")
    return said.stdout


def request(root, names):
    """The compiler's own description of the schemas."""
    paths = [str(root / n) for n in names]
    compiled = run(["capnp", "compile", "-o-", f"--src-prefix={root}", *paths])
    schema = next(p for p in (pathlib.Path("/usr/include/capnp/schema.capnp"),
                              pathlib.Path("/usr/local/include/capnp/schema.capnp")) if p.is_file())
    text = run(["capnp", "convert", "binary:text", str(schema), "CodeGeneratorRequest"], input=compiled)
    return capnp_text.parse(text.decode())


def type_name(kind, nodes):
    (word, what), = kind.items()
    if word == "list":
        return f"List({type_name(what['elementType'], nodes)})"
    if word in ("struct", "enum", "interface"):
        node = nodes.get(int(what["typeId"]))
        return node["displayName"].split(":")[-1] if node else f"@{int(what['typeId']):#x}"
    return word


def field_line(field, number, nodes):
    union = "" if field["discriminantValue"] == "65535" else f" union {field['discriminantValue']}"
    if "group" in field:
        return f"@{number} {field['name']} group @{int(field['group']['typeId']):#x}{union}"
    slot = field["slot"]
    default = ""
    if slot["hadExplicitDefault"] == "true":
        (value,) = slot["defaultValue"].values()
        default = f"= {value}"
    name = type_name(slot["type"], nodes)
    return f"@{number} {field['name']} :{name} at {slot['offset']}{union} {default}".rstrip()


def node_lines(node, nodes):
    """What one type says about the wire: one line for itself, one for each member."""
    head = f"{node['displayName']} @{int(node['id']):#x}"
    if "enum" in node:
        yield f"{head} enum"
        for number, one in enumerate(node["enum"]["enumerants"]):
            yield f"{head} @{number} {one['name']}"
    elif "struct" in node:
        yield f"{head} struct"
        for field in node["struct"].get("fields", []):  # none: a struct without any
            number = field["ordinal"].get("explicit", "-")
            yield f"{head} {field_line(field, number, nodes)}"
    elif "annotation" in node:
        yield f"{head} annotation :{type_name(node['annotation']['type'], nodes)}"
    elif "const" in node:
        yield f"{head} const :{type_name(node['const']['type'], nodes)}"


def listing(root, names):
    nodes = {int(n["id"]): n for n in request(root, names)["nodes"]}
    ours = [n for n in nodes.values() if n["displayName"].startswith(tuple(map(str, names)))]
    return [line for node in sorted(ours, key=lambda n: n["displayName"])
            for line in node_lines(node, nodes)]


def place(names, line, root):
    """The schema and the line in it that a listed line is about."""
    name = line.split(":")[0].split(" ")[0]
    words = line.split(" ")
    wanted = words[3] if len(words) > 3 and words[2].startswith("@") else words[0].split(":")[-1]
    source = root / name
    if source.is_file():
        for number, text in enumerate(source.read_text().splitlines(), 1):
            if wanted.split(".")[-1] in text.split("#")[0].replace("(", " ").split():
                return f"{name}:{number}"
    return f"{name}:1"


def main():
    options = common.arguments(__doc__, ("--update", {"action": "store_true"}))
    root = options.root.resolve()
    names = [n for n in common.files(root, ".capnp") if n.parts[0] != "tests"]
    now = listing(root, names)
    golden = root / GOLDEN
    if options.update:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text("\n".join(now) + "\n")
    known = golden.read_text().splitlines() if golden.is_file() else []
    offences = [f"{place(names, line, root)}: changed or gone, and older programs know it: {line}"
                for line in known if line not in now]
    offences += [f"{place(names, line, root)}: not in {GOLDEN} (schemas.py --update adds it): {line}"
                 for line in now if line not in known]
    common.finish(offences, f"{len(names)} schemas")


if __name__ == "__main__":
    main()
