#!/usr/bin/env python3
"""Compiles src/inspector/api.schema, the description of the inspector's endpoints (its head explains the language).

    inspector_api.py SCHEMA --cpp DIR            DIR/api.h and DIR/api.cc: structs, JSON, parameters, dispatch
    inspector_api.py SCHEMA --ts FILE            the page's types and calls
    inspector_api.py SCHEMA --markdown FILE      the endpoints for people
    inspector_api.py SCHEMA --check FILE...      fails when a .ts or .md file is not what would be made
"""
import argparse
import dataclasses
import os
import re
import sys

SCALARS = {"string": "std::string", "sentence": "std::string", "bool": "bool", "int": "std::int64_t", "long": "std::int64_t", "float": "double"}
TYPESCRIPT = {"string": "string", "sentence": "string", "bool": "boolean", "int": "number", "long": "Long", "float": "number"}

STRUCT = re.compile(r"struct ([A-Z]\w*)$")
ENUM = re.compile(r"enum ([A-Z]\w*)$")
ENDPOINT = re.compile(r"(GET|POST) (\w+) (/\S+)(?: ([A-Z]\w*))? -> ([A-Z]\w*)\s*(?:#\s*(.*))?$")
FIELD = re.compile(r"([a-z]\w*): (\w+)(\?)?(\[\])?\s*(?:#\s*(.*))?$")
VALUE = re.compile(r"([a-z]\w*)\s*(?:#\s*(.*))?$")


class SchemaError(Exception):
    pass


@dataclasses.dataclass
class Field:
    name: str
    type: str
    optional: bool
    is_list: bool
    says: str


@dataclasses.dataclass
class Struct:
    name: str
    says: str
    fields: list


@dataclasses.dataclass
class Enum:
    name: str
    says: str
    values: list  # (name, says)


@dataclasses.dataclass
class Endpoint:
    method: str
    name: str
    path: str
    body: str
    answer: str
    says: str
    parameters: list
    chapter: str

    def in_path(self):
        return re.findall(r"\{(\w+)\}", self.path)

    def type_name(self):
        return "".join(part.capitalize() for part in self.name.split("_")) + "Query"

    def is_stream(self):
        return self.name == "events"


@dataclasses.dataclass
class Api:
    structs: dict
    enums: dict
    endpoints: list
    order: list  # names of structs and enums as they are declared

    def with_parts_first(self, names):
        """`names` and the types of their fields, each behind those that it is made of."""
        found = []

        def add(name):
            if name in found or name in SCALARS:
                return
            for field in self.structs[name].fields if name in self.structs else []:
                add(field.type)
            found.append(name)

        for name in names:
            add(name)
        return found

    def bodies(self):
        """The structs that requests carry, those within them first."""
        return [n for n in self.with_parts_first(e.body for e in self.endpoints if e.body) if n in self.structs]


def parse(text, name):
    api = Api({}, {}, [], [])
    comment, current, chapter = [], None, ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.rstrip()
        where = f"{name}:{number}"
        if not line:
            comment, current = [], None
            continue
        if line.startswith("#"):
            chapter_line = re.match(r"# --- (.*) ---$", line)
            if chapter_line:
                chapter = chapter_line[1]
            else:
                comment.append(line[1:].strip())
            continue
        if not line.startswith(" "):
            says = " ".join(comment)
            comment = []
            if match := STRUCT.match(line):
                current = Struct(match[1], says, [])
                api.structs[match[1]] = current
                api.order.append(match[1])
            elif match := ENUM.match(line):
                current = Enum(match[1], says, [])
                api.enums[match[1]] = current
                api.order.append(match[1])
            elif match := ENDPOINT.match(line):
                current = Endpoint(match[1], match[2], match[3], match[4] or "", match[5], match[6] or "", [], chapter)
                api.endpoints.append(current)
            else:
                raise SchemaError(f"{where}: neither struct, enum, GET nor POST: {line}")
            continue
        if isinstance(current, Enum):
            match = VALUE.match(line.strip())
            if not match:
                raise SchemaError(f"{where}: no value: {line}")
            current.values.append((match[1], match[2] or ""))
        elif current is not None:
            match = FIELD.match(line.strip())
            if not match:
                raise SchemaError(f"{where}: no field: {line}")
            (current.fields if isinstance(current, Struct) else current.parameters).append(
                Field(match[1], match[2], bool(match[3]), bool(match[4]), match[5] or ""))
        else:
            raise SchemaError(f"{where}: belongs to nothing: {line}")
    known = set(SCALARS) | set(api.structs) | set(api.enums)
    for struct in api.structs.values():
        for field in struct.fields:
            if field.type not in known:
                raise SchemaError(f"{struct.name}.{field.name}: there is no type {field.type}")
    for endpoint in api.endpoints:
        names = [p.name for p in endpoint.parameters]
        for wanted in endpoint.in_path():
            if wanted not in names:
                raise SchemaError(f"{endpoint.path}: what is {wanted}?")
        for type_name in [endpoint.answer, endpoint.body or endpoint.answer]:
            if type_name not in api.structs:
                raise SchemaError(f"{endpoint.path}: there is no struct {type_name}")
        for parameter in endpoint.parameters:
            if parameter.type in api.structs or parameter.is_list:
                raise SchemaError(f"{endpoint.path}: {parameter.name} does not fit into an address")
    return api


