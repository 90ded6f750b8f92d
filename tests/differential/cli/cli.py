"""The same command lines given to Apache Kafka's tools and to ours: stdout, stderr and exit code must be the same.

  cli.py [-k REGEX] [--file NAME ...] [--brokers kafka|cordwood|both] [--everyday | --slow] [--list] [--show] [--self-test]

Kafka's tool works on one cluster and ours on another that had the same steps before, so commands that change something can be
compared. Both kinds of brokers are asked: a pair of Kafka's and a pair of Cordwood's. The cases are lines in cases/<tool>.txt:

  # a remark
  @topic NAME partitions=N [key=value ...]
  @records TOPIC PARTITION count=N [from=MS] [step=MS]      or one record as JSON: {"key": "k", "value": "v", "timestamp": 1, "headers": [["a", "b"]]}
  @delete_records TOPIC PARTITION before=OFFSET
  @commit GROUP TOPIC:PARTITION:OFFSET[:EPOCH] ... [assigned]     as a consumer that subscribed, or assigned itself partitions
  @member GROUP TOPIC ... [client=ID] [protocol=classic|consumer]  it stays until  @leave GROUP
  @transaction ID [TOPIC PARTITION VALUE]                   left open
  @file NAME CONTENT                                        in the directory of the tools; \\n, \\t, \\r, \\u…
  @wait MS                                                  for what a broker applies after it has answered
  @remove NAME                                              a file or directory there
  @mask REGEX                                               what it finds becomes ‹masked›, in this file
  @only kafka|cordwood: REASON                              the steps and cases that follow, until  @only both
  @everyday ends                                            what follows is left out by --everyday, which ctest has

  ### what the case is about
  $ kafka-topics --bootstrap-server {broker} --list         {dead}: a port where nobody listens
  < a line for its stdin                                    <| the same without the newline
  ! slow                                                    it waits for a minute: only with --slow
  ! kafka: REASON     ! cordwood: REASON                    only towards such a broker
  ! unordered: REASON                                       the lines of a stream may come in any order
  ! differs: REASON                                         on purpose; told when it no longer does
  ! mask REGEX        ! drop REGEX                          here alone; what the second finds is left out
  ! seconds N                                               it runs for ever: ended after so long
  ! with --flag ...                                         words that only ours gets

A line of JSON or of a command that ends in \\ goes on in the next one. What differs from run to run is made equal by normal().
"""
import argparse
import base64
import contextlib
import difflib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "e2e"))
import harness  # noqa: E402

TOOLS = "org.apache.kafka.tools."
MAIN_CLASSES = {
    "kafka-acls": TOOLS + "AclCommand",
    "kafka-broker-api-versions": TOOLS + "BrokerApiVersionsCommand",
    "kafka-cluster": TOOLS + "ClusterTool",
    "kafka-configs": TOOLS + "ConfigCommand",
    "kafka-console-consumer": TOOLS + "consumer.ConsoleConsumer",
    "kafka-console-producer": TOOLS + "ConsoleProducer",
    "kafka-consumer-groups": TOOLS + "consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": TOOLS + "ConsumerPerformance",
    "kafka-delete-records": TOOLS + "DeleteRecordsCommand",
    "kafka-dump-log": TOOLS + "DumpLogSegments",
    "kafka-e2e-latency": TOOLS + "EndToEndLatency",
    "kafka-features": TOOLS + "FeatureCommand",
    "kafka-get-offsets": TOOLS + "GetOffsetShell",
    "kafka-groups": TOOLS + "GroupsCommand",
    "kafka-leader-election": TOOLS + "LeaderElectionCommand",
    "kafka-log-dirs": TOOLS + "LogDirsCommand",
    "kafka-metadata-quorum": TOOLS + "MetadataQuorumCommand",
    "kafka-producer-perf-test": TOOLS + "ProducerPerformance",
    "kafka-reassign-partitions": TOOLS + "reassign.ReassignPartitionsCommand",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-topics": TOOLS + "TopicCommand",
    "kafka-transactions": TOOLS + "TransactionsCommand",
}

# Commands of Kafka's that Cordwood does not have, and why: their cases are counted, but not run.
NOT_OURS = {
    "kafka-frobnicate": "no command of Kafka's either: the self-test's",
}


