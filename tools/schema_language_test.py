#!/usr/bin/env python3
"""What the schema language accepts, and that everything else is refused with the line it stands in."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import schema_compiler  # noqa: E402
import schema_cpp  # noqa: E402
from schema_language import NEVER, SchemaError, parse  # noqa: E402

HEAD = "request Example   key 7   versions 1..5   flexible 3..\n"


def parse_text(text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "07_example.schema")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return parse(path)


class Accepts(unittest.TestCase):
    def test_every_attribute(self):
        message, = parse_text(
            "# What it is for.\n" + HEAD +
            "  name    string?3..  2..        the name, or null\n"
            "  count   int32       2..4  =-1  one of: 0 none, 1 some\n"
            "  late    int64       3.. #0 =5\n"
            "  topics  [Topic]?               null for all\n"
            "    id    uuid        2..\n"
            "    more  [int32]\n"
            "  again   [Topic]     2..\n")
        self.assertEqual((message.struct_name, message.number, message.first, message.last, message.flexible),
                         ("ExampleRequest", 7, 1, 5, 3))
        self.assertEqual(message.remark, ["What it is for."])
        name, count, late, topics, again = message.body.fields
        self.assertEqual((name.first, name.last, name.null_from, name.remark), (2, 5, 3, "the name, or null"))
        self.assertEqual((count.first, count.last, count.default, count.remark), (2, 4, "-1", "one of: 0 none, 1 some"))
        self.assertEqual((late.first, late.tag, late.default), (3, 0, "5"))
        self.assertEqual((topics.array, topics.null_from, [f.name for f in topics.struct.fields]),
                         (True, 1, ["id", "more"]))
        self.assertIs(again.struct, topics.struct)
        self.assertEqual([s.name for s in message.structs], ["Topic"])

    def test_fields_are_cut_to_the_versions_of_their_struct(self):
        message, = parse_text(HEAD + "  part  Part  2..4\n    x  int8\n")
        self.assertEqual((message.structs[0].first, message.structs[0].last), (2, 4))
        self.assertEqual((message.structs[0].fields[0].first, message.structs[0].fields[0].last), (2, 4))

    def test_other_kinds(self):
        kinds = parse_text("record Topic  id 2  versions 0..0  flexible 0..\n  name  string\n\n"
                           "control Leader  id 3  versions 0..1  flexible 0..\n\n"
                           "data Plain  versions 0..0  flexible never\n  x  int8\n")
        self.assertEqual([k.struct_name for k in kinds], ["TopicRecord", "Leader", "Plain"])
        self.assertEqual(kinds[2].flexible, NEVER)


class Refuses(unittest.TestCase):
    def refuse(self, text, what, line):
        with self.assertRaises(SchemaError) as raised:
            parse_text(text)
        self.assertIn(what, str(raised.exception))
        self.assertIn(f"schema:{line}:", str(raised.exception))

    def test_messages(self):
        for head in ("request Example versions 1..5 flexible 3..", "request Example id 7 versions 1..5 flexible 3..",
                     "request example key 7 versions 1..5 flexible 3..", "question Example key 7 versions 1..5 flexible 3..",
                     "request Example key 7 versions 1.. flexible 3..", "request Example key 7 versions 1..5",
                     "request Example key 7 versions 5..1 flexible 3.."):
            self.refuse(head + "\n", "", 1)

    def test_fields(self):
        for field, what in (
                ("name", "a field is"),
                ("Name string", "a field is"),
                ("name text", "unknown type"),
                ("name [string", "no type"),
                ("name int32?", "cannot be null"),
                ("flags [bool]", "no arrays of bool"),
                ("name string 6..", "outside"),
                ("name string 0..", "outside"),
                ("name string 4..3", "outside"),
                ("name string 1..", "nothing new"),
                ("name string 2", "no attribute"),
                ("name string 2.. 3..", "no attribute"),
                ("name string (a remark)", "no attribute"),
                ("name string?9..", "nullable outside"),
                ("name string?1..", "nullable outside"),
                ("name string #0", "flexible"),
                ("name string 2.. #0", "flexible"),
                ("name string?4.. 3.. #0", "nullable in all"),
                ("name string =x", "no default"),
                ("name uuid =1", "no default"),
                ("name [int32] =1", "no default")):
            self.refuse(HEAD + "  " + field + "\n", what, 2)

    def test_structure(self):
        self.refuse("  name string\n", "indented", 1)
        self.refuse(HEAD + "    name string\n", "indented", 2)
        self.refuse(HEAD + "  name string\n    deeper string\n", "indented", 3)
        self.refuse(HEAD + "   name string\n", "two spaces", 2)
        self.refuse(HEAD + "  name string\n  name int8\n", "already", 3)
        self.refuse(HEAD + "  a int8 3.. #0\n  b int8 3.. #0\n", "tag used twice", 3)
        self.refuse(HEAD + "  a [Part] 2..3\n    x int8\n  b [Part]\n", "declared for", 4)
        with self.assertRaises(SchemaError):
            parse_text(HEAD + "  part Part\n")


class Writes(unittest.TestCase):
    def test_only_what_changed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a", "b.h")
            schema_compiler.write_if_changed(path, "one\n")
            os.utime(path, (1, 1))
            schema_compiler.write_if_changed(path, "one\n")
            self.assertEqual(os.stat(path).st_mtime, 1)
            schema_compiler.write_if_changed(path, "two\n")
            self.assertNotEqual(os.stat(path).st_mtime, 1)

    def test_the_shortest_test_of_a_version(self):
        for first, last, expected in ((0, 9, ""), (3, 9, "version >= 3"), (0, 4, "version <= 4"), (4, 4, "version == 4"),
                                      (2, 5, "version >= 2 && version <= 5"), (NEVER, NEVER, "false"), (10, 12, "false")):
            self.assertEqual(schema_cpp.version_test(first, last, 0, 9), expected)


if __name__ == "__main__":
    unittest.main()