# --- C++ ---

def cpp_type(field):
    base = SCALARS.get(field.type, field.type)
    if field.is_list:
        return f"std::vector<{base}>"
    return f"std::optional<{base}>" if field.optional else base


def cpp_field(field):
    starts = "" if field.is_list or field.optional or SCALARS.get(field.type) == "std::string" else "{}"
    says = f"  // {field.says}" if field.says else ""
    return f"  {cpp_type(field)} {field.name}{starts};{says}\n"


def write_one(field, value, api):
    if field.type == "string":
        return f"write_string(out, {value})"
    if field.type == "sentence":
        return f"write_sentence(out, {value})"
    if field.type == "long":
        return f"write_long(out, {value})"
    if field.type == "bool":
        return f"out += {value} ? \"true\" : \"false\""
    if field.type == "int":
        return f"write_int(out, {value})"
    if field.type == "float":
        return f"write_float(out, {value})"
    if field.type in api.enums:
        return f"write_string(out, to_string({value}))"
    return f"append_json(out, {value})"


def cpp_header(api):
    out = ["""// Generated by tools/inspector_api.py from src/inspector/api.schema. What the endpoints of the inspector answer, and what they take.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cordwood::inspector::api {

"""]
    for name in api.with_parts_first(api.order):
        if name in api.enums:
            enum = api.enums[name]
            if enum.says:
                out.append(f"// {enum.says}\n")
            out.append(f"enum class {name} {{\n")
            out.extend(f"  {value},{'  // ' + says if says else ''}\n" for value, says in enum.values)
            out.append(f"}};\nconst char* to_string({name} value);\n\n")
            continue
        struct = api.structs[name]
        if struct.says:
            out.append(f"// {struct.says}\n")
        out.append(f"struct {name} {{\n")
        out.extend(cpp_field(field) for field in struct.fields)
        out.append(f"}};\nvoid append_json(std::string& out, const {name}& value);\n\n")
    out.append("// Of a request's body. Errors: invalid naming the field.\n")
    for name in api.bodies():
        out.append(f"Result<void> read_json(std::string_view json, {name}& into);\n")
    out.append("\n// --- parameters ---\n\n")
    for endpoint in api.endpoints:
        out.append(f"struct {endpoint.type_name()} {{\n")
        out.extend(cpp_field(p) for p in endpoint.parameters)
        out.append("};\n")
    out.append("""
// What answers; a failure becomes a Problem with the status of its code.
class Handlers {
 public:
  virtual ~Handlers() = default;
""")
    for endpoint in api.endpoints:
        if endpoint.is_stream():
            continue
        body = f", const {endpoint.body}& body" if endpoint.body else ""
        out.append(f"  virtual Result<{endpoint.answer}> {endpoint.name}(const {endpoint.type_name()}& query{body}) = 0;\n")
    out.append("""};

enum class Route {
  none,
""")
    out.extend(f"  {endpoint.name},\n" for endpoint in api.endpoints)
    out.append("""};

// A request's target, split and decoded.
struct Target {
  std::vector<std::string> path;                            // between the slashes
  std::vector<std::pair<std::string, std::string>> query;
};
// Errors: invalid for a malformed escape; limit for one that is longer than 8 KiB.
Result<Target> parse_target(std::string_view target);
// Whose path it is. `method`: GET or POST.
Route find_route(std::string_view method, const Target& target);
bool path_is_known(const Target& target);

// Reads the parameters, calls the handler, and writes its answer as JSON. Not for the stream of events. Errors: invalid for a
// parameter ("limit: ..."); those of the handler.
Result<std::string> dispatch(Handlers& handlers, Route route, const Target& target, std::string_view body);
""")
    for endpoint in api.endpoints:
        if endpoint.is_stream():
            out.append(f"Result<{endpoint.type_name()}> read_{endpoint.name}_query(const Target& target);\n")
    out.append("\n}  // namespace cordwood::inspector::api\n")
    return "".join(out)