# --- cases ------------------------------------------------------------------------------------------------------------

class Case:
    def __init__(self, file, title, line):
        self.file = file
        self.title = title
        self.line = line
        self.words = []
        self.stdin = ""
        self.marks = {}
        self.everyday = True
        self.masks = []
        self.drops = []
        self.extra = []
        self.seconds = None

    def name(self):
        return f"{self.file}: {self.title}"


def step_of(file, number, words, text):
    """The request to ToolRunner, without the server; or ("file", name, content), ("remove", name), ("wait", ms), ("only", kind), ("everyday ends",)."""
    kind, rest = words[0], words[1:]
    options = dict(word.split("=", 1) for word in rest if re.match(r"^[\w.]+=", word))
    plain = [word for word in rest if not re.match(r"^[\w.]+=", word)]
    if kind == "topic":
        partitions = int(options.pop("partitions", 1))
        return {"step": "topic", "name": plain[0], "partitions": partitions, "configs": options}
    if kind == "records":
        json_at = text.find("{")
        if json_at >= 0:
            records = [json.loads(text[json_at:])]
        else:
            records = [{"value": f"value {i}"} for i in range(int(options["count"]))]
            for i, record in enumerate(records):
                if "from" in options:
                    record["timestamp"] = int(options["from"]) + i * int(options.get("step", "1000"))
        return {"step": "records", "topic": plain[0], "partition": int(plain[1]), "records": records}
    if kind == "delete_records":
        return {"step": kind, "topic": plain[0], "partition": int(plain[1]), "before": int(options["before"])}
    if kind == "commit":
        offsets = [[t, *map(int, numbers)] for t, *numbers in (w.split(":") for w in plain[1:] if w != "assigned")]
        return {"step": kind, "group": plain[0], "offsets": offsets, "subscribed": "assigned" not in plain}
    if kind == "member":
        step = {"step": kind, "group": plain[0], "topics": plain[1:], "client": options.get("client", "console-consumer"),
                "protocol": options.get("protocol", "classic")}
        return {**step, **({"instance": options["instance"]} if "instance" in options else {})}
    if kind == "leave":
        return {"step": kind, "group": plain[0]}
    if kind == "transaction":
        records = [{"value": plain[3]}] if len(plain) > 3 else []
        where = {"topic": plain[1], "partition": int(plain[2])} if len(plain) > 2 else {}
        return {"step": kind, "transactional_id": plain[0], "records": records, **where}
    if kind == "file":
        name, _, content = text.partition(" ")[2].partition(" ")
        return ("file", name, content.encode().decode("unicode_escape").encode("latin-1", "backslashreplace").decode("utf-8", "replace"))
    if kind == "remove":
        return ("remove", plain[0])
    if kind == "wait":
        return ("wait", int(plain[0]))
    if kind == "only":
        return ("only", plain[0].rstrip(":"))
    if kind == "everyday":  # "@everyday ends"
        return ("everyday ends",)
    sys.exit(f"{file}:{number}: no step '{kind}'")


def logical_lines(path):
    with open(path, encoding="utf-8") as f:
        number, begun = 0, None
        for i, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if begun is None:
                number, begun = i, line
            else:
                begun += line.lstrip()
            if begun[:1] in "@$" and begun.endswith("\\"):
                begun = begun[:-1]
                continue
            yield number, begun
            begun = None


def read_cases(path):
    """The file's steps and cases in order."""
    file = os.path.basename(path)[:-len(".txt")]
    items, title, masks, case, everyday = [], None, [], None, True
    for number, line in logical_lines(path):
        if line.startswith("### "):
            title, case = line[4:], None
        elif line.startswith("@mask "):
            masks.append(line[len("@mask "):])
        elif line.startswith("@"):
            case = None
            items.append(step_of(file, number, line[1:].split(), line[1:]))
            if items[-1] == ("everyday ends",):
                items.pop()
                everyday = False
        elif line.startswith("$ "):
            case = Case(file, title or line[2:], number)
            case.words = shlex.split(line[2:])
            case.masks = list(masks)
            case.everyday = everyday
            items.append(case)
        elif line.startswith("<|"):
            case.stdin += line[2:]
        elif line.startswith("<"):
            case.stdin += line[1:].removeprefix(" ") + "\n"
        elif line.startswith("! ") and case is None:
            sys.exit(f"{path}:{number}: a mark before any case")
        elif line.startswith("! "):
            key, _, value = line[2:].partition(" ")
            if key == "mask":
                case.masks.append(value)
            elif key == "drop":
                case.drops.append(value)
            elif key == "seconds":
                case.seconds = int(value)
            elif key == "with":
                case.extra = value.split()
            elif key.rstrip(":") in ("slow", "kafka", "cordwood", "unordered", "differs"):
                if not value and key != "slow":
                    sys.exit(f"{path}:{number}: '{key}' needs a reason")
                case.marks[key.rstrip(":")] = value or "slow"
            else:
                sys.exit(f"{path}:{number}: no mark '{key}'")
        elif line and not line.startswith("#"):
            sys.exit(f"{path}:{number}: what is '{line}'?")
    return items


