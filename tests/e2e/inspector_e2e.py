#!/usr/bin/env python3
"""The inspector over HTTP: of a broker that runs, and of directories; what strangers and other sites' pages may not; and what a crowd
of them does to the broker (nothing)."""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import harness
from harness import check, check_equal

GOLDEN = os.path.join(harness.ROOT, "tests/golden/kafka-4.4.0")


def ask(port, path, method="GET", headers=None, body=None, timeout=30):
    """Status, headers and text of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode("utf-8")
    finally:
        connection.close()


def get(port, path, headers=None):
    status, _, text = ask(port, path, headers=headers)
    check_equal(status, 200, f"GET {path}: {text[:300]}")
    return json.loads(text)


def post(port, path, body, headers=None):
    status, _, text = ask(port, path, "POST", {"Content-Type": "application/json", **(headers or {})}, json.dumps(body))
    return status, json.loads(text)


def events(port, path="/api/v1/events", seconds=10):
    """Yields what a stream of events tells, as long as `seconds` have not passed."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as s:
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        text = b""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            piece = s.recv(65536)
            if not piece:
                return
            text += piece
            while b"\n\n" in text:
                event, text = text.split(b"\n\n", 1)
                if b"data: " in event:
                    yield json.loads(event[event.index(b"data: ") + 6:])


def own(*words, stdin=None):
    done = subprocess.run([harness.binary(), *words], capture_output=True, text=True, timeout=120, input=stdin, check=False)
    check_equal(done.returncode, 0, f"cordwood {' '.join(words)}: {done.stdout} {done.stderr}")
    return done.stdout


def inspector_port(broker):
    found = re.search(r"inspector at http://127\.0\.0\.1:(\d+)/", broker.output())
    check(found, f"the ready line names no inspector: {broker.output()[-500:]}")
    return int(found.group(1))


def looks_at_a_broker(broker, port):
    server = broker.address()
    own("topics", "--bootstrap-server", server, "--create", "--topic", "orders", "--partitions", "3", "--config", "retention.ms=600000")
    own("console-producer", "--bootstrap-server", server, "--topic", "orders", "--property", "parse.key=true",
        stdin="".join(f"key-{i}\tvalue {i}\n" for i in range(100)))
    about = get(port, "/api/v1/about")
    check_equal(about["mode"], "broker", "the mode")
    check_equal(about["actions"], True, "whether actions are allowed")
    check(about["log_dirs"][0]["in_use"], "the directory is in use")
    rows = {row["name"]: row for row in get(port, "/api/v1/topics")["rows"]}
    check_equal(rows["orders"]["records"], "100", "records of the topic")
    check_equal(rows["orders"]["partitions"], 3, "its partitions")
    topic = get(port, "/api/v1/topics/orders")
    check_equal(sum(int(p["log_end"]) for p in topic["partitions"]), 100, "log ends")
    retention = next(s for s in topic["settings"] if s["name"] == "retention.ms")
    check_equal((retention["value"], retention["source"]), ("600000", "topic"), "a setting and its origin")
    own("console-consumer", "--bootstrap-server", server, "--topic", "orders", "--from-beginning", "--max-messages", "100",
        "--group", "readers", "--timeout-ms", "20000")
    rows = {row["name"]: row for row in get(port, "/api/v1/groups")["rows"]}
    check_equal(rows["readers"]["lag"], "0", "the lag of a group that has read everything")
    group = get(port, "/api/v1/groups/readers")
    check_equal({o["standing"] for o in group["offsets"]}, {"at_end"}, "its standing")
    check_equal(get(port, "/api/v1/topics?search=ORD")["matching"], 1, "a search")
    check_equal(ask(port, "/api/v1/topics/nothing")[0], 404, "a topic that is not there")