def cpp_source(api):
    out = ["""// Generated by tools/inspector_api.py from src/inspector/api.schema.
#include "inspector/api.h"

#include <array>
#include <boost/json.hpp>

#include "inspector/json_text.h"

namespace cordwood::inspector::api {
namespace {

using inspector::read_member;
using inspector::read_value;

struct Pattern {
  Route route;
  std::string_view method;
  std::vector<std::string_view> path;  // "{" is any word
};

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all{
"""]
    for endpoint in api.endpoints:
        words = [word if not word.startswith("{") else "{" for word in endpoint.path.strip("/").split("/")]
        out.append(f"      {{Route::{endpoint.name}, \"{endpoint.method}\", {{{', '.join(chr(34) + w + chr(34) for w in words)}}}}},\n")
    out.append("""  };
  return all;
}

[[maybe_unused]] bool has_parameter(const Target& target, std::string_view name) {
  for (const auto& [key, text] : target.query) {
    if (key == name) return true;
  }
  return false;
}

bool fits(const Pattern& pattern, const Target& target) {
  if (pattern.path.size() != target.path.size()) return false;
  for (std::size_t i = 0; i < pattern.path.size(); ++i) {
    if (pattern.path[i] != "{" && pattern.path[i] != target.path[i]) return false;
  }
  return true;
}

""")
    for name in api.enums:
        used = any(p.type == name for e in api.endpoints for p in e.parameters) or any(
            f.type == name for b in api.bodies() for f in api.structs[b].fields)
        if not used:
            continue
        out.append(f"Result<void> read_value(std::string_view field, std::string_view text, {name}& into) {{\n")
        values = [value for value, _ in api.enums[name].values]
        for value in values:
            out.append(f"  if (text == \"{value}\") {{\n    into = {name}::{value};\n    return {{}};\n  }}\n")
        out.append(f"  return Error{{Errc::invalid, std::string(field) + \": must be one of {', '.join(values)}\"}};\n}}\n\n"
                   f"[[maybe_unused]] Result<void> read_member(std::string_view field, const boost::json::value& value, {name}& into) {{\n"
                   f"  std::string text;\n  TRY(inspector::read_member(field, value, text));\n  return read_value(field, text, into);\n}}\n\n")
    for endpoint in api.endpoints:
        if not endpoint.parameters:
            continue
        words = endpoint.path.strip("/").split("/")
        out.append(f"Result<void> read_query(const Target& target, {endpoint.type_name()}& into) {{\n")
        places = {word[1:-1]: i for i, word in enumerate(words) if word.startswith("{")}
        for p in endpoint.parameters:
            if p.name in places:
                out.append(f"  TRY(read_value(\"{p.name}\", target.path[{places[p.name]}], into.{p.name}));\n")
        in_query = [p for p in endpoint.parameters if p.name not in places]
        out.append("  for (const auto& [name, text] : target.query) {\n")
        for p in in_query:
            reader = "read_value" if not p.optional else "read_optional"
            read = (f"read_value(name, text, into.{p.name}.emplace())" if p.optional
                    else f"{reader}(name, text, into.{p.name})")
            out.append(f"    if (name == \"{p.name}\") {{\n      TRY({read});\n      continue;\n    }}\n")
        out.append("    return Error{Errc::invalid, name + \": there is no such parameter\"};\n  }\n")
        for p in in_query:
            if not p.optional:
                out.append(f"  if (!has_parameter(target, \"{p.name}\")) return Error{{Errc::invalid, \"{p.name}: is needed\"}};\n")
        out.append("  return {};\n}\n\n")
    for name in api.bodies():
        struct = api.structs[name]
        out.append(f"Result<void> read_object(const boost::json::value& json, {name}& into) {{\n")
        out.append("  const boost::json::object* object = json.if_object();\n"
                   "  if (object == nullptr) return Error{Errc::invalid, \"body: must be a JSON object\"};\n"
                   "  for (const auto& [key, value] : *object) {\n    const std::string_view name(key.data(), key.size());\n")
        for f in struct.fields:
            if f.is_list:
                out.append(f"    if (name == \"{f.name}\") {{\n      const boost::json::array* list = value.if_array();\n"
                           f"      if (list == nullptr) return Error{{Errc::invalid, \"{f.name}: must be a list\"}};\n"
                           f"      for (const boost::json::value& item : *list) TRY(read_object(item, into.{f.name}.emplace_back()));\n"
                           f"      continue;\n    }}\n")
            else:
                target = f"into.{f.name}.emplace()" if f.optional else f"into.{f.name}"
                null = f"      if (value.is_null()) continue;\n" if f.optional else ""
                out.append(f"    if (name == \"{f.name}\") {{\n{null}      TRY(read_member(name, value, {target}));\n      continue;\n    }}\n")
        out.append("    return Error{Errc::invalid, std::string(name) + \": there is no such field\"};\n  }\n")
        for f in struct.fields:
            if not f.optional and not f.is_list:
                out.append(f"  if (!object->contains(\"{f.name}\")) return Error{{Errc::invalid, \"{f.name}: is needed\"}};\n")
        out.append("  return {};\n}\n\n")
    out.append("}  // namespace\n\n")
    for name in api.order:
        if name in api.enums:
            out.append(f"const char* to_string({name} value) {{\n  switch (value) {{\n")
            out.extend(f"    case {name}::{value}: return \"{value}\";\n" for value, _ in api.enums[name].values)
            out.append("  }\n  return \"\";\n}\n\n")
            continue
        out.append(f"void append_json(std::string& out, const {name}& value) {{\n")
        for i, field in enumerate(api.structs[name].fields):
            key = f"\"{{\\\"{field.name}\\\":\"" if i == 0 else f"\",\\\"{field.name}\\\":\""
            access = f"value.{field.name}"
            out.append(f"  out += {key};\n")
            if field.is_list:
                out.append(f"  write_list(out, {access}, [&out](const auto& item) {{ {write_one(field, 'item', api)}; }});\n")
            elif field.optional:
                out.append(f"  if ({access}) {{\n    {write_one(field, '*' + access, api)};\n  }} else {{\n    out += \"null\";\n  }}\n")
            else:
                out.append(f"  {write_one(field, access, api)};\n")
        out.append("  out += '}';\n}\n\n")
    for name in api.bodies():
        out.append(f"Result<void> read_json(std::string_view json, {name}& into) {{\n"
                   "  const boost::json::value value = TRY(parse_body(json));\n  return read_object(value, into);\n}\n\n")
    out.append("""Route find_route(std::string_view method, const Target& target) {
  for (const Pattern& pattern : patterns()) {
    if (pattern.method == method && fits(pattern, target)) return pattern.route;
  }
  return Route::none;
}

bool path_is_known(const Target& target) {
  for (const Pattern& pattern : patterns()) {
    if (fits(pattern, target)) return true;
  }
  return false;
}

Result<std::string> dispatch(Handlers& handlers, Route route, const Target& target, std::string_view body) {
  std::string out;
  switch (route) {
    case Route::none: break;
""")
    for endpoint in api.endpoints:
        if endpoint.is_stream():
            out.append(f"    case Route::{endpoint.name}: break;\n")
            continue
        out.append(f"    case Route::{endpoint.name}: {{\n      {endpoint.type_name()} query;\n")
        if endpoint.parameters:
            out.append("      TRY(read_query(target, query));\n")
        else:
            out.append("      if (!target.query.empty()) return Error{Errc::invalid, target.query[0].first + \": there is no such parameter\"};\n")
        if endpoint.body:
            out.append(f"      {endpoint.body} read;\n      TRY(read_json(body, read));\n")
        argument = ", read" if endpoint.body else ""
        out.append(f"      append_json(out, TRY(handlers.{endpoint.name}(query{argument})));\n      return out;\n    }}\n")
    out.append("  }\n  return Error{Errc::not_found, \"there is no such endpoint\"};\n}\n\n")
    for endpoint in api.endpoints:
        if endpoint.is_stream():
            out.append(f"Result<{endpoint.type_name()}> read_{endpoint.name}_query(const Target& target) {{\n"
                       f"  {endpoint.type_name()} query;\n  TRY(read_query(target, query));\n  return query;\n}}\n")
    out.append("\n}  // namespace cordwood::inspector::api\n")
    return "".join(out)