# --- what differs from run to run -------------------------------------------------------------------------------------

OPTION_TABLE = re.compile(r"^(Option\s+(\(\* = required\)\s+)?Description|options:|usage: |  (-\w, )?--[a-z])")
COMMON = [
    (r"\b(perf-consumer|console-consumer)-\d+\b(?!-[0-9a-f]{4}-)", r"\1-‹n›"),
    (r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\]", "[‹time›]"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "‹uuid›"),
    (r"(?<![\w./-])[A-Za-z0-9_-]{22}(?![\w-])", lambda m: "‹id›" if re.search(r"[A-Z0-9]", m.group()) and re.search("[a-z]", m.group()) else m.group()),
    (r"\b1(?!700000)[789]\d{11}\b", "‹now›"),
    (r"(clientId=(?:adminclient|producer|consumer)(?:-[\w.-]*?)?)-\d+\b", r"\1-‹n›"),
    (r"\bclientId=admin-\d+\b", "clientId=admin-‹n›"), (r"\b(adminclient|producer|consumer-[\w.-]+)-\d+\b", r"\1-‹n›"),
    (r"with correlation id \d+", "with correlation id ‹n›"),  # counts the requests of Java's client
    (r"tries=\d+", "tries=‹n›"), (r"after \d+ attempt\(s\)", "after ‹n› attempt(s)"),
    (r"(deadlineMs|nextAllowedTryMs)=\d+", r"\1=‹n›"), (r"timed out at \d+", "timed out at ‹n›"),
    (r"[0-9a-f]{3,16}(?=\) ?:)", lambda m: m.group()),
    (r"(\.[A-Z]\w+(?:\$\d+|\$\$Lambda\S*?)?)@[0-9a-f]{4,8}\b", r"\1@‹hash›"),
]


# Lists that Kafka's tools make of sets whose order changes with every process.
SETS = [r"takes (?:one of these|the following) options: (.*)$", r"takes at most one of these options: (.*)$",
        r"requires one of the following scenarios: \[(.*)\]$", r"only accepts one of (.*)$", r"Valid (?:states|types) are: (.*)$",
        r"^SCRAM credential configs for user-principal '.*' are (.*)$",  # the broker's
        r"Option\(s\) \[(.*)\] are unavailable", r'^Option combination "\[(.*)\]" can\'t be used']


def with_sorted_sets(text):
    for pattern in SETS:
        text = re.sub(pattern, lambda m: m.group().replace(m.group(1), ", ".join(sorted(re.split(r", | and ", m.group(1))))), text, flags=re.M)
    return text


def without_frames(text):
    lines = [line for line in text.split("\n") if not re.match(r"^\s+(at \S+\(.*\)|\.\.\. \d+ (more|common frames omitted))$", line)]
    return "\n".join(lines)


