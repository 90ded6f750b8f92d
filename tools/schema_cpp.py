"""C++ from a parsed schema: the header of a file and the decode() and encode() functions of its messages."""

import os
import re

from schema_language import NEVER

CPP = {"bool": "bool", "int8": "std::int8_t", "int16": "std::int16_t", "int32": "std::int32_t",
       "int64": "std::int64_t", "uint16": "std::uint16_t", "float64": "double", "uuid": "Uuid",
       "error": "protocol::ErrorCode", "string": "std::string", "bytes": "ByteVector", "records": "protocol::Records"}
CODER = {"bool": "boolean", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint16": "u16",
         "float64": "f64", "uuid": "uuid"}
FIXED_SIZE = {"bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint16": 2, "float64": 8, "uuid": 16,
              "error": 2}


def element_type(field):
    return field.struct.name if field.struct else CPP[field.base]


def cpp_type(field):
    inner = f"std::vector<{element_type(field)}>" if field.array else element_type(field)
    return f"std::optional<{inner}>" if field.nullable else inner


def default_text(field):
    """The default as a C++ expression, or None when `{}` says it."""
    if field.default is None:
        return None
    if field.base in ("int64", "int32") and int(field.default) in (-(1 << 63), -(1 << 31)):
        return f"std::numeric_limits<{CPP[field.base]}>::min()"
    if field.base == "int64" and int(field.default) == (1 << 63) - 1:
        return "std::numeric_limits<std::int64_t>::max()"
    return field.default


def initializer(field):
    if field.nullable or field.array or field.struct or field.base in ("string", "bytes", "records", "uuid"):
        return ""
    zero = {"bool": "false", "float64": "0.0", "error": "protocol::ErrorCode::NONE"}.get(field.base, "0")
    return f" = {default_text(field) or zero}"


def set_to_default(field, target):
    """A statement that makes `target` the default, keeping the capacity of what can keep it."""
    if field.nullable:
        return f"{target}.reset();"
    if field.array or field.base in ("string", "bytes"):
        return f"{target}.clear();"
    if field.struct or field.base in ("uuid", "records"):
        return f"{target} = {{}};"
    return f"{target}{initializer(field)};"


def version_test(first, last, low, high):
    """The C++ condition for first..last where the version is known to lie in low..high; "" when always true."""
    if first <= low and last >= high:
        return ""
    if first > high or last < low:
        return "false"
    if first == last:
        return f"version == {first}"
    if last >= high:
        return f"version >= {first}"
    if first <= low:
        return f"version <= {last}"
    return f"version >= {first} && version <= {last}"


class Writer:
    """Lines of C++ with their indentation."""

    def __init__(self):
        self.lines = []
        self.depth = 0

    def line(self, text=""):
        self.lines.append("  " * self.depth + text if text else "")

    def open(self, text):
        self.line(text + " {")
        self.depth += 1

    def close(self, tail=""):
        self.depth -= 1
        self.line("}" + tail)

    def text(self):
        return "\n".join(self.lines) + "\n"


# ---------------------------------------------------------------------------------------------------- the header

def nullable_structs(message):
    """Structs that some field may hold or not, and what they are made of. They are declared outside of the message: a
    nested struct with default values is not default constructible for std::optional until its message is complete."""
    found = []

    def add(struct):
        for field in struct.fields:
            if field.struct:
                add(field.struct)
        if struct not in found:
            found.append(struct)

    for struct in message.structs + [message.body]:
        for field in struct.fields:
            if field.struct and field.nullable and not field.array:
                add(field.struct)
    return found


def parts_namespace(message):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", message.struct_name).lower() + "_parts"


def emit_struct(out, message, struct, nested):
    outside = nullable_structs(message) if struct is message.body else []
    if outside:
        out.open(f"namespace {parts_namespace(message)}")
        for inner in outside:
            emit_struct(out, message, inner, [])
        out.close(f"  // namespace {parts_namespace(message)}")
    out.open(f"struct {struct.name}")
    for inner in nested:
        if inner in outside:
            out.line(f"using {inner.name} = {parts_namespace(message)}::{inner.name};")
        else:
            emit_struct(out, message, inner, [])
            out.line()
    if struct is message.body:
        number = {"request": "kApiKey", "response": "kApiKey", "record": "kRecordId", "control": "kControlType",
                  "data": "kRecordId"}[message.kind]
        if message.number is not None:
            out.line(f"static constexpr std::int16_t {number} = {message.number};")
        out.line(f"static constexpr std::int16_t kMinVersion = {message.first};")
        out.line(f"static constexpr std::int16_t kMaxVersion = {message.last};")
        out.line(f'static constexpr const char* kName = "{message.struct_name}";')
        if message.flexible <= message.first:
            body = "(int) { return protocol::Form::flexible; }"
        elif message.flexible > message.last:
            body = "(int) { return protocol::Form::classic; }"
        else:
            body = (f"(int v) {{ return v >= {message.flexible} ? protocol::Form::flexible "
                    ": protocol::Form::classic; }")
        out.line(f"static constexpr protocol::Form form{body}")
        out.line()
    for field in struct.fields:
        where = [] if field.remark == "" else [field.remark]
        versions = version_test(field.first, field.last, message.first, message.last)
        if versions:
            where.append(f"[{field.first}..{field.last}]" if field.last < message.last else f"[{field.first}..]")
        if field.tag is not None:
            where.append(f"[tag {field.tag}]")
        if field.nullable and field.null_from > field.first:
            where.append(f"[null from {field.null_from}]")
        comment = "  // " + " ".join(where) if where else ""
        out.line(f"{cpp_type(field)} {field.name}{initializer(field)};{comment}")
    out.line(f"bool operator==(const {struct.name}&) const = default;")
    out.close(";")


