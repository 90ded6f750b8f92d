#!/usr/bin/env python3
"""Our schemas against the message definitions inside Apache Kafka's own jars, version by version.

For every message that we declare and every version that we serve: the same fields in the same order, of the same type,
nullable where Kafka's are, with the same tags and defaults, and flexible from the same version on. Also that we serve
exactly the versions that Kafka does, and that the table of first flexible versions (src/protocol/header.cc) is right for
every api key. The jars are in $CORDWOOD_KAFKA_LIBS; the definitions are read from there and kept nowhere.
"""

import copy
import glob
import json
import os
import re
import sys
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
from schema_language import NEVER, parse  # noqa: E402

JARS = ("kafka-clients-*.jar", "kafka-metadata-*.jar", "kafka-group-coordinator-*.jar")
OTHER_NAMES = {"ZkMigrationRecord": "ZkMigrationStateRecord"}  # Kafka's file and its class differ in this one
FOLDERS = re.compile(r"common/(message|metadata)/\w+\.json$")


def without_comments(text):
    """JSON as Kafka writes it has // comments; strings are left alone."""
    return re.sub(r'"(?:\\.|[^"\\])*"|//[^\n]*', lambda m: m[0] if m[0][0] == '"' else "", text)


def read_definitions():
    folder = os.environ.get("CORDWOOD_KAFKA_LIBS")
    if not folder:
        sys.exit("CORDWOOD_KAFKA_LIBS is not set: run this through ./dev")
    definitions = {}
    for pattern in JARS:
        found = glob.glob(os.path.join(folder, pattern))
        found = [path for path in found if not re.search(r"-api-[\d.]+\.jar$|-test", path)]
        if len(found) != 1:
            sys.exit(f"{len(found)} jars match {pattern} in {folder}")
        with zipfile.ZipFile(found[0]) as jar:
            for name in jar.namelist():
                if FOLDERS.match(name):
                    definition = json.loads(without_comments(jar.read(name).decode()))
                    definitions[definition["name"]] = definition
    return definitions


def version_range(text, last=NEVER - 1):
    """"3+", "2-7", "4", "none" -> (first, last), inclusive."""
    if text in (None, "none"):
        return (NEVER, NEVER)
    match = re.match(r"(\d+)(\+|-(\d+))?$", text)
    first = int(match[1])
    return (first, last if match[2] == "+" else int(match[3]) if match[3] else first)


def covers(text, version):
    first, last = version_range(text)
    return first <= version <= last


def number(text):
    text = str(text).lower()
    return {"true": 1, "false": 0}[text] if text in ("true", "false") else float(text) if "." in text else int(text, 0)


def plain_name(name):
    return name.replace("_", "").lower()


def their_shape(fields, common, version):
    """The fields that Kafka's definition has in `version`: (untagged in order, tagged by tag)."""
    plain, tagged = [], {}
    for field in fields:
        if not covers(field["versions"], version):
            continue
        kind = field["type"]
        array = kind.startswith("[]")
        kind = kind[2:] if array else kind
        inner = field.get("fields") or common.get(kind)
        nullable = covers(field.get("nullableVersions"), version)
        default = field.get("default")
        tag = field.get("tag") if covers(field.get("taggedVersions"), version) else None
        shape = {"name": plain_name(field["name"]), "type": "struct" if kind[0].isupper() else kind, "array": array,
                 "nullable": nullable}
        if not array and kind not in ("string", "bytes", "records", "uuid") and not kind[0].isupper():
            shape["default"] = number(default if default not in (None, "") else 0)
        if kind[0].isupper():
            shape["fields"] = their_shape(inner, common, version)
        if tag is None:
            plain.append(shape)
        else:
            # What is equal to its default is not sent: here the default of a nullable field is seen on the wire.
            shape["default is null"] = nullable and default == "null"
            tagged[tag] = shape
    return [plain, tagged]


def our_shape(struct, version):
    plain, tagged = [], {}
    for field in struct.fields:
        if not field.first <= version <= field.last:
            continue
        kind = "int16" if field.base == "error" else field.base
        nullable = version >= field.null_from
        shape = {"name": plain_name(field.name), "type": kind, "array": field.array, "nullable": nullable}
        if not field.array and kind not in ("string", "bytes", "records", "uuid", "struct"):
            shape["default"] = number(field.default if field.default is not None else 0)
        if field.struct:
            shape["fields"] = our_shape(field.struct, version)
        if field.tag is None:
            plain.append(shape)
        else:
            shape["default is null"] = nullable
            tagged[field.tag] = shape
    return [plain, tagged]


