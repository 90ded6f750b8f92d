"""Hand-made Kafka frames: enough of the protocol to send what no client would send, and to read what came back."""
import socket
import struct

_TABLE = []
for _n in range(256):
    for _ in range(8):
        _n = (_n >> 1) ^ (0x82F63B78 if _n & 1 else 0)
    _TABLE.append(_n)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def varint(value):
    value = (value << 1) ^ (value >> 63)
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def record(delta, key, value, ts_delta=0, headers=()):
    def field(data):
        return varint(-1) if data is None else varint(len(data)) + data
    body = b"\0" + varint(ts_delta) + varint(delta) + field(key) + field(value) + varint(len(headers))
    for name, content in headers:
        body += varint(len(name)) + name + field(content)
    return varint(len(body)) + body


def batch(records, base_timestamp=1_700_000_000_000, attributes=0, producer_id=-1, producer_epoch=-1, base_sequence=-1,
          base_offset=0, count=None, last_delta=None, max_timestamp=None, payload=None, magic=2, crc=None, leader_epoch=-1):
    """A batch v2 of (key, value[, ts_delta]) pairs; every field can be made to lie."""
    encoded = b""
    largest = 0
    if payload is not None:
        encoded = payload
    else:
        for i, item in enumerate(records):
            key, value, delta = (*item, 0)[:3]
            largest = max(largest, delta)
            encoded += record(i, key, value, delta)
    n = len(records) if count is None else count
    body = struct.pack(">hiqqqhii", attributes, n - 1 if last_delta is None else last_delta, base_timestamp,
                       base_timestamp + largest if max_timestamp is None else max_timestamp, producer_id, producer_epoch,
                       base_sequence, n) + encoded
    checksum = crc32c(body) if crc is None else crc
    tail = struct.pack(">ibI", leader_epoch, magic, checksum) + body
    return struct.pack(">qi", base_offset, len(tail)) + tail


def string(text):
    if text is None:
        return struct.pack(">h", -1)
    data = text.encode() if isinstance(text, str) else text
    return struct.pack(">h", len(data)) + data


def request(key, version, body, correlation=1, client="wire"):
    """A request with header v1 (classic versions)."""
    return struct.pack(">hhi", key, version, correlation) + string(client) + body


class Closed(Exception):
    """The broker closed the connection without an answer."""


class Connection:
    def __init__(self, port, timeout=120):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send_raw(self, data):
        self.socket.sendall(data)

    def send(self, frame):
        self.socket.sendall(struct.pack(">i", len(frame)) + frame)

    def _read(self, count):
        data = b""
        while len(data) < count:
            try:
                piece = self.socket.recv(count - len(data))
            except ConnectionError:
                raise Closed() from None
            if not piece:
                raise Closed()
            data += piece
        return data

    def receive(self):
        """The next answer: correlation id and body."""
        size = struct.unpack(">i", self._read(4))[0]
        data = self._read(size)
        return struct.unpack(">i", data[:4])[0], data[4:]

    def call(self, key, version, body, **kw):
        self.send(request(key, version, body, **kw))
        return self.receive()[1]

    def is_closed(self):
        """Waits for the broker to close; False when an answer came instead."""
        try:
            self.receive()
            return False
        except Closed:
            return True


def create_topic(connection, name, partitions=1, configs=None, expect=0):
    configs = configs or {}
    body = struct.pack(">i", 1) + string(name) + struct.pack(">ih", partitions, 1) + struct.pack(">i", 0)
    body += struct.pack(">i", len(configs)) + b"".join(string(k) + string(v) for k, v in configs.items())
    body += struct.pack(">ib", 30000, 0)
    answer = connection.call(19, 2, body)
    length = struct.unpack(">h", answer[8:10])[0]
    code = struct.unpack(">h", answer[10 + length:12 + length])[0]
    if code != expect:
        raise AssertionError(f"CreateTopics {name}: {code}, {answer!r}")


def produce_body(topic, partition, records, acks=1, transactional_id=None):
    return (string(transactional_id) + struct.pack(">hii", acks, 30000, 1) + string(topic) + struct.pack(">ii", 1, partition)
            + (struct.pack(">i", -1) if records is None else struct.pack(">i", len(records)) + records))


def produce(connection, topic, partition, records, acks=1, version=7):
    """Error code and base offset."""
    return produce_ahead(connection, topic, partition, [records], acks, version)[0]


