"""The schema language: how a .schema file becomes a list of messages. Its page: docs/formats/schema_language.md.

    # A comment line; those right above a message are its documentation.
    request Heartbeat   key 12   versions 0..4   flexible 4..
      group_id           string
      generation_id      int32           =-1   what the last JoinGroup answered
      group_instance_id  string?  3..          null for a dynamic member

A parsed file knows for every field the versions that carry it, already cut to those of what encloses it.
"""

import re
from dataclasses import dataclass, field

SCALARS = ("bool", "int8", "int16", "int32", "int64", "uint16", "float64", "uuid", "error")
NULLABLES = ("string", "bytes", "records")
KINDS = {  # first word of a message -> suffix of the struct's name, word before its number
    "request": ("Request", "key"),
    "response": ("Response", "key"),
    "record": ("Record", "id"),
    "control": ("", "id"),
    "data": ("", "id"),
}
NEVER = 1 << 15  # a first version that no message reaches

MESSAGE = re.compile(
    r"(?P<kind>\w+) +(?P<name>[A-Z]\w*)(?: +(?P<word>key|id) +(?P<number>\d+))?"
    r" +versions +(?P<first>\d+)\.\.(?P<last>\d+) +flexible +(?P<flexible>never|\d+\.\.)$")
FIELD = re.compile(r"(?P<name>[a-z]\w*) +(?P<type>\S+)(?P<rest>.*)$")
TYPE = re.compile(r"(?P<open>\[)?(?P<base>\w+)(?P<close>\])?(?:(?P<null>\?)(?:(?P<null_from>\d+)\.\.)?)?$")
VERSIONS = re.compile(r"(\d+)\.\.(\d*)$")
TAG = re.compile(r"#(\d+)$")


class SchemaError(Exception):
    """What is wrong in a schema, with file and line."""


@dataclass
class Struct:
    name: str
    first: int                # versions in which some field holds it
    last: int
    fields: list = field(default_factory=list)


@dataclass
class Field:
    name: str
    base: str                 # a scalar, a nullable, or "struct"
    array: bool
    null_from: int            # first version that may carry null; NEVER
    first: int                # versions that carry the field, inclusive, within those of its struct
    last: int
    tag: object               # number, or None
    default: object           # text as written, or None: 0, false, empty; null when nullable
    remark: str
    struct: object = None     # Struct when base is "struct"

    @property
    def nullable(self):
        return self.null_from <= self.last


@dataclass
class Message:
    kind: str
    name: str                 # without suffix: "Heartbeat"
    number: object            # api key or record id, or None
    first: int
    last: int
    flexible: int             # first flexible version, or NEVER
    remark: list
    body: Struct = None
    structs: list = field(default_factory=list)  # nested ones, each after those that it uses

    @property
    def struct_name(self):
        return self.name + KINDS[self.kind][0]


def check(condition, where, text):
    if not condition:
        raise SchemaError(f"{where}: {text}")


