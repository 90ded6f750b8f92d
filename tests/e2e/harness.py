"""What the end-to-end and differential tests share: brokers as processes, and a folder that goes away.

Cordwood and Apache Kafka are started with the same class interface, so that a test can be run against either.
Environment: CORDWOOD_BINARY (the broker), CORDWOOD_KAFKA_LIBS (Apache Kafka's jars), CORDWOOD_VENV, CORDWOOD_NODE.
"""
import contextlib
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def binary():
    return os.path.abspath(os.environ.get("CORDWOOD_BINARY", os.path.join(ROOT, "build/release/cordwood")))


def kafka_libs():
    libs = os.environ.get("CORDWOOD_KAFKA_LIBS", os.path.join(ROOT, "build/tools/kafka-libs"))
    if not os.path.isdir(libs):
        sys.exit(f"no Apache Kafka in {libs}: run ./dev test, or set CORDWOOD_KAFKA_LIBS")
    return libs


def python_with_clients():
    return os.path.join(os.environ.get("CORDWOOD_VENV", os.path.join(ROOT, "build/tools/venv")), "bin/python")


def node_modules():
    return os.path.join(os.environ.get("CORDWOOD_NODE", os.path.join(ROOT, "build/tools/node")), "node_modules")


def free_port():
    """None that the kernel gives to connections of clients: while a broker is down, one that calls again and again would be given
    the very port that it calls, and be connected with itself."""
    while True:
        port = random.randrange(12000, 32000)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


@contextlib.contextmanager
def workspace(name):
    """A folder that is removed afterwards; kept, and named, when the test fails."""
    folder = tempfile.mkdtemp(prefix=f"cordwood-{name}-")
    try:
        yield folder
    except BaseException:
        print(f"the files of this test are kept in {folder}", file=sys.stderr)
        raise
    shutil.rmtree(folder, ignore_errors=True)


class TestFailure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise TestFailure(message)


def check_equal(got, expected, message):
    if got != expected:
        raise TestFailure(f"{message}: got {str(got)[:600]}, expected {str(expected)[:600]}")


class Process:
    """A broker in a process of its own; its output goes to `log`."""

    def __init__(self, log):
        self.log = log
        self.process = None
        self.port = None

    def output(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def address(self):
        return f"127.0.0.1:{self.port}"

    def launch(self, command, ready, seconds, env=None):
        offset = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=env, cwd=os.path.dirname(self.log))
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with open(self.log, encoding="utf-8", errors="replace") as f:
                f.seek(offset)
                text = f.read()
            match = re.search(ready, text)
            if match:
                return match
            if self.process.poll() is not None:
                raise TestFailure(f"{command[0]} ended with {self.process.returncode} before it was ready:\n{text[-3000:]}")
            time.sleep(0.005)
        raise TestFailure(f"{command[0]} was not ready after {seconds} s:\n{self.output()[-3000:]}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, seconds=60):
        """SIGTERM; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise TestFailure(f"did not stop within {seconds} s:\n{self.output()[-2000:]}") from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is not None and self.process.poll() is None:
            self.kill()


class Cordwood(Process):
    def __init__(self, folder, log_dirs=None, overrides=None, port=0, name="cordwood"):
        super().__init__(os.path.join(folder, f"{name}.log"))
        self.dirs = log_dirs or [os.path.join(folder, "data")]
        self.overrides = overrides or {}
        self.wanted_port = port

    def start(self, seconds=60):
        settings = {"log.dirs": ",".join(self.dirs), "listeners": f"PLAINTEXT://127.0.0.1:{self.wanted_port}",
                    **self.overrides}
        command = [binary(), "broker"]
        for key, value in settings.items():
            command += ["--override", f"{key}={value}"]
        match = self.launch(command, r"ready in .*?PLAINTEXT://127\.0\.0\.1:(\d+).*\n", seconds)
        self.port = int(match.group(1))
        return self


JAVA = ["java", "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
QUIET = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]


class Kafka(Process):
    """Apache Kafka 4.4.0, combined broker and controller, on a directory that is formatted already (or see format)."""

    def __init__(self, folder, log_dirs=None, overrides=None, name="kafka"):
        super().__init__(os.path.join(folder, f"{name}.log"))
        self.folder = folder
        self.name = name
        self.dirs = log_dirs or [os.path.join(folder, "data")]
        self.overrides = overrides or {}

    def write_properties(self):
        self.port = self.port or free_port()
        self.controller_port = controller = free_port()
        settings = {
            "node.id": "1", "process.roles": "broker,controller", "log.dirs": ",".join(self.dirs),
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
            "offsets.topic.replication.factor": "1", "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1", "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1", "group.initial.rebalance.delay.ms": "0", **self.overrides}
        path = os.path.join(self.folder, f"{self.name}.properties")
        with open(path, "w", encoding="ascii") as f:
            f.writelines(f"{k}={v}\n" for k, v in settings.items())
        return path

    def format(self, cluster_id="Q29yZHdvb2RUZXN0MDAwMQ", release="4.0-IV3"):
        path = self.write_properties()
        done = subprocess.run([*JAVA, *QUIET, "-cp", f"{kafka_libs()}/*", "kafka.tools.StorageTool", "format", "--standalone",
                               "-t", cluster_id, "-c", path, "--release-version", release], capture_output=True, text=True)
        check_equal(done.returncode, 0, f"kafka-storage format: {done.stdout} {done.stderr}")
        return self

    def start(self, seconds=120):
        path = self.write_properties()
        self.launch([*JAVA, "-Dorg.slf4j.simpleLogger.defaultLogLevel=info", "-cp", f"{kafka_libs()}/*", "kafka.Kafka", path],
                    r"Kafka Server started", seconds)
        return self


def java(main, *args, timeout=180, classpath=(), stdin=None):
    """Runs a class of Apache Kafka (or a single .java file of ours) and gives what it printed on stdout."""
    done = subprocess.run([*JAVA, *QUIET, "-cp", ":".join([*classpath, f"{kafka_libs()}/*"]), main, *args],
                          capture_output=True, text=True, timeout=timeout, input=stdin)
    return done


def dump_log(files, *options):
    """kafka-dump-log over the files: stdout and stderr."""
    done = java("org.apache.kafka.tools.DumpLogSegments", "--files", ",".join(files), *options)
    return done.stdout, done.stderr


def run(main):
    """Runs a test's main and turns its outcome into the exit code. A failure does not wait for threads that nobody ends any more."""
    try:
        main()
    except Exception as failure:  # pylint: disable=broad-except
        if isinstance(failure, TestFailure):
            print(f"FAILED: {failure}")
        else:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
    print("passed")
