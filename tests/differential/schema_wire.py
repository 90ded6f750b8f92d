"""Requests and answers as dictionaries, encoded and decoded by our own schemas: to ask two brokers the same question.

    client = Client(port)
    answer = client.call("19_create_topics", 7, {"topics": [...], "timeout_ms": 1000})

A field that is left out has its default. Answers have every field of their version.
"""
import os
import socket
import struct
import sys
import uuid

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
from schema_language import NEVER, parse  # noqa: E402

FIXED = {"bool": ">?", "int8": ">b", "int16": ">h", "int32": ">i", "int64": ">q", "uint16": ">H", "float64": ">d",
         "error": ">h"}


class Closed(Exception):
    """The broker closed the connection without an answer."""


def uvarint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def default_of(field):
    if field.default == "null" or (field.default is None and field.nullable and not field.array):
        return None
    if field.array:
        return []
    if field.default is not None:
        return {"true": True, "false": False}.get(field.default) if field.base == "bool" else int(field.default)
    if field.base == "struct":
        return {}
    return {"string": "", "bytes": b"", "records": b"", "uuid": uuid.UUID(int=0), "bool": False}.get(field.base, 0)


class Coder:
    def __init__(self, message, version):
        self.version = version
        self.flexible = message.flexible != NEVER and version >= message.flexible

    def fields(self, structure, tagged):
        return [f for f in structure.fields if f.first <= self.version <= f.last and (f.tag is not None) == tagged]

    # --- writing ---
    def length(self, n, short=False):
        if self.flexible:
            return uvarint(n + 1)
        return struct.pack(">h" if short else ">i", n)

    def write_one(self, field, value):
        if field.base in FIXED:
            return struct.pack(FIXED[field.base], value)
        if field.base == "uuid":
            return value.bytes
        if field.base == "struct":
            mark = b"\x01" if field.nullable and not field.array else b""
            return (b"\xff" if value is None else mark + self.write(field.struct, value))
        if value is None:
            return self.length(-1, field.base == "string")
        data = value.encode() if isinstance(value, str) else value
        return self.length(len(data), field.base == "string") + data

    def write_field(self, field, value):
        if not field.array:
            return self.write_one(field, value)
        if value is None:
            return self.length(-1)
        return self.length(len(value)) + b"".join(self.write_one(field, v) for v in value)

    def write(self, structure, values):
        unknown = set(values) - {f.name for f in structure.fields}
        if unknown:
            raise ValueError(f"{structure.name} has no {unknown}")
        out = b"".join(self.write_field(f, values.get(f.name, default_of(f))) for f in self.fields(structure, False))
        if self.flexible:
            tags = [(f.tag, self.write_field(f, values[f.name])) for f in self.fields(structure, True) if f.name in values]
            out += uvarint(len(tags)) + b"".join(uvarint(t) + uvarint(len(d)) + d for t, d in sorted(tags))
        return out

    # --- reading ---
    def read_length(self, data, short=False):
        return data.uvarint() - 1 if self.flexible else data.unpack(">h" if short else ">i")

    def read_one(self, field, data):
        if field.base in FIXED:
            return data.unpack(FIXED[field.base])
        if field.base == "uuid":
            return uuid.UUID(bytes=data.take(16))
        if field.base == "struct":
            if field.nullable and not field.array and data.unpack(">b") < 0:
                return None
            return self.read(field.struct, data)
        n = self.read_length(data, field.base == "string")
        if n < 0:
            return None
        return data.take(n).decode() if field.base == "string" else data.take(n)

    def read_field(self, field, data):
        if not field.array:
            return self.read_one(field, data)
        n = self.read_length(data)
        return None if n < 0 else [self.read_one(field, data) for _ in range(n)]

    def read(self, structure, data):
        values = {f.name: self.read_field(f, data) for f in self.fields(structure, False)}
        if self.flexible:
            tagged = {f.tag: f for f in self.fields(structure, True)}
            values.update({f.name: default_of(f) for f in tagged.values()})
            for _ in range(data.uvarint()):
                tag, size = data.uvarint(), data.uvarint()
                body = Data(data.take(size))
                if tag in tagged:
                    values[tagged[tag].name] = self.read_field(tagged[tag], body)
        return values


class Data:
    def __init__(self, content):
        self.content = content
        self.at = 0

    def take(self, n):
        if n < 0 or self.at + n > len(self.content):
            raise ValueError("the answer is cut short")
        self.at += n
        return self.content[self.at - n:self.at]

    def unpack(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def uvarint(self):
        result = shift = 0
        while True:
            byte = self.take(1)[0]
            result |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return result


class Client:
    def __init__(self, port, timeout=30):
        self.port = port
        self.timeout = timeout
        self.socket = None
        self.schemas = {}

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None

    def messages(self, schema):
        if schema not in self.schemas:
            parsed = parse(os.path.join(ROOT, "src/protocol/schemas", schema + ".schema"))
            self.schemas[schema] = {m.kind: m for m in parsed}
        return self.schemas[schema]

    def call(self, schema, version, values):
        """The decoded answer. Raises Closed when the broker closes instead."""
        request, response = self.messages(schema)["request"], self.messages(schema)["response"]
        coder = Coder(request, version)
        frame = struct.pack(">hhih", request.number, version, 7, 4) + b"diff" + (b"\0" if coder.flexible else b"")
        frame += coder.write(request.body, values)
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), self.timeout)
        self.socket.sendall(struct.pack(">i", len(frame)) + frame)
        data = Data(self.receive())
        data.take(4)
        reader = Coder(response, version)
        if reader.flexible and request.number != 18:
            data.uvarint()
        answer = reader.read(response.body, data)
        if data.at != len(data.content):
            raise ValueError(f"{len(data.content) - data.at} bytes behind the answer")
        return answer

    def receive(self):
        def read(n):
            data = b""
            while len(data) < n:
                try:
                    piece = self.socket.recv(n - len(data))
                except ConnectionError:
                    piece = b""
                if not piece:
                    self.close()
                    raise Closed()
                data += piece
            return data
        return read(struct.unpack(">i", read(4))[0])