def header(path, messages, namespace):
    out = Writer()
    out.line(f"// Generated from {os.path.basename(path)}; edit that.")
    out.line("#pragma once")
    out.line()
    out.line("#include <cstdint>")
    if any("numeric_limits" in (default_text(f) or "") for m in messages for s in m.structs + [m.body] for f in s.fields):
        out.line("#include <limits>")
    for name in ("optional", "string", "vector"):
        out.line(f"#include <{name}>")
    out.line()
    for name in ("base/bytes.h", "base/uuid.h", "protocol/error_code.h", "protocol/wire.h"):
        out.line(f'#include "{name}"')
    out.line()
    out.line(f"namespace {namespace} {{")
    for message in messages:
        out.line()
        for line in message.remark:
            out.line(f"// {line}".rstrip())
        emit_struct(out, message, message.body, message.structs)
        out.line(f"void decode({message.struct_name}& into, protocol::Decoder& decoder, std::int16_t version);")
        out.line(f"void encode(const {message.struct_name}& from, protocol::Encoder& encoder, std::int16_t version);")
    out.line()
    out.line(f"}}  // namespace {namespace}")
    return out.text()


# ---------------------------------------------------------------------------------------------------- decoding

def decode_value(field, target, decoder):
    """A statement reading one value (or one element of an array) into `target`."""
    if field.struct:
        return f"decode({target}, {decoder}, version);"
    if field.base == "error":
        return f"{target} = static_cast<protocol::ErrorCode>({decoder}.i16());"
    if field.base in CODER:
        return f"{target} = {decoder}.{CODER[field.base]}();"
    return f"{decoder}.{field.base}({target});"


def read_field(out, field, decoder, low, high):
    """Reads a field that is there; the version is known to lie in low..high."""
    target = f"into.{field.name}"

    def elements(function, container):
        smallest = FIXED_SIZE.get(field.base, 1)
        out.line(f"protocol::{function}({decoder}, {container}, {smallest}, "
                 f"[&](auto& element) {{ {decode_value(field, 'element', decoder)} }});")

    def read(null):
        if field.array:
            if null:
                elements("nullable_array", target)
            else:
                elements("array", f"protocol::present({target})" if field.nullable else target)
        elif field.struct:
            if null:
                out.open(f"if ({decoder}.struct_is_present())")
                out.line(f"decode(protocol::present({target}), {decoder}, version);")
                out.depth -= 1
                out.open("} else")
                out.line(f"{target}.reset();")
                out.close()
            else:
                out.line(decode_value(field, f"protocol::present({target})" if field.nullable else target, decoder))
        elif null:
            out.line(f"{decoder}.nullable_{field.base}({target});")
        else:
            out.line(decode_value(field, f"protocol::present({target})" if field.nullable else target, decoder))

    branch(out, version_test(field.null_from, high, low, high), lambda: read(True), lambda: read(False))


def branch(out, test, then, otherwise):
    if test == "":
        then()
    elif test == "false":
        otherwise()
    else:
        out.open(f"if ({test})")
        then()
        out.depth -= 1
        out.open("} else")
        otherwise()
        out.close()


def emit_decode(out, message, struct):
    name = struct.name if struct is message.body else f"{message.struct_name}::{struct.name}"
    low, high = struct.first, struct.last
    uses_version = needs_version(message, struct)
    out.open(f"{'' if struct is message.body else 'static '}void decode({'' if struct.fields else '[[maybe_unused]] '}"
             f"{name}& into, [[maybe_unused]] protocol::Decoder& decoder, "
             f"{'' if uses_version else '[[maybe_unused]] '}std::int16_t version)")
    for field in struct.fields:
        if field.tag is not None:
            out.line(set_to_default(field, f"into.{field.name}"))
            continue
        test = version_test(field.first, field.last, low, high)
        branch(out, test, lambda f=field: read_field(out, f, "decoder", max(low, f.first), min(high, f.last)),
               lambda f=field: out.line(set_to_default(f, f"into.{f.name}")))
    flexible = version_test(message.flexible, NEVER, low, high)
    if flexible != "false":
        tagged = [f for f in struct.fields if f.tag is not None]
        if flexible:
            out.open(f"if ({flexible})")
        if tagged:
            out.open("decoder.tagged_fields([&](std::uint32_t tag)")
            out.open("switch (tag)")
            for field in sorted(tagged, key=lambda f: f.tag):
                out.line(f"case {field.tag}:")
                out.depth += 1
                test = version_test(field.first, field.last, low, high)
                if test:
                    out.line(f"if (!({test})) decoder.fail();")
                read_field(out, field, "decoder", max(low, field.first), min(high, field.last))
                out.line("return true;")
                out.depth -= 1
            out.line("default: return false;")
            out.close()
            out.close(");")
        else:
            out.line("decoder.skip_tagged_fields();")
        if flexible:
            out.close()
    out.close()


