#!/usr/bin/env python3
"""Compiles schemas into descriptions: tables that tell the fields of each record, for code that prints records of any kind.

    schema_descriptions.py --out FILE.cc NAME=SCHEMA[,SCHEMA...] ...

Each NAME becomes `const std::span<const MessageDescription> NAME` in namespace cordwood::offline. The types are in
src/offline/records/message_description.h.
"""

import argparse
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from schema_compiler import write_if_changed  # noqa: E402
from schema_language import NEVER, SchemaError, parse  # noqa: E402

# Fields that can be null and whose value is empty, not null, where nothing is said.
EMPTY_BY_DEFAULT = {"classic_member_metadata", "assignment_epochs", "last_assignment_configs"}
OTHER_TYPE_NAMES = {"ZkMigrationRecord": "ZK_MIGRATION_STATE_RECORD"}  # in Kafka's enumeration of record types


def kafka_name(name):
    """metadata_hash -> metadataHash; Kafka's KRaft keeps its capital."""
    words = name.split("_")
    words[0] = {"kraft": "kRaft"}.get(words[0], words[0])
    return words[0] + "".join(word[:1].upper() + word[1:] for word in words[1:])


def type_name(struct_name):
    return OTHER_TYPE_NAMES.get(struct_name) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", struct_name).upper()


def field_row(field, message):
    base = "structure" if field.base == "struct" else {"bool": "boolean"}.get(field.base, field.base)
    default = {"true": "1", "false": "0"}.get(field.default, field.default) or "0"
    null_from = "kNever" if field.null_from == NEVER else field.null_from
    null_default = "false" if field.name in EMPTY_BY_DEFAULT or not field.nullable else "true"
    structure = f"&k{message.struct_name}{field.struct.name}" if field.struct else "nullptr"
    tag = -1 if field.tag is None else field.tag
    return (f'    {{"{kafka_name(field.name)}", FieldType::{base}, {str(field.array).lower()}, {field.first}, {field.last}, '
            f"{null_from}, {tag}, {default}, {null_default}, {structure}}},")


def structure(struct, message, name):
    fields = "\n".join(field_row(field, message) for field in struct.fields)
    if not struct.fields:
        return f"constexpr StructDescription k{name}{{{{}}}};\n"
    return (f"constexpr FieldDescription k{name}Fields[] = {{\n{fields}\n}};\n"
            f"constexpr StructDescription k{name}{{k{name}Fields}};\n")


def table(name, messages):
    rows = []
    for message in messages:
        number = -1 if message.number is None else message.number
        flexible = "kNever" if message.flexible == NEVER else message.flexible
        rows.append(f'    {{"{message.struct_name}", "{type_name(message.struct_name)}", {number}, {message.first}, '
                    f"{message.last}, {flexible}, &k{message.struct_name}}},")
    body = "\n".join(rows)
    return f"constexpr MessageDescription k{name}Table[] = {{\n{body}\n}};\n"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--out", required=True)
    arguments.add_argument("tables", nargs="+")
    options = arguments.parse_args()
    parts, exports = [], []
    for given in options.tables:
        name, _, paths = given.partition("=")
        try:
            messages = [message for path in paths.split(",") for message in parse(path)]
        except SchemaError as error:
            sys.exit(str(error))
        for message in messages:
            for nested in message.structs:
                parts.append(structure(nested, message, message.struct_name + nested.name))
            parts.append(structure(message.body, message, message.struct_name))
        parts.append(table(name, messages))
        exports.append(f"const std::span<const MessageDescription> {name} = k{name}Table;\n")
    write_if_changed(os.path.abspath(options.out), "// Made by tools/schema_descriptions.py.\n"
                     '#include "offline/records/message_description.h"\n\nnamespace cordwood::offline {\nnamespace {\n\n'
                     + "\n".join(parts) + "\n}  // namespace\n\n" + "".join(exports)
                     + "\n}  // namespace cordwood::offline\n")


if __name__ == "__main__":
    main()
