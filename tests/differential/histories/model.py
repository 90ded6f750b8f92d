"""A toy: what a partition log is, without files, segments or indexes. It follows a history and objects to an answer that no
partition log would give. What depends on segments (how far one read goes) or was decided elsewhere (whether a producer is
refused) it takes from the answer; after damage or compaction it has nothing more to say.
"""
import re
import struct


class Batch:
    def __init__(self, raw, base, epoch, times, is_stored_as_it_is):
        delta, self.pid = struct.unpack(">i", raw[23:27])[0], struct.unpack(">q", raw[43:51])[0]
        attributes = struct.unpack(">h", raw[21:23])[0]
        self.base, self.last, self.epoch = base, base + delta, epoch
        self.size = len(raw) if is_stored_as_it_is else None  # known from the first read on
        self.transactional, self.control = bool(attributes & 0x10), bool(attributes & 0x20)
        step = delta // max(1, len(times) - 1)
        self.times = {base + i * step: time for i, time in enumerate(times)}


def batches_in(raw):
    while raw:
        size = 12 + struct.unpack(">i", raw[8:12])[0]
        yield raw[:size]
        raw = raw[size:]


class Log:
    def __init__(self):
        self.now, self.batches, self.start, self.end, self.hw, self.epochs = 1_700_000_000_000, [], 0, 0, 0, []
        self.ends = {}            # of transactions: first offset -> marker's offset, None while it is open
        self.append_time = False  # the broker's time, not the client's
        self.recompresses = False  # compression.type
        self.times_known = True   # every record is there and has a time: files have one as well
        self.settled = True       # nothing was lost by a process that died
        self.cut_end = None       # a restart forgets that the log was cut in the middle of a batch, which went as a whole
        self.stable_known = True  # a restart may forget which transactions ended behind the high watermark

    def times_of(self, line):
        records = re.search(r" records=(\S+)", line)
        offsets = [r.split(":")[2] for r in records[1].split(",")] if records else ["0"]
        broker_time = self.append_time and not line.startswith("follow")
        return [self.now if broker_time else -1 if t == "none" else self.now + int(t) for t in offsets]

    def assign(self, epoch, offset):
        if not self.epochs or epoch > self.epochs[-1][0]:
            self.epochs = [e for e in self.epochs if e[1] < offset] + [(epoch, offset)]

    def append(self, line, raw, answer):
        told = re.match(r"ok (\d+) (\d+)", answer)
        epoch = int(re.search(r" epoch=(\d+)", line)[1])
        follower = line.startswith("follow")
        recompressed = self.recompresses and line.startswith("append")
        batches = [Batch(each, struct.unpack(">q", each[:8])[0] if follower else self.end, epoch, self.times_of(line),
                         not recompressed) for each in batches_in(raw)]
        base, last = batches[0].base, batches[-1].last
        if not told:
            # A refused append has named its epoch all the same, unless it was refused for what it is.
            if re.match(r"duplicate|refused (OUT_OF_ORDER_S|INVALID_PRODUCER|INVALID_TXN|TRANSACTION_|RECORD_LIST)", answer):
                self.assign(epoch, base)
            return None
        if (int(told[1]), int(told[2])) != (base, last):
            return f"ok {base} {last}"
        self.assign(epoch, base)
        self.batches.extend(batches)
        self.end = last + 1
        for batch in batches:
            self.times_known = self.times_known and -1 not in batch.times.values()
            self.note_transaction(batch)
        return None

    def note_transaction(self, batch):
        if batch.pid < 0:
            return
        mine = [first for first, (pid, marker) in self.ends.items() if pid == batch.pid and marker is None]
        if batch.control and mine:
            self.ends[mine[0]] = (batch.pid, batch.base)
        elif batch.transactional and not batch.control and not mine:
            self.ends[batch.base] = (batch.pid, None)

    def stable(self):
        """Nothing behind the first transaction whose end is not replicated. One that began below the start may be forgotten."""
        self.stable_known = self.stable_known and not any(first < self.start for first in self.ends)
        waiting = [first for first, (_, marker) in self.ends.items() if marker is None or marker >= self.hw]
        return max(self.start, min([self.hw, *waiting]))

    def delete_before(self, offset):
        if offset <= self.start:
            return
        self.start, self.times_known = offset, False
        covering = [(epoch, offset) for epoch, start in self.epochs if start <= offset][-1:]
        self.epochs = covering + [e for e in self.epochs if e[1] > offset]

    def truncate(self, offset):
        self.batches = [batch for batch in self.batches if batch.last < offset]
        self.end = min(self.end, offset)
        self.epochs = [e for e in self.epochs if e[1] < self.end]
        self.ends = {}
        for batch in self.batches:
            self.note_transaction(batch)

    def adopt(self, told):
        """Where a log stands whose process died is for the log to say."""
        if int(told["end"]) != self.end:
            return f"end={self.end}"  # what was written stays written
        self.start, self.hw, self.settled = int(told["start"]), int(told["hw"]), True
        self.epochs = [tuple(map(int, e.split("@"))) for e in told["epochs"].split(",") if e]
        return None

    def offsets(self, answer):
        told = dict(part.split("=", 1) for part in answer.split())
        if self.cut_end is not None and self.cut_end <= int(told["end"]) <= self.end:
            self.end, self.cut_end = int(told["end"]), None
            self.epochs = [e for e in self.epochs if e[1] < self.end]  # one without records is not kept
        if not self.settled:
            return self.adopt(told)
        expected = {"start": self.start, "end": self.end, "epochs": ",".join(f"{e}@{o}" for e, o in self.epochs)}
        self.hw = int(told["hw"])  # in a gap it is told as the offset behind it
        stable = self.stable()
        if self.stable_known and not self.gap_at(stable):
            expected["lso"] = stable
        wrong = [f"{key}={value}" for key, value in expected.items() if told[key] != str(value)]
        return " ".join(wrong) or None

    def leave_gap(self):
        """The drivers move a high watermark in a gap to the next batch."""
        self.hw = max(self.hw, min([batch.base for batch in self.batches if batch.last >= self.hw], default=self.end))

    def gap_at(self, offset):
        return all(not batch.base <= offset <= batch.last for batch in self.batches) and offset != self.end

    def read(self, answer, offset, limit, most, one):
        if not self.settled:
            return None
        if not self.start <= offset <= self.end:
            return None if answer == "refused OFFSET_OUT_OF_RANGE" else "refused OFFSET_OUT_OF_RANGE"
        expected = [b for b in self.batches if b.last >= offset and b.last < limit]
        told = re.findall(r" (\d+)-(\d+)@(\d+):(\d+):", answer)
        for batch, (_, _, _, size) in zip(expected, told):
            batch.size = batch.size or int(size)
        seen = [(b.base, b.last, b.epoch, b.size) for b in expected[:len(told)]]
        if seen != [tuple(map(int, batch)) for batch in told]:
            return f"read {seen}"
        if expected and not told and (one or (expected[0].size or most + 1) <= most):
            return f"read {seen} and nothing of what could be read"
        too_much = sum(size for _, _, _, size in seen) > most and (len(seen) > 1 or not one)
        return f"no more than {most} bytes" if too_much else None

    def found(self, answer, wanted):
        if not self.times_known or not self.settled:
            return None
        records = [(offset, time) for batch in self.batches for offset, time in batch.times.items()]
        if wanted is None:
            best = max((time for _, time in records), default=-1)
            matches = [record for record in records if record[1] == best]
        else:
            matches = [record for record in records if record[1] >= wanted][:1]
        told = re.match(r"found (\d+) (-?\d+)", answer)
        fits = (int(told[1]), int(told[2])) in matches if told else not matches or wanted is None
        return None if fits else f"found one of {matches[:3]}"

    def epoch_end(self, answer, wanted):
        if not self.settled:
            return None
        known, later = ([e for e in self.epochs if (e[0] > wanted) == above] for above in (False, True))
        if not self.epochs or (not later and known[-1][0] != wanted):
            expected = "epoch unknown"
        else:
            expected = f"epoch {known[-1][0] if known else wanted} ends {later[0][1] if later else self.end}"
        return None if answer == expected else expected