def parse_field(text, where, message, first, last):
    """One field line, without the fields of its struct; `first`..`last` are the versions of what encloses it."""
    match = FIELD.match(text)
    check(match, where, "a field is `name type [versions] [#tag] [=default] [remark]`")
    kind = TYPE.match(match["type"])
    check(kind and bool(kind["open"]) == bool(kind["close"]), where, f"no type: {match['type']}")
    base, array = kind["base"], bool(kind["open"])
    is_struct = base[0].isupper()
    check(is_struct or base in SCALARS + NULLABLES, where, f"unknown type {base}")
    check(not kind["null"] or array or is_struct or base in NULLABLES, where, f"{base} cannot be null")

    versions = tag = default = None
    rest = match["rest"].strip()
    while rest and not rest[0].isalpha():
        word, _, rest = rest.partition(" ")
        rest = rest.strip()
        if VERSIONS.match(word) and versions is None:
            versions = VERSIONS.match(word).groups()
        elif TAG.match(word) and tag is None:
            tag = int(word[1:])
        elif word[0] == "=" and len(word) > 1 and default is None:
            default = word[1:]
        else:
            raise SchemaError(f"{where}: a remark starts with a letter, and this is no attribute: {word}")

    if versions:
        check(first <= int(versions[0]) <= int(versions[1] or last) <= last, where,
              f"versions outside of the enclosing {first}..{last}")
        check((int(versions[0]), int(versions[1] or last)) != (first, last), where, "versions say nothing new")
        first, last = int(versions[0]), int(versions[1] or last)
    null_from = NEVER
    if kind["null"]:
        null_from = first if kind["null_from"] is None else int(kind["null_from"])
        check(kind["null_from"] is None or first < null_from <= last, where, "nullable outside of its versions")
    if tag is not None:
        check(first >= message.flexible, where, "a tagged field needs a flexible version")
        check(null_from in (first, NEVER), where, "a tagged field is nullable in all its versions or in none")
    check(not (array and base == "bool"), where, "no arrays of bool")
    check(default is None or (not array and base in SCALARS and base not in ("uuid", "error")), where,
          f"no default for this type: {default}")
    return Field(match["name"], "struct" if is_struct else base, array, null_from, first, last, tag, default, rest,
                 Struct(base, first, last) if is_struct else None)


def parse(path):
    """All messages of one file. Raises SchemaError."""
    messages, comment, open_structs = [], [], []
    # open_structs: for each level of indentation the struct that takes fields there, and its versions.
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        text = line.strip()
        if not text:
            comment = []
            continue
        if text.startswith("#"):
            comment.append(text[1:].strip())
            continue
        indent = len(line) - len(line.lstrip(" "))
        check(indent % 2 == 0 and "\t" not in line, where, "indentation is two spaces a level")
        level = indent // 2
        if level == 0:
            messages.append(parse_message(text, where, comment))
            open_structs = [(messages[-1].body, messages[-1].first, messages[-1].last)]
            comment = []
            continue
        check(messages and level <= len(open_structs), where, "indented deeper than anything that takes fields")
        del open_structs[level:]
        struct, first, last = open_structs[-1]
        message = messages[-1]
        new = parse_field(text, where, message, first, last)
        check(all(new.name != other.name for other in struct.fields), where, f"{new.name} is there already")
        check(all(new.tag is None or new.tag != other.tag for other in struct.fields), where, "tag used twice")
        struct.fields.append(new)
        if new.struct:
            known = [s for s in message.structs if s.name == new.struct.name]
            if known:
                new.struct = known[0]  # the same struct again: its fields are written once
                check(known[0].first <= new.first and new.last <= known[0].last, where,
                      f"{new.struct.name} is declared for {known[0].first}..{known[0].last} only")
            else:
                message.structs.append(new.struct)
                open_structs.append((new.struct, new.first, new.last))
    for message in messages:
        finish(message, path)
    return messages


def parse_message(text, where, comment):
    match = MESSAGE.match(text)
    check(match and match["kind"] in KINDS, where,
          "a message is `kind Name [key|id n] versions a..b flexible c..|never`")
    check(match["number"] is not None or match["kind"] == "data", where, f"{match['kind']} without a number")
    check(match["word"] in (None, KINDS[match["kind"]][1]), where, f"{match['kind']} takes no {match['word']}")
    first, last = int(match["first"]), int(match["last"])
    check(first <= last, where, "versions fall")
    flexible = NEVER if match["flexible"] == "never" else int(match["flexible"][:-2])
    message = Message(match["kind"], match["name"], None if match["number"] is None else int(match["number"]), first,
                      last, flexible, comment)
    message.body = Struct(message.struct_name, first, last)
    return message


def finish(message, path):
    """Orders nested structs so that each comes after those that it uses."""
    ordered = []

    def visit(struct):
        check(struct.fields or struct is message.body, path, f"{message.struct_name}.{struct.name} has no fields")
        for member in struct.fields:
            if member.struct and member.struct not in ordered:
                visit(member.struct)
        if struct is not message.body:
            ordered.append(struct)

    visit(message.body)
    message.structs = ordered
