#!/usr/bin/env python3
"""Compiles .schema files (tools/schema_language.py) into C++ message types with their encoding and decoding.

    schema_compiler.py --out DIR --prefix protocol/messages --namespace cordwood::protocol --name message \
                       --units 4 FILES
        one header a file, NN_heartbeat.schema -> DIR/protocol/messages/heartbeat.h; all functions in 4 .cc files;
        every_message.h, which visits all types; random_messages_testing.{h,cc}, which fills messages for tests
    schema_compiler.py --tables FILE FILES
        the same declarations as JSON, for comparison with somebody else's

A file is written only when its text changes, so that nothing is compiled again for nothing.
"""

import argparse
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from schema_cpp import header, unit  # noqa: E402
from schema_cpp_testing import every_message, randomize_files  # noqa: E402
from schema_language import NEVER, SchemaError, parse  # noqa: E402


def table_of(struct):
    rows = []
    for field in struct.fields:
        row = {"name": field.name, "type": field.base, "array": field.array, "first": field.first, "last": field.last}
        if field.nullable:
            row["null_from"] = field.null_from
        if field.tag is not None:
            row["tag"] = field.tag
        if field.default is not None:
            row["default"] = field.default
        if field.struct:
            row["fields"] = table_of(field.struct)
        rows.append(row)
    return rows


def tables(messages):
    return [{"kind": m.kind, "name": m.struct_name, "number": m.number, "first": m.first, "last": m.last,
             "flexible": None if m.flexible == NEVER else m.flexible, "fields": table_of(m.body)} for m in messages]


def write_if_changed(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    except FileNotFoundError:
        pass
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def header_name(schema, prefix):
    return f"{prefix}/{re.sub(r'^[0-9]+_', '', os.path.basename(schema))[:-len('.schema')]}.h"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--out")
    arguments.add_argument("--prefix")
    arguments.add_argument("--namespace")
    arguments.add_argument("--name", default="message", help="what one is called in the names of the other files")
    arguments.add_argument("--units", type=int, default=1)
    arguments.add_argument("--tables")
    arguments.add_argument("schemas", nargs="+")
    options = arguments.parse_args()
    try:
        files = [(path, parse(path)) for path in sorted(options.schemas)]
    except SchemaError as error:
        sys.exit(str(error))
    messages = [message for _, parsed in files for message in parsed]
    if options.tables:
        write_if_changed(os.path.abspath(options.tables), json.dumps(tables(messages), indent=1) + "\n")
        return

    headers = [header_name(path, options.prefix) for path, _ in files]
    outputs = {}
    for (path, parsed), name in zip(files, headers):
        outputs[name] = header(path, parsed, options.namespace)
    # Dealt out in turn: which unit a file is in does not depend on the others' contents.
    units = [range(first, len(files), options.units) for first in range(options.units)]
    for number, indexes in enumerate(units):
        outputs[f"{options.prefix}/{options.name}s_{number}.cc"] = unit(
            [headers[i] for i in indexes], [m for i in indexes for m in files[i][1]], options.namespace)
    outputs[f"{options.prefix}/every_{options.name}.h"] = every_message(headers, messages, options.namespace)
    random = f"{options.prefix}/random_{options.name}s_testing"
    outputs[random + ".h"], outputs[random + ".cc"] = randomize_files(options.prefix, options.name, messages,
                                                                     options.namespace)
    for name, text in outputs.items():
        write_if_changed(os.path.join(options.out, name), text)


if __name__ == "__main__":
    main()