def produce_ahead(connection, topic, partition, several, acks=1, version=7):
    """Sends all of them in one go; error code and base offset of each."""
    frames = [request(0, version, produce_body(topic, partition, records, acks), correlation=i) for i, records in enumerate(several)]
    connection.send_raw(b"".join(struct.pack(">i", len(frame)) + frame for frame in frames))
    answers = []
    for i in range(len(several)):
        correlation, answer = connection.receive()
        if correlation != i:
            raise AssertionError(f"the answer to request {correlation} came in the place of that to {i}")
        at = 4 + 2 + len(topic.encode()) + 4 + 4
        answers.append(struct.unpack(">hq", answer[at:at + 10]))
    return answers


def list_offset(connection, topic, partition, timestamp):
    """Error code, timestamp, offset (v1)."""
    body = struct.pack(">ii", -1, 1) + string(topic) + struct.pack(">iiq", 1, partition, timestamp)
    answer = connection.call(2, 1, body)
    at = 4 + 2 + len(topic.encode()) + 4 + 4
    return struct.unpack(">hqq", answer[at:at + 18])


def fetch(connection, topic, partition, offset, max_wait=0, min_bytes=1, max_bytes=1 << 20):
    """Error code, high watermark, record bytes (v4)."""
    body = struct.pack(">iiiibi", -1, max_wait, min_bytes, max_bytes, 0, 1) + string(topic)
    body += struct.pack(">iiqi", 1, partition, offset, max_bytes)
    answer = connection.call(1, 4, body)
    at = 4 + 4 + 2 + len(topic.encode()) + 4 + 4
    error, high_watermark, _stable, aborted = struct.unpack(">hqqi", answer[at:at + 22])
    at += 22 + max(aborted, 0) * 16
    size = struct.unpack(">i", answer[at:at + 4])[0]
    return error, high_watermark, answer[at + 4:at + 4 + size]


def batches(data):
    """(base offset, bytes) of every whole batch."""
    at = 0
    while at + 12 <= len(data):
        base, length = struct.unpack(">qi", data[at:at + 12])
        if at + 12 + length > len(data):
            break
        yield base, data[at:at + 12 + length]
        at += 12 + length


def find_coordinator(connection, group):
    """Error code (v1)."""
    return struct.unpack(">h", connection.call(10, 1, string(group) + b"\0")[4:6])[0]


def group_codes(connection, group, topic):
    """What each API answers for a group: request name -> error code. Nothing changes, but for the offset of partition 0."""
    partitions = struct.pack(">i", 1) + string(topic) + struct.pack(">ii", 1, 0)
    join = string(group) + struct.pack(">i", 10000) + string("nobody") + string("consumer") + struct.pack(">i", 1)
    join += string("range") + struct.pack(">i", 0)
    return {
        "FindCoordinator": find_coordinator(connection, group),
        "JoinGroup": struct.unpack(">h", connection.call(11, 0, join)[:2])[0],
        "SyncGroup": struct.unpack(">h", connection.call(14, 0, string(group) + struct.pack(">i", 1) + string("nobody")
                                                         + struct.pack(">i", 0))[:2])[0],
        "Heartbeat": struct.unpack(">h", connection.call(12, 0, string(group) + struct.pack(">i", 1) + string("nobody"))[:2])[0],
        "LeaveGroup": struct.unpack(">h", connection.call(13, 0, string(group) + string("nobody"))[:2])[0],
        "OffsetCommit": struct.unpack(">h", connection.call(8, 2, string(group) + struct.pack(">i", -1) + string("")
                                                            + struct.pack(">q", -1) + partitions + struct.pack(">q", 7)
                                                            + string("m"))[-2:])[0],
        "OffsetFetch": struct.unpack(">h", connection.call(9, 1, string(group) + partitions)[-2:])[0],
        "OffsetFetch v2": struct.unpack(">h", connection.call(9, 2, string(group) + partitions)[-2:])[0],
        "DescribeGroups": struct.unpack(">h", connection.call(15, 0, struct.pack(">i", 1) + string(group))[4:6])[0],
        "DeleteGroups": struct.unpack(">h", connection.call(42, 0, struct.pack(">i", 1) + string("no-" + group))[-2:])[0],
        "ListGroups": struct.unpack(">h", connection.call(16, 0, b"")[:2])[0],
    }


def offsets_partition(group, partitions):
    """The partition of __consumer_offsets that holds the group."""
    number = 0
    for character in group.encode("utf-16-be")[1::2]:  # ASCII
        number = (number * 31 + character) & 0xFFFFFFFF
    number -= (number & 0x80000000) << 1
    return abs(number) % partitions