# --- TypeScript ---

def ts_type(field):
    base = TYPESCRIPT.get(field.type, field.type)
    if field.is_list:
        return f"{base}[]"
    return f"{base} | null" if field.optional else base


def typescript(api):
    out = ["""// Generated by tools/inspector_api.py from src/inspector/api.schema. Do not edit.
import { get, post } from './http';

/** A 64 bit number such as an offset, as text: JavaScript's numbers end at 2^53. */
export type Long = string;

"""]
    for name in api.order:
        if name in api.enums:
            enum = api.enums[name]
            if enum.says:
                out.append(f"/** {enum.says} */\n")
            out.append(f"export type {name} =\n" + "\n".join(
                f"  | '{value}'" + (f" // {says}" if says else "") for value, says in enum.values) + ";\n\n")
            # A comment behind the last value would swallow the semicolon.
            last = enum.values[-1]
            if last[1]:
                out[-1] = out[-1].replace(f"  | '{last[0]}' // {last[1]};", f"  | '{last[0]}'; // {last[1]}")
            continue
        struct = api.structs[name]
        if struct.says:
            out.append(f"/** {struct.says} */\n")
        out.append(f"export interface {name} {{\n")
        for field in struct.fields:
            if field.says:
                out.append(f"  /** {field.says} */\n")
            out.append(f"  {field.name}: {ts_type(field)};\n")
        out.append("}\n\n")
    for endpoint in api.endpoints:
        if endpoint.parameters:
            out.append(f"export interface {endpoint.type_name()} {{\n")
            for p in endpoint.parameters:
                if p.says:
                    out.append(f"  /** {p.says} */\n")
                out.append(f"  {p.name}{'?' if p.optional else ''}: {TYPESCRIPT.get(p.type, p.type)};\n")
            out.append("}\n\n")
        query = f"query: {endpoint.type_name()}" if endpoint.parameters else ""
        if endpoint.parameters and all(p.optional for p in endpoint.parameters):
            query += " = {}"
        places = ", ".join(f"'{name}'" for name in endpoint.in_path())
        path = f"address('{endpoint.path}', [{places}], {{ ...query }})" if endpoint.parameters else f"'{endpoint.path}'"
        camel = re.sub(r"_(\w)", lambda m: m[1].upper(), endpoint.name)
        says = f"/** {endpoint.says} */\n" if endpoint.says else ""
        if endpoint.is_stream():
            out.append(f"{says}export const {camel}Address = ({query}): string => {path};\n\n")
        elif endpoint.body:
            out.append(f"{says}export const {camel} = ({query}, body: {endpoint.body}): Promise<{endpoint.answer}> =>\n"
                       f"  post<{endpoint.answer}>({path}, body);\n\n")
        else:
            signal = f"{query}, signal?: AbortSignal" if query else "signal?: AbortSignal"
            out.append(f"{says}export const {camel} = ({signal}): Promise<{endpoint.answer}> =>\n"
                       f"  get<{endpoint.answer}>({path}, signal);\n\n")
    out.append("""function address(path: string, places: string[], query: { [name: string]: unknown }): string {
  let filled = path;
  for (const name of places) filled = filled.replace(`{${name}}`, encodeURIComponent(String(query[name])));
  const rest = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (!places.includes(name) && value !== undefined && value !== null) rest.set(name, String(value));
  }
  const text = rest.toString();
  return text === '' ? filled : `${filled}?${text}`;
}
""")
    return "".join(out)