def without_option_help(text, asks_for_help):
    """Option tables and usage blocks are ours in form: only that and where they stand is compared."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if not OPTION_TABLE.match(line):
            continue
        if asks_for_help:
            return "‹help›\n"
        error = next((j for j in range(i, len(lines)) if re.match(r"^\S+:\s+error:", lines[j])), None)
        if line.startswith("usage: ") and error is not None:
            end = next((j for j in range(error, len(lines)) if lines[j] == ""), len(lines))
            said = re.sub(r"\s", "", "".join(lines[error:end]))  # broken at 75 columns and justified
            return "\n".join([*lines[:i], "‹usage lines›", said, *lines[end:]])
        return "\n".join([*lines[:i], "‹option help›", ""])
    return text


def collapsed(text):
    """Lines of the log that repeat, each with the exception below it: how often depends on time."""
    entries = []
    for line in text.split("\n"):
        of_log = entries and entries[-1].startswith("[‹time›]")
        exception = re.match(r"(org\.apache\.kafka|java)\.[\w.$]+(Exception|Error)\b", line)
        if of_log and (line.startswith("Caused by: ") or exception and "\n" not in entries[-1]):
            entries[-1] += "\n" + line
        else:
            entries.append(line)
    kept = []
    for entry in entries:
        if not (entry.startswith("[‹time›]") and entry in kept[-4:]):
            kept.append(entry)
    return "\n".join(kept)


def normal(text, side, case):
    if "unordered" in case.marks:
        text = text.replace("}{", "}\n{")  # formatters of internal topics end no lines
    for port, name in side.ports:
        text = re.sub(rf"\b{port}\b", name, text)
    for folder in side.folders:
        text = text.replace(folder, "‹dir›")
    for pattern, by in COMMON:
        text = re.sub(pattern, by, text, flags=re.M)
    for pattern in case.drops:
        text = re.sub(pattern, "", text, flags=re.M)
    for pattern in case.masks:
        text = re.sub(pattern, "‹masked›", text, flags=re.M)
    text = with_sorted_sets(text)
    asks = "--help" in case.words or "-h" in case.words or len(case.words) == 1
    text = collapsed(without_option_help(without_frames(text), asks))
    if "unordered" in case.marks:
        text = "\n".join(sorted(text.split("\n")))
    return text


# --- the two sides ----------------------------------------------------------------------------------------------------

class NoAnswer(Exception):
    pass


class JavaProcess:
    """A process of java/ToolRunner.java."""

    def __init__(self, classes, directory, log):
        self.process = subprocess.Popen([*harness.JAVA, "-Djava.security.manager=allow", "-cp", f"{classes}:{harness.kafka_libs()}/*", "ToolRunner"], cwd=directory,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        self.lock = threading.Lock()
        self.answers = {}
        self.ready = threading.Condition()
        self.next_id = 0
        threading.Thread(target=self.read_answers, daemon=True).start()

    def read_answers(self):
        for line in self.process.stdout:
            answer = json.loads(line)
            with self.ready:
                self.answers[answer["id"]] = answer
                self.ready.notify_all()
        with self.ready:
            self.answers = None
            self.ready.notify_all()

    def ask(self, request, seconds):
        with self.lock:
            self.next_id += 1
            request = {**request, "id": self.next_id}
            try:
                self.process.stdin.write(json.dumps(request).encode() + b"\n")
                self.process.stdin.flush()
            except OSError as e:
                raise NoAnswer(f"the Java process has ended: {e}") from None
        with self.ready:
            done = self.ready.wait_for(lambda: self.answers is None or request["id"] in self.answers, seconds)
            if self.answers is None:
                raise NoAnswer("the Java process has ended")
            if not done:
                raise NoAnswer(f"no answer after {seconds} s")
            answer = self.answers.pop(request["id"])
        if "failure" in answer:
            raise NoAnswer(answer["failure"])
        return answer

    def kill(self):
        self.process.kill()
        self.process.wait()


class KafkasTools:
    """Kafka's tools, in a Java process that is replaced when it answers no more or when threads of ended tools pile up in it;
    and another process for the steps, since the members and transactions of those must outlive any tool."""

    MOST_LEFT_THREADS = 6

    def __init__(self, folder):
        self.classes = os.path.join(folder, "classes")
        os.makedirs(self.classes)
        sources = [os.path.join(d, f) for d, _, files in os.walk(os.path.join(HERE, "java")) for f in files if f.endswith(".java")]
        done = subprocess.run(["javac", "-nowarn", "-Xlint:none", "-cp", f"{harness.kafka_libs()}/*", "-d", self.classes, *sources],
                              capture_output=True, text=True)
        harness.check_equal(done.returncode, 0, f"javac: {done.stderr}")
        self.directory = os.path.join(folder, "kafkas")
        os.makedirs(self.directory)
        self.log = open(os.path.join(folder, "runner.log"), "wb")
        self.steps = self.start()
        self.tools = self.start()
        self.left = []

    def start(self):
        return JavaProcess(self.classes, self.directory, self.log)

    def step(self, server, step):
        try:
            self.steps.ask({**step, "server": server}, 120)
        except NoAnswer as e:
            raise harness.TestFailure(f"the step {json.dumps(step)[:300]} failed: {e}") from None

    def replace_tools(self):
        self.tools.kill()
        self.tools = self.start()
        self.left = []

    def run(self, words, stdin, seconds, again=True):
        try:
            answer = self.tools.ask({"main": MAIN_CLASSES[words[0]], "args": words[1:], "seconds": seconds,
                                     "stdin": base64.b64encode(stdin.encode()).decode()}, seconds + 30)
        except NoAnswer as e:
            self.replace_tools()
            return f"none: {e}", "", ""
        self.left += answer["left"]
        if len(self.left) > self.MOST_LEFT_THREADS:
            self.replace_tools()
        out, err = (base64.b64decode(answer[stream]).decode(errors="replace") for stream in ("out", "err"))
        if "NoClassDefFoundError: Could not initialize class" in err and again:
            # A thread that had to be stopped was initializing that class, which this process has lost.
            self.replace_tools()
            return self.run(words, stdin, seconds, again=False)
        return answer["code"], out, err

    def close(self):
        self.steps.kill()
        self.tools.kill()
        self.log.close()


class OwnTools:
    def __init__(self, folder):
        self.directory = os.path.join(folder, "ours")
        self.links = os.path.join(folder, "bin")
        os.makedirs(self.directory)
        os.makedirs(self.links)
        subprocess.run([os.path.abspath(harness.binary()), "install-links", self.links], check=True, capture_output=True)

    def knows(self, tool):
        return os.path.lexists(os.path.join(self.links, tool))

    def run(self, words, stdin, seconds):
        command = [os.path.join(self.links, words[0]), *words[1:]]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.directory)
        try:
            out, err = process.communicate(stdin.encode(), timeout=seconds)
            code = process.returncode
        except subprocess.TimeoutExpired:
            process.terminate()  # as ToolRunner does: the hooks of SIGTERM run
            code = None
            try:
                out, err = process.communicate(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
                err += b"not ended by SIGTERM\n"
        return code, out.decode(errors="replace"), err.decode(errors="replace")


class Side:
    """A broker, the tools that talk to it, and what is this side's own in their output."""

    def __init__(self, tools, broker, dead):
        self.tools = tools
        self.broker = broker
        self.dead = dead
        self.ports = [(broker.port, "‹port›"), (dead, "‹dead›")]
        self.ports.append((getattr(broker, "controller_port", dead), "‹controller›"))
        self.folders = sorted({*broker.dirs, os.path.realpath(tools.directory)}, key=len, reverse=True)

    def fill(self, text):
        return (text.replace("{broker}", f"localhost:{self.broker.port}").replace("{dead}", f"localhost:{self.dead}")
                .replace("{port}", str(self.broker.port))
                .replace("{controller}", f"localhost:{getattr(self.broker, 'controller_port', self.dead)}").replace("{logdir}", self.broker.dirs[0]))

    def write(self, name, content):
        path = os.path.join(self.tools.directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as f:
            f.write(self.fill(content))

    def remove(self, name):
        path = os.path.join(self.tools.directory, name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)

    def wait(self, ms):
        time.sleep(ms / 1000)

    def empty_directory(self):
        for name in os.listdir(self.tools.directory):
            self.remove(name)

    def run(self, case, seconds):
        words = [self.fill(word) for word in case.words] + (case.extra if isinstance(self.tools, OwnTools) else [])
        begun = time.monotonic()
        code, out, err = self.tools.run(words, self.fill(case.stdin), seconds)
        return {"seconds": time.monotonic() - begun, "code": "still running" if code is None else code, "stdout": normal(out, self, case), "stderr": normal(err, self, case)}, (out, err)


def both(function, sides):
    """Both at once; a failure of either is raised here."""
    results, failures = [None, None], []

    def work(i):
        try:
            results[i] = function(sides[i])
        except BaseException as e:  # noqa: BLE001 - handed on below
            failures.append(e)
    threads = [threading.Thread(target=work, args=(i,)) for i in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return results


# --- comparing --------------------------------------------------------------------------------------------------------

def difference(kafkas, ours):
    """Readable; empty when there is none."""
    said = []
    if kafkas["code"] != ours["code"]:
        said.append(f"  exit code: Kafka's {kafkas['code']}, ours {ours['code']}")
    for stream in ("stdout", "stderr"):
        if kafkas[stream] == ours[stream]:
            continue
        a, b = (f"{text}⊣" if text and not text.endswith("\n") else text for text in (kafkas[stream], ours[stream]))
        diff = difflib.unified_diff(a.rstrip("\n").split("\n") + ([""] if a.endswith("\n\n") else []),
                                    b.rstrip("\n").split("\n") + ([""] if b.endswith("\n\n") else []),
                                    f"Kafka's {stream}", f"our {stream}", lineterm="", n=2)
        said += [f"  {line}".replace("\t", "⇥") for line in list(diff)[:60]]
    return "\n".join(said)


class Comparison:
    def __init__(self, arguments, runner, own):
        self.arguments = arguments
        self.runner = runner
        self.own = own
        self.counts = {}
        self.failures = []
        self.found = {}  # in the file at hand
        self.times = []

    def note(self, kind, file, verdict):
        self.counts.setdefault((file, kind), {}).setdefault(verdict, 0)
        self.counts[(file, kind)][verdict] += 1

    def selected(self, case):
        if "slow" in case.marks and not self.arguments.slow or self.arguments.everyday and not case.everyday:
            return False
        return not self.arguments.k or re.search(self.arguments.k, case.name())

    def run_file(self, path, items, kind, sides):
        """All of the file. When something differs, all of it once more: what then does not differ again is told as chance (the
        order of a map in a JVM, a metadata epoch), and is no failure."""
        file = os.path.basename(path)[:-len(".txt")]
        once = self.attempt(file, items, kind, sides)
        if not once:
            return
        counted = self.counts.pop((file, kind))
        twice = self.attempt(file, items, kind, sides)
        self.counts[(file, kind)] = counted
        for name, (verdict, told) in once.items():
            if name in twice:
                self.failures.append(told)
                continue
            print(f"{name}: did not differ when it was run again", flush=True)
            counted[verdict] -= 1
            counted["by chance"] = counted.get("by chance", 0) + 1

    def attempt(self, file, items, kind, sides):
        """What differs, by its name. A step that fails ends the file, and counts as a difference."""
        self.found = {}
        try:
            self.run_items(items, kind, sides)
        except harness.TestFailure as e:
            self.note(kind, file, "different")
            self.found_difference(f"{file}, a step [{kind} brokers]", "different", str(e))
        return self.found

    def found_difference(self, name, verdict, told):
        self.found[name] = (verdict, f"{name}: {told}")
        print(self.found[name][1], flush=True)

    def run_items(self, items, kind, sides):
        cases = [i for i, item in enumerate(items) if isinstance(item, Case) and self.selected(item)]
        if not cases:
            return
        both(lambda side: (self.runner.step(side.broker.address(), {"step": "clean"}), side.empty_directory()), sides)
        only = "both"
        for item in items[:cases[-1] + 1]:
            if isinstance(item, tuple) and item[0] == "only":
                only = item[1]
            elif only not in ("both", kind):
                continue
            elif isinstance(item, tuple):
                both(lambda side, item=item: getattr(side, {"file": "write"}.get(item[0], item[0]))(*item[1:]), sides)
            elif isinstance(item, dict):
                both(lambda side, item=item: self.runner.step(side.broker.address(), item), sides)
            elif not {"kafka", "cordwood"} & item.marks.keys() or kind in item.marks:
                self.run_case(item, kind, sides)

    def run_case(self, case, kind, sides):
        selected = self.selected(case)
        if "slow" in case.marks and not selected:
            return
        tool = case.words[0]
        if tool in NOT_OURS and not self.own.knows(tool):
            if selected:
                self.note(kind, case.file, "not ours")
            return
        begun = time.monotonic()
        (kafkas, raw_kafkas), (ours, raw_ours) = both(lambda side: side.run(case, case.seconds or 100), sides)
        if not selected:
            return
        self.times.append((time.monotonic() - begun, f"{case.name()} [{kind}]"))
        told = difference(kafkas, ours)
        if "slow" in case.marks and abs(kafkas["seconds"] - ours["seconds"]) > 15:
            told += f"\n  Kafka's took {kafkas['seconds']:.0f} s, ours {ours['seconds']:.0f} s"
        if not case.seconds and kafkas["code"] == "still running" == ours["code"]:
            told += "\n  both were still running after 100 s: say  ! seconds N  if they should be"
        if "differs" in case.marks:
            verdict = "differs on purpose" if told else "equal after all"
        else:
            verdict = "different" if told else "equal"
        self.note(kind, case.file, verdict)
        if self.arguments.show:
            print(f"--- {case.name()} [{kind}] {time.monotonic() - begun:.1f} s\n$ {shlex.join(case.words)}")
            print(f"Kafka's: {kafkas['code']}\n{raw_kafkas[0]}\n[stderr]\n{raw_kafkas[1]}\nours: {ours['code']}\n{raw_ours[0]}\n[stderr]\n{raw_ours[1]}")
        if verdict == "equal after all":
            told = f"  is marked as different ({case.marks['differs']}) and no longer is"
        if verdict in ("different", "equal after all"):
            self.found_difference(f"{case.name()} [{kind} brokers]  cases/{case.file}.txt:{case.line}", verdict,
                                  f"\n  $ {shlex.join(case.words)}\n{told}")

    def report(self):
        verdicts = ["equal", "different", "by chance", "differs on purpose", "equal after all", "not ours"]
        rows = [["", "brokers", *verdicts]]
        total = [0] * len(verdicts)
        for (file, kind), counts in sorted(self.counts.items()):
            numbers = [counts.get(v, 0) for v in verdicts]
            total = [a + b for a, b in zip(total, numbers)]
            rows.append([file, kind, *map(str, numbers)])
        rows.append(["all", "", *map(str, total)])
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        for row in rows:
            print("  ".join(cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))))
        for seconds, name in sorted(self.times, reverse=True)[:5]:
            if seconds > 3:
                print(f"slow: {seconds:.0f} s  {name}")
        return bool(self.failures)