def acts(port):
    status, done = post(port, "/api/v1/topics/orders/records", {"key": "a", "value": "b", "headers": [{"key": "h", "value": "v"}]})
    check_equal(status, 200, f"a produced record: {done}")
    partition = done["partition"]
    ends = {p["partition"]: int(p["log_end"]) for p in get(port, "/api/v1/topics/orders")["partitions"]}
    check_equal(ends[partition], int(done["offset"]) + 1, "where it is")
    status, done = post(port, "/api/v1/topics/orders/partitions", {"partitions": 4})
    check_equal(status, 200, f"one partition more: {done}")
    check_equal(len(get(port, "/api/v1/topics/orders")["partitions"]), 4, "partitions")
    check_equal(post(port, "/api/v1/topics/orders/partitions", {"partitions": 2})[0], 400, "fewer partitions")
    status, done = post(port, "/api/v1/groups/readers/offsets", {"topic": "orders", "to": "earliest"})
    check_equal(status, 200, f"a reset: {done}")
    offsets = get(port, "/api/v1/groups/readers")["offsets"]
    check_equal({o["committed"] for o in offsets if o["topic"] == "orders"}, {"0"}, "positions after it")
    for kind in ("roll", "retain", "reindex"):
        status, done = post(port, "/api/v1/topics/orders/partitions/0/maintenance", {"kind": kind})
        check_equal(status, 200, f"{kind}: {done}")
    check_equal(post(port, "/api/v1/topics/orders/partitions/0/maintenance", {"kind": "compact"})[0], 400, "compacting what is not compacted")
    check_equal(post(port, "/api/v1/topics/orders/records", {"nothing": 1})[0], 400, "a body with another field")
    check_equal(ask(port, "/api/v1/topics/orders/records", "POST", {"Content-Type": "application/json"}, "{")[0], 400, "a body that is no JSON")


def tells_events(broker, port):
    own("topics", "--bootstrap-server", broker.address(), "--create", "--topic", "ticking")
    stop = threading.Event()

    def produce():
        while not stop.is_set():
            own("console-producer", "--bootstrap-server", broker.address(), "--topic", "ticking", stdin="x\n" * 50)

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        told, moments = False, []
        for event in events(port, "/api/v1/events?topic=ticking&partition=0", seconds=20):
            moments.append(time.monotonic())
            for topic in event["topics"]:
                told = told or (topic["name"] == "ticking" and int(topic["records"]) > 0)
            if told and event["partition"] and int(event["partition"]["log_end"]) > 0 and len(moments) > 8:
                break
        check(told, "nothing was told of a topic that changes")
        check(len(moments) / max(moments[-1] - moments[0], 0.001) < 5, f"more than four events a second: {len(moments)}")
    finally:
        stop.set()
        thread.join()


def has_metrics(port):
    check_equal(ask(port, "/live")[0], 200, "/live")
    check_equal(ask(port, "/ready")[0], 200, "/ready")
    status, headers, text = ask(port, "/metrics")
    check_equal(status, 200, "/metrics")
    check(headers["Content-Type"].startswith("text/plain; version=0.0.4"), f"the type of /metrics: {headers}")
    samples = dict(re.findall(r"^([a-z_]+(?:\{[^}]*\})?) ([-+.e0-9]+)$", text, re.M))
    check(float(samples['kafka_server_brokertopicmetrics_messagesin_total{topic="orders"}']) >= 100, "records in")
    check(float(samples['kafka_server_brokertopicmetrics_bytesout_total{topic="orders"}']) > 0, "bytes out")
    check(float(samples['kafka_network_requestmetrics_requests_total{request="Produce"}']) >= 1, "requests")
    check(float(samples["process_resident_memory_bytes"]) > 1_000_000, "resident memory")
    check_equal(samples["kafka_controller_kafkacontroller_activecontrollercount"], "1", "active controllers")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    check_equal([line for line in lines if not re.fullmatch(r"[a-zA-Z_:][a-zA-Z0-9_:]*(\{[^}]*\})? [-+.e0-9]+", line)], [], "lines of another form")