def differences(ours, theirs, where):
    if ours == theirs:
        return []
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [line for key in sorted(set(ours) | set(theirs), key=str)
                for line in differences(ours.get(key, "nothing"), theirs.get(key, "nothing"), f"{where}.{key}")]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [line for index, (a, b) in enumerate(zip(ours, theirs)) for line in differences(a, b, f"{where}[{index}]")]
    return [f"{where}: ours {ours}, Kafka's {theirs}"]


def compare(message, definitions):
    name = message.struct_name
    theirs = definitions.get(OTHER_NAMES.get(name, name))
    if theirs is None:
        return [f"{name}: Kafka has no such message"]
    found = []
    if theirs.get("apiKey") is not None and message.number is not None and theirs["apiKey"] != message.number:
        found.append(f"{name}: number {message.number}, Kafka's {theirs['apiKey']}")
    first, last = version_range(theirs["validVersions"])
    request = definitions.get(name.replace("Response", "Request"), theirs)
    if theirs.get("latestVersionUnstable") or request.get("latestVersionUnstable"):
        last -= 1
    if (first, last) != (message.first, message.last):
        found.append(f"{name}: versions {message.first}..{message.last}, Kafka's {first}..{last}")
    common = {struct["name"]: struct["fields"] for struct in theirs.get("commonStructs", [])}
    # A struct may be used twice and is written out once.
    def collect(fields):
        for field in fields:
            if field.get("fields"):
                common.setdefault(field["type"].replace("[]", ""), field["fields"])
                collect(field["fields"])
    collect(theirs["fields"])
    for version in range(max(first, message.first), min(last, message.last) + 1):
        where = f"{name} v{version}"
        flexible = covers(theirs["flexibleVersions"], version)
        if flexible != (version >= message.flexible):
            found.append(f"{where}: Kafka's is {'' if flexible else 'not '}flexible")
        found += differences(our_shape(message.body, version), their_shape(theirs["fields"], common, version), where)
    return found


def our_messages():
    # Those of src/offline are for printing alone: dump_log.py compares what is printed, byte for byte.
    paths = sorted(path for folder in ("broker", "protocol")
                   for path in glob.glob(os.path.join(ROOT, "src", folder, "**", "*.schema"), recursive=True))
    return [message for path in paths for message in parse(path)]


def header_table(definitions):
    """Differences between kFirstFlexible and the definitions of all requests."""
    with open(os.path.join(ROOT, "src/protocol/header.cc"), encoding="utf-8") as file:
        text = re.search(r"kFirstFlexible = \{(.*?)\};", file.read(), re.S)[1]
    ours = re.sub(r"//[^\n]*", "", text).replace("kNever", str(NEVER)).replace(" ", "").replace("\n", "")
    ours = [int(word) for word in ours.strip(",").split(",")]
    found = []
    keys = {d["apiKey"]: d for d in definitions.values() if d["type"] == "request" and d["validVersions"] != "none"}
    if len(ours) != max(keys) + 1:
        found.append(f"kFirstFlexible has {len(ours)} keys, Kafka {max(keys) + 1}")
    for key, first in enumerate(ours):
        theirs = version_range(keys[key]["flexibleVersions"])[0] if key in keys else NEVER
        if first != theirs:
            found.append(f"kFirstFlexible[{key}] is {first}, Kafka's {theirs}")
    return found


def check_that_it_notices(definitions, messages):
    """Spoils a copy of one message in every way that matters; each must be found."""
    fetch = next(m for m in messages if m.struct_name == "FetchRequest")

    def spoil(change):
        copied = copy.deepcopy(fetch)
        change(copied)
        if not compare(copied, definitions):
            sys.exit(f"a spoiled schema was not noticed: {change.__name__}")

    def lost_field(m): del m.body.fields[3]
    def other_order(m): m.body.fields[3:5] = reversed(m.body.fields[3:5])
    def other_type(m): m.body.fields[3].base = "int64"
    def other_versions(m): m.body.fields[7].first += 1
    def other_null(m): m.body.fields[0].null_from = NEVER
    def other_tag(m): m.body.fields[0].tag = 5
    def other_default(m): m.body.fields[1].default = "0"
    def other_flexible(m): m.flexible -= 1
    def other_last(m): m.last -= 1
    def nested(m): del m.structs[1].fields[1]

    for change in (lost_field, other_order, other_type, other_versions, other_null, other_tag, other_default,
                   other_flexible, other_last, nested):
        spoil(change)


def main():
    definitions = read_definitions()
    messages = our_messages()
    check_that_it_notices(definitions, messages)
    found = [line for message in messages for line in compare(message, definitions)] + header_table(definitions)
    for line in found:
        print(line)
    versions = sum(m.last - m.first + 1 for m in messages)
    print(f"{len(messages)} messages in {versions} versions compared, {len(found)} differences")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