@contextlib.contextmanager
def brokers(kind, folder):
    with contextlib.ExitStack() as stack:
        pair = []
        for number in (1, 2):
            home = os.path.join(folder, f"{kind}{number}")
            os.makedirs(home)
            if kind == "kafka":
                broker = harness.Kafka(home, overrides={"offsets.topic.num.partitions": "4", "transaction.state.log.num.partitions": "4",
                                                        "log.index.size.max.bytes": "65536"})
                broker.format(release="4.4-IV2")
            else:
                broker = harness.Cordwood(home, overrides={"group.initial.rebalance.delay.ms": "0"})
            pair.append(stack.enter_context(broker))
        both(lambda broker: broker.start(), pair)
        yield pair


def compare(arguments, paths):
    files = [read_cases(path) for path in paths]
    folder = tempfile.mkdtemp(prefix="cordwood-cli-")
    runner, own = KafkasTools(folder), OwnTools(folder)
    comparison = Comparison(arguments, runner, own)
    try:
        for kind in ("kafka", "cordwood"):
            if arguments.brokers not in (kind, "both"):
                continue
            dead = harness.free_port()
            with brokers(kind, folder) as pair:
                sides = [Side(runner, pair[0], dead), Side(own, pair[1], dead)]
                warmed = {"step": "warm_up", "transactions": kind == "kafka"}
                both(lambda side: runner.step(side.broker.address(), warmed), sides)
                # Java loads the classes of a consumer for seconds, and cases wait for no more than some seconds.
                for broker in pair:
                    runner.run(["kafka-console-consumer", "--bootstrap-server", broker.address(), "--topic", "warm", "--from-beginning",
                                "--max-messages", "1", "--timeout-ms", "20000"], "", 60)
                for path, items in zip(paths, files):
                    comparison.run_file(path, items, kind, sides)
    finally:
        runner.close()
        if arguments.keep:
            print(f"files: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return comparison


def self_test(arguments):
    """A difference must be found, told, and counted; and what varies must not be one."""
    class Fake:
        ports, folders = [(12345, "‹port›")], ["/tmp/x"]
    case = Case("self", "test", 1)
    case.words = ["kafka-topics", "--list"]

    def equal(a, b):
        return normal(a, Fake, case) == normal(b, Fake, case)
    harness.check(equal("at localhost:12345 (/tmp/x/a)\n\tat a.b(C.java:1)\n", "at localhost:12345 (/tmp/x/a)\n"), "stack frames")
    harness.check(equal("m\nOption   Description\n------\n--a\n", "m\n  -a, --abc X  words\n"), "option tables")
    harness.check(equal("usage: a [-h]\n  b\na:  error:  x   y --\nz\n", "usage: a c\na: error: x y --z\n"), "justified mistakes")
    harness.check(not equal("usage: a\na: error: x\n", "usage: a\na: error: y\n"), "another mistake")
    harness.check(equal("[2026-11-29 22:17:20,123] WARN a\n[2026-11-29 22:17:21,123] WARN a\n", "[2027-11-29 22:17:20,000] WARN a\n"), "times")
    harness.check(not equal("a\nb\n", "b\na\n") and not equal("a\n", "a"), "order and ends of lines")
    harness.check(not equal("1700000000001", "1700000000002") and equal("1795992448549", "1795992448550"), "times of records and now")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "self.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.write("### code and text\n$ kafka-topics --version\n! with --frobnicate\n### same\n$ kafka-topics --version\n"
                    "### no longer\n$ kafka-topics --version\n! differs: it does not\n### absent\n$ kafka-frobnicate --version\n"
                    "@topic a\n### still running\n$ kafka-console-consumer --bootstrap-server {broker} --topic a\n! seconds 5\n"
                    "! drop ^Processed a total of .*\\n\n"  # said or not said before the process has ended
                    "@everyday ends\n### not run\n$ kafka-topics --version\n! with --frobnicate\n")
        arguments.brokers, arguments.everyday = "cordwood", True
        comparison = compare(arguments, [path])
    counts = comparison.counts[("self", "cordwood")]
    harness.check_equal(counts, {"different": 1, "equal": 2, "equal after all": 1, "not ours": 1}, "verdicts")
    harness.check(comparison.report(), "a difference must make the run fail")
    with tempfile.TemporaryDirectory() as folder:
        tools = KafkasTools(folder)
        tools.tools.kill()
        code, _, _ = tools.run(["kafka-topics", "--version"], "", 60)
        harness.check(str(code).startswith("none: "), f"a process that has ended: {code}")
        harness.check_equal(tools.run(["kafka-topics", "--version"], "", 60), (0, "4.4.0\n", ""), "its successor")
        tools.close()
    print("self-test: differences are found")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    os.environ["CORDWOOD_BINARY"] = os.path.abspath(harness.binary())
    parser = argparse.ArgumentParser(description="Kafka's tools and ours, compared")
    parser.add_argument("-k", metavar="REGEX", help="only cases whose 'file: title' it matches")
    parser.add_argument("--file", action="append", metavar="NAME", help="only cases/NAME.txt")
    parser.add_argument("--cases", default=os.path.join(HERE, "cases"), help="the directory of the case files")
    parser.add_argument("--brokers", choices=["kafka", "cordwood", "both"], default="both")
    parser.add_argument("--everyday", action="store_true", help="only the beginning of each file")
    parser.add_argument("--slow", action="store_true", help="those that wait for a minute as well")
    parser.add_argument("--list", action="store_true", help="only list the cases")
    parser.add_argument("--show", action="store_true", help="print what both tools say, as it is")
    parser.add_argument("--keep", action="store_true", help="keep the directories")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        self_test(arguments)
        return
    # Transactions first: producer ids are counted, and other commands take some.
    paths = sorted((os.path.join(arguments.cases, name) for name in os.listdir(arguments.cases) if name.endswith(".txt")),
                   key=lambda path: (not path.endswith("kafka-transactions.txt"), path))
    if arguments.file:
        paths = [path for path in paths if os.path.basename(path)[:-len(".txt")] in arguments.file]
    if not paths:
        sys.exit("no such case file")
    if arguments.list:
        for path in paths:
            for case in read_cases(path):
                if isinstance(case, Case):
                    print(f"{case.name()}  {' '.join(case.marks)}")
        return
    begun = time.monotonic()
    comparison = compare(arguments, paths)
    failed = comparison.report()
    print(f"{time.monotonic() - begun:.0f} s")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