def keeps_others_out(port):
    json_type = {"Content-Type": "application/json"}
    for headers, status in [({"Host": "evil.example"}, 403), ({"Host": f"localhost:{port}"}, 200), ({"Host": f"[::1]:{port}"}, 200),
                            ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Sec-Fetch-Site": "cross-site"}, 403),
                            ({"Sec-Fetch-Site": "same-site"}, 403), ({"Sec-Fetch-Site": "same-origin"}, 200)]:
        check_equal(ask(port, "/api/v1/about", headers=headers)[0], status, f"GET with {headers}")
    path, body = "/api/v1/topics/orders/records", '{"value":"x","headers":[]}'
    check_equal(ask(port, path, "POST", {"Content-Type": "text/plain"}, body)[0], 415, "a POST that a form could send")
    check_equal(ask(port, path, "POST", {}, body)[0], 415, "a POST without a type")
    check_equal(ask(port, path, "POST", {**json_type, "Origin": "http://evil.example"}, body)[0], 403, "a POST of another site")
    check_equal(ask(port, path, "OPTIONS", {"Origin": "http://evil.example"})[0], 405, "a preflight")
    _, headers, _ = ask(port, "/api/v1/about")
    check(not any(name.lower().startswith("access-control") for name in headers), f"CORS headers: {headers}")
    check("frame-ancestors 'none'" in headers["Content-Security-Policy"], f"the content policy: {headers}")


def descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def resident(process):
    with open(f"/proc/{process.pid}/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * 4096


def survives_a_crowd(broker, port):
    before = resident(broker.process)
    # A thousand that want to listen.
    with contextlib.ExitStack() as stack:
        answered, refused = 0, 0
        for _ in range(1000):
            s = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            s.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                answer = s.recv(64)
                answered += answer.startswith(b"HTTP/1.1 200")
                refused += answer.startswith(b"HTTP/1.1 503")
        check_equal(answered, 64, "streams that are open at a time")
        check(refused > 600, f"the others are refused: {refused}")
        own("topics", "--bootstrap-server", broker.address(), "--list")
    # Ten thousand that begin a request and do not end it, as many at a time as we may have descriptors.
    done = 0
    while done < 10_000:
        with contextlib.ExitStack() as stack:
            for _ in range(400):
                with contextlib.suppress(ConnectionError, socket.timeout):
                    s = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
                    s.sendall(b"GET /api/v1/about HTTP/1.1\r\nHost: local")
                done += 1
        check(descriptors(broker.process) < 1000, f"{descriptors(broker.process)} descriptors are open")
    deadline = time.monotonic() + 30
    while True:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if ask(port, "/api/v1/about")[0] == 200:
                break
        check(time.monotonic() < deadline, "the inspector does not come back")
        time.sleep(0.1)
    own("topics", "--bootstrap-server", broker.address(), "--list")
    grown = resident(broker.process) - before
    check(grown < 64 << 20, f"the crowd has cost {grown} bytes")


class Inspect(harness.Process):
    """`cordwood inspect` in a process of its own."""

    def __init__(self, folder, name="inspect"):
        super().__init__(os.path.join(folder, f"{name}.log"))

    def start(self, dirs, *options):
        match = self.launch([harness.binary(), "inspect", dirs, "--port", "0", *options], r"is shown at http://[^:]+:(\d+)/(\?token=(\w+))?", 60)
        self.port = int(match.group(1))
        self.token = match.group(3)
        return self


def files_of(directory):
    found = {}
    for at, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(at, name)
            with open(path, "rb") as f:
                found[path] = (os.stat(path).st_mtime_ns, f.read())
    return found


def inspects_directories(folder):
    for golden in sorted(os.listdir(GOLDEN)):
        source = os.path.join(GOLDEN, golden, "data")
        if not os.path.isdir(source):
            continue
        data = os.path.join(folder, golden)
        shutil.copytree(source, data)
        before = files_of(data)
        with Inspect(folder) as inspect:
            inspect.start(data)
            about = get(inspect.port, "/api/v1/about")
            check_equal((about["mode"], about["actions"]), ("directory", False), f"{golden}: about")
            topics = get(inspect.port, "/api/v1/topics?limit=500")["rows"]
            check(topics or golden == "fresh-formatted", f"{golden} has no topic")
            for topic in topics:
                for partition in get(inspect.port, f"/api/v1/topics/{topic['name']}")["partitions"]:
                    if partition["state"] in ("missing", "deleted", "future"):
                        continue
                    path = f"/api/v1/topics/{topic['name']}/partitions/{partition['partition']}"
                    shown = get(inspect.port, path)
                    check(int(shown["log_end"]) >= int(shown["log_start"]), f"{golden} {path}: {shown}")
                    get(inspect.port, path + f"/records?offset={shown['log_start']}")
                    get(inspect.port, path + "/retention")
                    get(inspect.port, path + "/compaction")
            get(inspect.port, "/api/v1/groups")
            check_equal(post(inspect.port, "/api/v1/topics/x/records", {"headers": []})[0], 403, "a POST to a directory")
            check_equal(inspect.stop(), 0, f"{golden}: exit code")
        check_equal(files_of(data).keys(), before.keys(), f"{golden}: the files")
        check(files_of(data) == before, f"{golden}: a file was changed")


def inspects_a_damaged_directory(folder):
    data = os.path.join(folder, "damaged")
    shutil.copytree(os.path.join(GOLDEN, "plain", "data"), data)
    partition = next(name for name in os.listdir(data) if name.startswith("g-plain"))
    log = os.path.join(data, partition, "00000000000000000000.log")
    with open(log, "r+b") as f:
        f.seek(os.path.getsize(log) // 2)
        f.write(b"\xff" * 200)
    os.makedirs(os.path.join(data, "no-segments-0"))
    os.makedirs(os.path.join(data, "lost+found"))
    with open(os.path.join(data, "recovery-point-offset-checkpoint"), "w", encoding="ascii") as f:
        f.write("0\n1\nnonsense\n")
    with open(os.path.join(data, "meta.properties"), "w", encoding="ascii") as f:
        f.write("half")
    with Inspect(folder) as inspect:
        inspect.start(data)
        warnings = get(inspect.port, "/api/v1/about")["warnings"]
        check(len(warnings) >= 2, f"warnings: {warnings}")
        names = {row["name"] for row in get(inspect.port, "/api/v1/topics")["rows"]}
        check_equal(names, {"g-plain", "no-segments"}, "topics")
        check_equal(ask(inspect.port, "/api/v1/topics/g-plain/partitions/0")[0], 200, "the damaged partition")
        check(ask(inspect.port, "/api/v1/topics/no-segments/partitions/0")[0] in (200, 404), "the empty one")
        # It goes away while it is shown.
        shutil.rmtree(data)
        time.sleep(2.5)
        check_equal(ask(inspect.port, "/api/v1/topics")[0], 200, "the topics of a directory that is gone")
        ask(inspect.port, "/api/v1/topics/g-plain/partitions/0")
        check(any("not of now" in w for w in get(inspect.port, "/api/v1/about")["warnings"]), "a warning of that")
        check_equal(inspect.stop(), 0, "exit code")


def refuses_foreign_directories(folder):
    for words, expected in [([os.path.join(folder, "nowhere")], "nowhere"), ([harness.ROOT + "/src"], "is no log directory"),
                            ([os.path.join(GOLDEN, "plain/data"), "--port", "99999"], "no port"),
                            ([os.path.join(GOLDEN, "plain/data"), "--token", "a b"], "token")]:
        done = subprocess.run([harness.binary(), "inspect", *words], capture_output=True, text=True, timeout=60, check=False)
        check_equal(done.returncode, 1, f"inspect {words}: {done.stdout} {done.stderr}")
        check(expected in done.stderr, f"inspect {words}: {done.stderr}")


def demands_a_token(folder):
    with Inspect(folder) as inspect:
        inspect.start(os.path.join(GOLDEN, "plain/data"), "--listen", "0.0.0.0")
        check(inspect.token, f"no token was made: {inspect.output()}")
        check_equal(ask(inspect.port, "/api/v1/about")[0], 401, "without the token")
        check_equal(ask(inspect.port, "/api/v1/about", headers={"Authorization": f"Bearer {inspect.token}"})[0], 200, "with the token")
        check_equal(ask(inspect.port, "/api/v1/about", headers={"Authorization": f"Bearer {inspect.token}", "Host": "any.example"})[0], 200,
                    "with the token, under any name")
        status, headers, _ = ask(inspect.port, f"/?token={inspect.token}")
        check_equal((status, headers["Location"]), (303, "/"), "the address that was printed")
        cookie = headers["Set-Cookie"].split(";")[0]
        check_equal(ask(inspect.port, "/api/v1/about", headers={"Cookie": cookie})[0], 200, "with the cookie")
        check_equal(ask(inspect.port, "/live")[0], 200, "/live")


def lives_with_a_taken_port(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run([harness.binary(), "broker", "--override", f"log.dirs={folder}/taken", "--override", "listeners=PLAINTEXT://127.0.0.1:0",
                               "--override", f"cordwood.inspector.listener=127.0.0.1:{port}"], capture_output=True, text=True, timeout=60, check=False)
        check_equal(done.returncode, 1, f"a port that is named and taken: {done.stdout}{done.stderr}")
        check("is taken" in done.stderr, done.stderr)
        check(not os.path.exists(f"{folder}/taken"), "the data was touched")
    with harness.Cordwood(folder, name="none", log_dirs=[f"{folder}/none"], overrides={"cordwood.inspector.listener": ""}) as broker:
        broker.start()
        check("inspector at" not in broker.output(), f"an inspector that nobody wants: {broker.output()}")
        check_equal(broker.stop(), 0, "exit code")
    # The default one: the second broker goes on without.
    with harness.Cordwood(folder, name="first", log_dirs=[f"{folder}/first"]) as first, \
            harness.Cordwood(folder, name="second", log_dirs=[f"{folder}/second"]) as second:
        first.start()
        second.start()
        check("inspector at" not in second.output(), second.output())
        check(not re.search(r"WARN|ERROR", second.output()), second.output())


def is_not_ready_while_it_stops(broker, port):
    """From the signal on, /ready never says again that all is well."""
    broker.process.send_signal(signal.SIGTERM)
    with contextlib.suppress(OSError, http.client.HTTPException):
        while broker.process.poll() is None:
            status = ask(port, "/ready")[0]
            if status == 503:
                break
    check_equal(broker.process.wait(60), 0, "exit code")


def main():
    os.environ["CORDWOOD_BINARY"] = os.path.abspath(harness.binary())
    parts = sys.argv[1:]
    with harness.workspace("inspector") as folder:
        if not parts or "broker" in parts:
            settings = {"cordwood.inspector.listener": "127.0.0.1:0", "cordwood.inspector.actions": "true", "group.initial.rebalance.delay.ms": "0"}
            with harness.Cordwood(folder, overrides=settings) as broker:
                broker.start()
                port = inspector_port(broker)
                looks_at_a_broker(broker, port)
                acts(port)
                tells_events(broker, port)
                has_metrics(port)
                keeps_others_out(port)
                survives_a_crowd(broker, port)
                is_not_ready_while_it_stops(broker, port)
                check(not re.search(r"\b(WARN|ERROR)\b", broker.output()), f"the broker complains: {broker.output()[-2000:]}")
        if not parts or "ports" in parts:
            lives_with_a_taken_port(folder)
        if not parts or "directories" in parts:
            refuses_foreign_directories(folder)
            demands_a_token(folder)
            inspects_a_damaged_directory(folder)
            inspects_directories(folder)


if __name__ == "__main__":
    harness.run(main)