def needs_version(message, struct):
    low, high = struct.first, struct.last
    if any(f.struct or version_test(f.first, f.last, low, high) or
           (f.nullable and f.null_from > max(low, f.first)) for f in struct.fields):
        return True
    return version_test(message.flexible, NEVER, low, high) not in ("", "false")


# ---------------------------------------------------------------------------------------------------- encoding

def write_value(field, value, encoder):
    if field.struct:
        return f"encode({value}, {encoder}, version);"
    if field.base == "error":
        return f"{encoder}.i16(protocol::to_wire({value}));"
    return f"{encoder}.{CODER.get(field.base, field.base)}({value});"


def write_field(out, field, encoder, low, high):
    source = f"from.{field.name}"

    def elements(container):
        out.line(f"{encoder}.array_count({container}.size());")
        out.line(f"for (const auto& element : {container}) {write_value(field, 'element', encoder)}")

    def write_null():
        if field.array:
            out.open(f"if ({source})")
            elements(f"(*{source})")
            out.depth -= 1
            out.open("} else")
            out.line(f"{encoder}.null_array();")
            out.close()
        elif field.struct:
            out.line(f"{encoder}.struct_mark({source}.has_value());")
            out.line(f"if ({source}) encode(*{source}, {encoder}, version);")
        else:
            out.line(f"{encoder}.nullable_{field.base}({source});")

    def write_plain():
        value = f"protocol::or_empty({source})" if field.nullable else source
        if field.array:
            elements(value)
        else:
            out.line(write_value(field, value, encoder))

    branch(out, version_test(field.null_from, high, low, high), write_null, write_plain)


def differs_from_default(field):
    source = f"from.{field.name}"
    if field.nullable:
        return f"{source}.has_value()"
    if field.array or field.base in ("string", "bytes"):
        return f"!{source}.empty()"
    if field.struct:
        return f"!({source} == std::remove_cvref_t<decltype({source})>{{}})"
    if field.base == "uuid":
        return f"!{source}.is_zero()"
    if field.base == "bool":
        return source if (default_text(field) or "false") == "false" else f"!{source}"
    return f"{source} != {initializer(field)[3:]}"


def emit_encode(out, message, struct):
    name = struct.name if struct is message.body else f"{message.struct_name}::{struct.name}"
    low, high = struct.first, struct.last
    uses_version = needs_version(message, struct)
    out.open(f"{'' if struct is message.body else 'static '}void encode("
             f"{'' if struct.fields else '[[maybe_unused]] '}const {name}& from, "
             f"[[maybe_unused]] protocol::Encoder& encoder, "
             f"{'' if uses_version else '[[maybe_unused]] '}std::int16_t version)")
    for field in struct.fields:
        if field.tag is not None:
            continue
        test = version_test(field.first, field.last, low, high)
        if test:
            out.open(f"if ({test})")
        write_field(out, field, "encoder", max(low, field.first), min(high, field.last))
        if test:
            out.close()
    flexible = version_test(message.flexible, NEVER, low, high)
    if flexible != "false":
        tagged = sorted((f for f in struct.fields if f.tag is not None), key=lambda f: f.tag)
        if flexible:
            out.open(f"if ({flexible})")
        for field in tagged:
            test = version_test(field.first, field.last, low, high)
            differs = differs_from_default(field)
            out.line(f"const bool has_{field.name} = {test + ' && ' if test else ''}{differs};")
        count = " + ".join(f"(has_{f.name} ? 1u : 0u)" for f in tagged) or "0"
        out.line(f"encoder.uvarint({count});")
        for field in tagged:
            out.open(f"if (has_{field.name})")
            if not field.nullable and not field.array and field.base in FIXED_SIZE:
                out.line(f"encoder.uvarint({field.tag});")
                out.line(f"encoder.uvarint({FIXED_SIZE[field.base]});")
                out.line(write_value(field, f"from.{field.name}", "encoder"))
            else:
                out.open(f"protocol::tagged(encoder, {field.tag}, [&](protocol::Encoder& body)")
                write_field(out, field, "body", max(low, field.first), min(high, field.last))
                out.close(");")
            out.close()
        if flexible:
            out.close()
    out.close()


def unit(headers, messages, namespace):
    out = Writer()
    out.line("// Generated by tools/schema_compiler.py.")
    for name in headers:
        out.line(f'#include "{name}"')
    out.line()
    out.line('#include "protocol/message_coding.h"')
    out.line()
    out.line(f"namespace {namespace} {{")
    for message in messages:
        out.line()
        for struct in message.structs + [message.body]:
            emit_decode(out, message, struct)
            emit_encode(out, message, struct)
    out.line()
    out.line(f"}}  // namespace {namespace}")
    return out.text()
