# SPDX-License-Identifier: Apache-2.0
"""Reads Cap'n Proto's text form, as `capnp convert binary:text` prints it, into plain Python values:
structs become dictionaries, lists lists, and everything else the text that stands there."""

import re

TOKEN = re.compile(r'\s*("(?:\\.|[^"\\])*"|<[^>]*>|[()\[\]=,]|[^\s()\[\]=,]+)')


def parse(text):
    value, rest = read_value(TOKEN.findall(text), 0)
    return value


def read_value(tokens, at):
    """The value that begins at a token, and where the next token after it is."""
    if tokens[at] == "(":
        return read_struct(tokens, at + 1)
    if tokens[at] == "[":
        return read_list(tokens, at + 1)
    return tokens[at].strip('"'), at + 1


def read_struct(tokens, at):
    found = {}
    while tokens[at] != ")":
        name = tokens[at]
        found[name], at = read_value(tokens, at + 2)  # past the name and its '='
        at += tokens[at] == ","
    return found, at + 1


def read_list(tokens, at):
    found = []
    while tokens[at] != "]":
        value, at = read_value(tokens, at)
        found.append(value)
        at += tokens[at] == ","
    return found, at + 1
