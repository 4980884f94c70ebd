#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks sizes: 600 lines a file, 300 a header, 60 a function, 15 sources a folder."""

import ast
import collections
import pathlib
import re

import common

FILE, HEADER, FUNCTION, FOLDER = 600, 300, 60, 15
CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z_])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
STATEMENT = re.compile(r"\b(if|for|while|switch|catch|do|else|try|return)\b")
FUNCTION_NAME = re.compile(r"([~\w]+|operator[^\s\w]+)\s*\(")


def blank(match):
    """Keeps the lines of what is cut out."""
    return re.sub(r"[^\n]", " ", match[0])


def cpp_functions(text):
    """(name, first line, number of lines) of each function, by its braces."""
    text = PREPROCESSOR.sub(blank, CODE.sub(blank, text))
    found, scopes, head, start = [], [], 0, 0
    for position, char in enumerate(text):
        if char == ";" and not inside_function(scopes):
            head = position + 1
        elif char == "{":
            before = text[head:position]
            start = head + len(before) - len(before.lstrip())
            scopes.append((kind_of(before, scopes), before, start))
            head = position + 1
        elif char == "}" and scopes:
            kind, before, start = scopes.pop()
            if kind == "function":
                first = text.count("\n", 0, start) + 1
                name = FUNCTION_NAME.search(before)
                lines = text.count("\n", start, position) + 1
                found.append((name[1] if name else "function", first, lines))
            if kind != "initialiser":
                head = position + 1
    return found


def inside_function(scopes):
    return any(kind == "function" for kind, _, _ in scopes)


def kind_of(before, scopes):
    """What a brace opens, judged by the text since the last statement."""
    if inside_function(scopes):
        return "block"
    before = re.sub(r"\btemplate\s*<[^{};]*?>(?=\s*[\w\[:])", "", before)
    if "(" in before and not re.search(r"=\s*$", before) and not STATEMENT.match(before.strip()):
        # In a constructor's list `a_{1}` is a value; the body follows a `)`, a `}` or a word of its own.
        if re.search(r"\)\s*(noexcept)?\s*:(?!:)[^{}]*[,:]\s*\w+(<[^<>]*>)?\s*$", before):
            return "initialiser"
        return "function"
    return "scope" if SCOPE.search(before) else "initialiser"


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def check_file(name, text):
    offences = []
    lines = text.count("\n")
    limit = HEADER if name.suffix in (".hpp", ".h") else FILE
    if lines > limit:
        offences.append(f"{name}:{limit}: the file has {lines} lines, {limit} are allowed")
    functions = []
    if name.suffix in (".cpp", ".hpp", ".h"):
        functions = cpp_functions(text)
    elif name.suffix == ".py":
        functions = python_functions(text)
    for function, first, count in functions:
        if count > FUNCTION:
            offences.append(f"{name}:{first}: {function} has {count} lines, {FUNCTION} are allowed")
    return offences


def check_folders(names):
    """A header and its source count as one."""
    folders = collections.defaultdict(set)
    for name in names:
        if name.suffix in (".cpp", ".hpp", ".h"):
            folders[name.parent].add(name.stem)
    return [f"{folder}:1: {len(stems)} sources in a folder, {FOLDER} are allowed: make sub-rooms"
            for folder, stems in sorted(folders.items()) if len(stems) > FOLDER]


def main():
    root = common.arguments(__doc__).root
    names = common.files(root, ".cpp", ".hpp", ".h", ".py", ".capnp", ".cmake", ".md", ".txt")
    names += [n for n in common.files(root, "") if pathlib.Path(n).parts[0] in ("deploy", ".ci")]
    offences = check_folders(names)
    for name in names:
        if name.parts[:3] != ("tests", "checks", "golden"):
            offences += check_file(name, (root / name).read_text())
    common.finish(offences, f"the sizes of {len(names)} files")


if __name__ == "__main__":
    main()