def complaint(lines, batches, answers):
    """The first answer that no partition log would give, as (line number, what it should be), or None."""
    log = Log()
    for number in sorted(n for n in answers if n > 0):
        line, answer, words = lines[number - 1], answers[number], lines[number - 1].split()
        what = words[0]
        value = re.match(r"(end|hw|lso|start)?([+-]?\d+)?$", words[1]) if len(words) > 1 else None
        at = {"end": log.end, "hw": log.hw, "lso": log.stable(), "start": log.start, None: 0}
        offset = max(0, at[value[1]] + int(value[2] or 0)) if value else 0
        objection = None
        if what in ("damage", "compact", "retention") or " magic=" in line or answer.startswith(("refused UNKNOWN", "refused KAFKA", "closed", "no")):
            return None
        if what == "clock":
            log.now += int(words[1])
        elif what == "config":
            log.append_time = "=LogAppendTime" in line if "message.timestamp.type=" in line else log.append_time
            log.recompresses = log.recompresses or " compression.type=" in line
        elif what in ("append", "marker", "follow") and number in batches:
            objection = log.append(line, bytes.fromhex(batches[number]), answer)
        elif what == "hw":
            log.hw = int(answer.split()[1])
            log.stable_known = log.stable_known or log.hw == log.end
        elif what == "epoch":
            log.assign(int(words[1]), log.end)
        elif what == "delete-records" and answer == "ok":
            log.delete_before(offset)
        elif what == "truncate-fully" or what == "truncate" and offset <= log.start:
            return None  # begins anew
        elif what == "truncate":
            log.truncate(offset)
            log.hw = min(log.hw, log.end)
        elif what == "stop":
            log.settled, log.stable_known = log.settled and words[1] == "clean", False
            log.cut_end = log.batches[-1].last + 1 if log.batches else 0
        elif what == "offsets":
            objection = log.offsets(answer)
        elif what == "read":
            limit = {"hw": log.hw, "lso": log.stable()}.get((re.search(r" to=(\w+)", line) or [0, "end"])[1], log.end)
            if value[1] != "lso" and (" to=lso" not in line or log.stable_known):
                most = int((re.search(r" max=(\d+)", line) or [0, 100000])[1])
                objection = log.read(answer, offset, limit, most, line.endswith(" one"))
        elif what in ("time", "max-time"):
            objection = log.found(answer, log.now + int(words[1]) if what == "time" else None)
        elif what == "epoch-end":
            objection = log.epoch_end(answer, int(words[1]))
        if objection:
            return number, objection
        log.leave_gap()
    return None