# --- Markdown ---

def markdown(api):
    out = ["""<!-- Generated by tools/inspector_api.py from src/inspector/api.schema. Do not edit. -->
# The inspector's endpoints

What the page reads, scripts can read too: JSON over HTTP, on the port that the ready line names (9192 beside 9092), or of
`cordwood inspect DIR`. GET changes nothing. POST works where the broker allows it, wants `Content-Type: application/json`, and is
refused from other sites. Where a token is demanded it comes as `Authorization: Bearer TOKEN`.

```
curl -s localhost:9192/api/v1/topics
curl -s 'localhost:9192/api/v1/topics/orders/partitions/0/lookup?offset=1000'
curl -sN localhost:9192/api/v1/events
```

Types: `int` is a JSON number, `long` a 64-bit number as a JSON string (offsets, producer ids), a `sentence` a string for people
(its numbers have a comma at each thousand), `?` may be null, `[]` is a list. Units are
in the names. A failure is a `Problem` with status 400 (a parameter is wrong), 401 (the token is missing), 403 (refused), 404 (no such
thing), 409 (the directory does not allow it now), 413 (too large) or 503 (too many).

Besides: `/metrics` (Prometheus), `/ready` (200 once requests are served, else 503), `/live` (200).

## Endpoints
"""]
    for endpoint in api.endpoints:
        body = f" with a `{endpoint.body}`" if endpoint.body else ""
        out.append(f"\n### {endpoint.method} {endpoint.path}\n\n{endpoint.says} Answers `{endpoint.answer}`{body}.\n")
        if endpoint.parameters:
            out.append("\n| parameter | type | |\n|---|---|---|\n")
            for p in endpoint.parameters:
                where = "in the path" if p.name in endpoint.in_path() else p.says
                if p.name in endpoint.in_path() and p.says:
                    where += f": {p.says}"
                out.append(f"| `{p.name}` | {p.type}{'?' if p.optional else ''} | {where} |\n")
    out.append("\n## Types\n")
    for name in api.order:
        if name in api.enums:
            enum = api.enums[name]
            out.append(f"\n### {name}\n\n{enum.says + chr(10) + chr(10) if enum.says else ''}One of:\n\n")
            out.extend(f"- `{value}`{': ' + says if says else ''}\n" for value, says in enum.values)
            continue
        struct = api.structs[name]
        out.append(f"\n### {name}\n\n{struct.says + chr(10) + chr(10) if struct.says else ''}| field | type | |\n|---|---|---|\n")
        for f in struct.fields:
            out.append(f"| `{f.name}` | {f.type}{'[]' if f.is_list else ''}{'?' if f.optional else ''} | {f.says} |\n")
    return "".join(out)


def write(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("schema")
    parser.add_argument("--cpp")
    parser.add_argument("--ts")
    parser.add_argument("--markdown")
    parser.add_argument("--check", nargs="*", default=[])
    options = parser.parse_args()
    with open(options.schema, encoding="utf-8") as f:
        try:
            api = parse(f.read(), options.schema)
        except SchemaError as error:
            sys.exit(str(error))
    if options.cpp:
        write(os.path.join(options.cpp, "api.h"), cpp_header(api))
        write(os.path.join(options.cpp, "api.cc"), cpp_source(api))
    if options.ts:
        write(options.ts, typescript(api))
    if options.markdown:
        write(options.markdown, markdown(api))
    stale = []
    for path in options.check:
        with open(path, encoding="utf-8") as f:
            if f.read() != (typescript(api) if path.endswith(".ts") else markdown(api)):
                stale.append(path)
    if stale:
        sys.exit(f"not what {options.schema} describes any more: {', '.join(stale)}; see ./dev generate")


if __name__ == "__main__":
    main()
