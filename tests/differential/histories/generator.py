"""Makes histories: lists of lines in the language that histories.py describes. The same seed gives the same history."""
import random
import re

# What a history may contain beyond appends, questions and clean stops; each can be left out.
FEATURES = ("retention", "compaction", "damage", "truncation", "unclean", "followers", "legacy")
CODECS = ("gzip", "snappy", "lz4", "zstd")


class Generator:
    def __init__(self, seed, features=FEATURES, length=60):
        self.chance = random.Random(seed)
        self.features = set(features)
        self.length = length
        self.lines = []
        self.producers = {}  # pid -> [epoch, next sequence, in a transaction, the last batch's line]
        self.epoch = 0
        self.open = False
        self.compacted = "compaction" in self.features and self.chance.random() < 0.5
        # Every history has its own taste, so that rare operations meet each other in some.
        self.taste = {}

    def pick(self, *choices):
        return self.chance.choice(choices)

    def say(self, line):
        self.lines.append(line)

    # --- settings ---

    def log_settings(self):
        settings = {
            "segment.bytes": self.pick(400, 700, 1000, 2000, 5000, 1_000_000),
            "index.interval.bytes": self.pick(0, 1, 50, 200, 1000, 4096),
            "segment.index.bytes": self.pick(36, 48, 100, 400, 1000, 4000),
            "segment.ms": self.pick(1000, 10_000, 604_800_000, 604_800_000),
        }
        if self.chance.random() < 0.2:
            settings["flush.messages"] = self.pick(1, 3, 10)
        if self.chance.random() < 0.15:
            settings["message.timestamp.type"] = "LogAppendTime"
        if self.chance.random() < 0.15:
            settings["compression.type"] = self.pick("producer", "uncompressed", *CODECS[:3])
        if "retention" in self.features:
            settings["file.delete.delay.ms"] = self.pick(0, 1000, 60_000)
            if self.chance.random() < 0.6:
                settings["retention.ms"] = self.pick(500, 3000, 20_000)
            if self.chance.random() < 0.5:
                settings["retention.bytes"] = self.pick(0, 500, 1500, 4000)
        if self.compacted:
            settings["cleanup.policy"] = self.pick("compact", "compact", "compact,delete")
            settings["min.cleanable.dirty.ratio"] = self.pick(0.0, 0.01, 0.5)
            settings["delete.retention.ms"] = self.pick(0, 1000, 86_400_000)
            if self.chance.random() < 0.3:
                settings["min.compaction.lag.ms"] = self.pick(100, 2000)
            if self.chance.random() < 0.3:
                settings["max.compaction.lag.ms"] = self.pick(1000, 10_000)
        return settings

    def config(self, settings):
        self.say("config " + " ".join(f"{key}={value}" for key, value in settings.items()))

    # --- operations ---

    def records(self):
        count = self.pick(1, 1, 1, 2, 3, 5)
        keyless = not self.compacted and self.chance.random() < 0.3
        plain_time = self.pick(0, 0, 0, -50, -4000, 30, "none" if self.chance.random() < 0.5 else 0)
        out = []
        for _ in range(count):
            key = "-" if keyless else f"k{self.chance.randrange(8)}"
            size = "-" if self.chance.random() < 0.15 else self.pick(0, 5, 20, 60, self.chance.randrange(200))
            time = plain_time if plain_time == "none" else plain_time + self.pick(0, 0, 1, 7, -3)
            out.append(f"{key}:{size}:{time}")
        return ",".join(out), count

    def body(self, sequenced=True):
        records, count = self.records()
        # The cleaner compresses anew, and two zstd libraries do not make the same bytes; those of the other codecs do.
        codecs = CODECS[:3] if self.compacted else CODECS
        codec = f" codec={self.pick(*codecs)}" if self.chance.random() < 0.25 else ""
        producer = self.producer_fields(count) if sequenced and self.chance.random() < self.taste["producers"] else ""
        return f"seed={self.chance.randrange(1000)}{codec}{producer} records={records}"

    def producer_fields(self, count):
        pid = self.chance.randrange(1, 5)
        state = self.producers.setdefault(pid, [self.pick(0, 0, 3), 0, False])
        epoch, sequence, in_transaction = state
        chance = self.chance.random()
        if chance < 0.05:
            sequence = max(0, sequence + self.pick(-3, -1, 1, 2))
        elif chance < 0.08:
            epoch = max(0, epoch - 1)
        elif chance < 0.14:
            epoch, sequence = epoch + 1, 0
            state[:] = [epoch, count, False]
        else:
            state[1] += count
        transactional = in_transaction or self.chance.random() < self.taste["transactions"]
        if self.chance.random() < 0.03:
            transactional = not transactional
        state[2] = transactional
        return f" pid={pid} pe={epoch} seq={sequence}" + (" txn=1" if transactional else "")

    def append(self):
        if self.lines and self.chance.random() < 0.06:
            earlier = [line for line in self.lines if line.startswith("append") and " pid=" in line]
            if earlier:
                retried = self.pick(*earlier[-6:]).split(maxsplit=2)
                self.say(f"append epoch={self.epoch} {retried[2]}")
                return
        self.say(f"append epoch={self.epoch} {self.body()}")
        if self.chance.random() < self.taste["replicated at once"]:
            self.say("hw end")

    def follow(self):
        gap = self.pick(0, 0, 0, 1, 5, -1) if self.taste["gaps"] else self.pick(0, 0, 0, -1)
        head = f"follow at=end{gap:+d} epoch={self.epoch}"
        open_ones = [pid for pid, state in self.producers.items() if state[2]]
        if open_ones and self.chance.random() < 0.3:
            pid = self.pick(*open_ones)
            self.producers[pid][2] = False
            self.say(f"{head} kind={self.pick('commit', 'abort')} pid={pid} pe={self.producers[pid][0]}")
        elif self.chance.random() < self.taste["legacy"]:
            magic = self.pick(0, 1)
            head = head.replace("end-1", "end+0")  # of a wrapper neither side looks at the first offset
            form = f" codec={self.pick(*CODECS[:3])}" if self.chance.random() < 0.7 else ""
            self.say(f"{head} magic={magic}{form}{self.pick('', '', ' lat') if magic else ''} records={self.records()[0]}")
        else:
            body, times = self.body(), self.pick(1, 1, 2, 3)
            if producer := re.search(r" pid=(\d+) ", body):
                self.producers[int(producer[1])][1] += (times - 1) * (body.count(",") + 1)
            self.say(f"{head}{self.pick('', '', ' step=3')}{f' times={times}' if times > 1 else ''} {body}")

    def marker(self):
        open_ones = [pid for pid, state in self.producers.items() if state[2]]
        pid = self.pick(*open_ones) if open_ones else self.chance.randrange(1, 5)
        state = self.producers.setdefault(pid, [0, 0, False])
        # With transactions of version 2 the marker's epoch is one more than the producer's, who goes on with that.
        bumps = self.taste["transaction version"] == 2
        epoch = max(0, state[0] + bumps + (self.pick(1, -1) if self.chance.random() < 0.1 else 0))
        self.say(f"marker kind={self.pick('commit', 'abort', 'abort')} pid={pid} pe={epoch} epoch={self.epoch}"
                 f" ce={self.pick(0, 0, 0, 1)}" + (" tv=2" if bumps else ""))
        state[2] = False
        if bumps and epoch > state[0]:
            state[:] = [epoch, 0, False]
        if self.chance.random() < self.taste["replicated at once"]:
            self.say("hw end")

    def new_epoch(self):
        self.epoch += self.pick(1, 1, 2)
        if self.chance.random() < 0.6:
            self.say(f"epoch {self.epoch}")

    def question(self):
        kind = self.chance.randrange(8)
        if kind < 3:
            start = self.pick("start", "end-1", f"end-{self.chance.randrange(40)}", f"start+{self.chance.randrange(30)}",
                              "hw", "lso", "start-1" if self.chance.random() < 0.3 else "start", "end", "end+1")
            one = self.pick("", " one")
            self.say(f"read {start} max={self.pick(1, 100, 300, 1000, 100000)} to={self.pick('end', 'hw', 'lso')}{one}")
        elif kind == 3:
            self.say(f"time {-self.chance.randrange(self.pick(10, 1000, 30_000))}")
        elif kind == 4:
            self.say("max-time")
        elif kind == 5:
            self.say(f"epoch-end {self.chance.randrange(self.epoch + 2)}")
        else:
            self.say(self.pick("offsets", "producers"))

    def questions(self):
        for line in ("offsets", "producers", "read start max=100000", "read start max=100000 to=lso", "max-time"):
            self.say(line)

    def stop(self):
        clean = "unclean" not in self.features or self.chance.random() < 0.5
        self.say("checkpoint" if self.chance.random() < 0.3 else "offsets")
        self.say("stop clean" if clean else "stop unclean")
        if not clean and "damage" in self.features and self.chance.random() < self.taste["damage"]:
            for _ in range(self.pick(1, 1, 2)):
                self.damage()
        if self.chance.random() < 0.3:
            self.clock()
        self.say("open")
        self.questions()

    def damage(self):
        kind = self.pick("log", "log", "log", "index", "timeindex", "txnindex", "snapshot", "leader-epoch-checkpoint",
                         "recovery-point-offset-checkpoint", "replication-offset-checkpoint", ".kafka_cleanshutdown")
        back = self.pick(0, 0, 0, 1, 2)
        if any(line.startswith(("checkpoint", "stop clean", "truncate")) for line in self.lines):
            # Kafka trusts what lies below the recovery point, and answers wrongly where we notice.
            kind, back = self.pick("log", "snapshot", "log", ".kafka_cleanshutdown"), 0
        what = self.pick("cut", "flip", "zero", "append", "remove") if kind != "log" else \
            self.pick("cut", "cut", "flip", "zero", "append")
        if kind.startswith((".kafka", "recovery", "replication", "leader-epoch")):
            what, back = "remove", 0
        if kind.endswith("index") and what in ("cut", "flip", "zero"):
            back += 1  # the room in reserve of the last one is not the same on both sides
        n = self.pick(1, 2, 7, 12, 30, self.chance.randrange(1, 300), self.chance.randrange(1, 1500))
        tail = {"cut": f" {n}", "flip": f" {n}", "zero": f" {n} {self.pick(1, 8, 100, 4096)}",
                "append": " " + "".join(self.pick("00", "00", "ff", "a7") for _ in range(self.pick(1, 8, 20, 70))),
                "remove": ""}[what]
        self.say(f"damage {kind} {back} {what}{tail}")

    def clock(self):
        self.say(f"clock {self.pick(1, 10, 300, 1000, 1500, 12_000, 70_000)}")

    def reconfigure(self):
        settings = self.log_settings()
        for fixed in ("segment.index.bytes", "index.interval.bytes", "cleanup.policy"):
            settings.pop(fixed, None)
        keys = self.chance.sample(sorted(settings), self.chance.randrange(1, len(settings)))
        self.config({key: settings[key] for key in keys})

    def truncate(self):
        if self.chance.random() < 0.15:
            self.say(f"truncate-fully {self.pick('end', 'end+10', '0', 'hw', 'end-5')}")
        else:
            self.say(f"truncate {self.pick('end', 'end-1', f'end-{self.chance.randrange(30)}', 'hw', 'start')}")
        for state in self.producers.values():
            state[:] = [state[0] + 1, 0, False]
        self.questions()

    def compact(self):
        self.say("compact")
        self.questions()

    def retention(self):
        self.say("retention")
        self.questions()

    def history(self):
        self.taste = {
            "producers": self.pick(0, 0.5, 0.9), "transactions": self.pick(0, 0.4, 0.8),
            "replicated at once": self.pick(1, 1, 0.5), "damage": self.pick(0.2, 0.7), "gaps": self.pick(0, 0, 1),
            "transaction version": self.pick(1, 2), "legacy": self.pick(0, 0, 0, 0.3) if "legacy" in self.features else 0,
        }
        if self.chance.random() < 0.4:
            self.say(f"broker producer.id.expiration.ms={self.pick(1000, 20_000)}")
        if self.compacted and self.chance.random() < 0.3:
            self.say(f"broker dedupe={self.pick(120, 240, 1200)}")
        self.config(self.log_settings())
        self.say("open")
        actions = {self.append: 50, self.question: 14, self.clock: 8, self.new_epoch: 2, self.stop: 2,
                   self.reconfigure: 1}
        if self.taste["transactions"] and self.taste["producers"]:
            actions[self.marker] = 12
        more = {"hw": lambda: self.say(f"hw end{self.pick('', '-1', '-4')}"), "flush": lambda: self.say("flush"),
                "flush some": lambda: self.say(f"flush end-{self.chance.randrange(10)}"),
                "expire": lambda: self.say("expire"), "roll": lambda: self.say("roll"), "checkpoint": lambda: self.say("checkpoint"),
                "delete": lambda: self.say(f"delete-records {self.pick('start+3', 'hw', 'hw-2', 'start+9')}")}
        for action in more.values():
            actions[action] = self.pick(0, 1, 3)
        for name, action, weight in (("followers", self.follow, 12), ("truncation", self.truncate, 2),
                                     ("retention", self.retention, 4)):
            if name in self.features:
                actions[action] = self.pick(0, weight)
        if self.compacted:
            actions[self.compact] = 4
        for action in self.chance.choices(list(actions), list(actions.values()), k=self.length):
            action()
        self.questions()
        self.say("stop clean")
        self.say("open")
        self.questions()
        return self.lines


def generate(seed, features=FEATURES, length=60):
    return Generator(seed, features, length).history()
