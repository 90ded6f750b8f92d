#!/usr/bin/env python3
"""Random groups given to the assignors of Apache Kafka's Java client and to ours: range and round robin must deal out the same; of the
sticky ones, which leave open who gets a free partition, ours must be whole, as even as Kafka's, and over all groups let as many
partitions stay where they are.

Argument: the program assignors_driver. The jars are in $CORDWOOD_KAFKA_LIBS. A group is lines of

  topic NAME PARTITIONS
  member ID TOPIC,… NAME:PARTITION,… GENERATION INSTANCE     "-" where there is none
  end NUMBER

and the answer to it, of each assignor, a line for each member: NUMBER ASSIGNOR MEMBER NAME:PARTITION …, or one with "!" for the member
where it throws. Kafka's sticky ones do so when members claim what others have, give a partition to two, or to one that does not want it
(any more, and owned it in an older generation); there evenness is not compared.
"""
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = int(os.environ.get("CORDWOOD_SEED", "1"))
GROUPS = int(os.environ.get("CORDWOOD_GROUPS", "2000"))
ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")


def random_group(rng):
    """Topics with their partitions; members with what they say. Ownership is as an earlier round could have left it: mostly one owner,
    some from an older generation, some claimed twice, some of topics that are gone or not wanted any more."""
    topics = {f"t{i}": rng.randint(1, 9) for i in range(rng.randint(1, 5))}
    alike = rng.random() < 0.5
    wanted = sorted(rng.sample(sorted(topics), rng.randint(1, len(topics))))
    ids = rng.sample([f"m{i}" for i in range(20)], rng.randint(1, 7))
    members = {}
    for member in ids:
        mine = wanted if alike else rng.sample(sorted(topics), rng.randint(1, len(topics)))
        if rng.random() < 0.05:
            mine = [*mine, "absent"]
        rng.shuffle(mine := list(mine))
        members[member] = {"topics": mine, "owned": [], "generation": -1, "instance": None}
    history = rng.random()
    if history > 0.25:
        for topic, count in topics.items():
            for partition in range(count + (rng.random() < 0.05)):
                takers = [m for m in ids if topic in members[m]["topics"] or rng.random() < 0.05]
                if takers and rng.random() < 0.8:
                    members[rng.choice(takers[:max(1, len(takers) - rng.randint(0, 2))])]["owned"].append((topic, partition))
        for said in members.values():
            if said["owned"] or rng.random() < 0.5:
                said["generation"] = 5
    if history > 0.7:
        for said in members.values():
            if rng.random() < 0.25:
                said["generation"] = rng.choice([3, 4, -1])
            if rng.random() < 0.25:
                other = members[rng.choice(ids)]
                said["owned"] = sorted(set(said["owned"]) | set(rng.sample(other["owned"], min(2, len(other["owned"])))))
    for number, said in enumerate(members.values()):
        if rng.random() < 0.2:
            said["instance"] = f"i{rng.randint(0, 9)}-{number}"
    return topics, members


def lines_of(number, topics, members):
    def words(items):
        return ",".join(items) or "-"
    yield from (f"topic {name} {count}" for name, count in topics.items())
    for member, said in members.items():
        owned = words(f"{t}:{p}" for t, p in said["owned"])
        yield f"member {member} {words(said['topics'])} {owned} {said['generation']} {said['instance'] or '-'}"
    yield f"end {number}"


def parse(text):
    shares = {}
    for line in text.splitlines():
        number, assignor, member, *partitions = line.split(" ")
        split = [(p.rsplit(":", 1)[0], int(p.rsplit(":", 1)[1])) for p in partitions]
        shares.setdefault(int(number), {}).setdefault(assignor, {})[member] = split
    return shares


def owners_before(members):
    """Who owns a partition by the newest generation, of those that want its topic; nobody where several of that generation do."""
    claims = {}
    for member, said in members.items():
        for partition in said["owned"]:
            if partition[0] not in said["topics"]:
                continue
            claims.setdefault(partition, []).append((said["generation"], member))
    owners = {}
    for partition, all_claims in claims.items():
        newest = max(generation for generation, _ in all_claims)
        of_newest = [member for generation, member in all_claims if generation == newest]
        if len(of_newest) == 1:
            owners[partition] = of_newest[0]
    return owners


def kept_by(shares, members):
    """How many partitions stay with their owner."""
    return sum(partition in shares[owner] for partition, owner in owners_before(members).items())


def is_sound(shares, members):
    """Whether nothing is given twice, or to a member that does not want it."""
    given = [partition for share in shares.values() for partition in share]
    unwanted = any(topic not in members[m]["topics"] for m, share in shares.items() if m != "!" for topic, _ in share)
    return "!" not in shares and len(given) == len(set(given)) and not unwanted


def faults_of_sticky(name, topics, members, kafkas, ours, stay):
    """What is wrong with our sharing. `stay` counts the partitions that stay where both are as even."""
    wanted = {(t, p) for said in members.values() for t in said["topics"] for p in range(topics.get(t, 0))}
    given = [partition for share in ours.values() for partition in share]
    faults = []
    if len(given) != len(set(given)):
        faults.append("a partition is given twice")
    for member, share in ours.items():
        if any(topic not in members[member]["topics"] for topic, _ in share):
            faults.append(f"{member} gets what it does not want")
    if set(ours) != set(members):
        faults.append("not every member has an answer")
    claimed = {partition for said in members.values() for partition in said["owned"]}
    missing = wanted - set(given)
    if missing - (claimed if name == "cooperative-sticky" else set()) or set(given) - wanted:
        faults.append(f"not all is given that is wanted: {sorted(missing)}, {sorted(set(given) - wanted)}")
    if name == "sticky" and is_sound(kafkas, members):
        unevenness = [sum(len(share) ** 2 for share in shares.values()) for shares in (kafkas, ours)]
        stay[0] += unevenness[0] == unevenness[1] and kept_by(kafkas, members)
        stay[1] += unevenness[0] == unevenness[1] and kept_by(ours, members)
        if unevenness[1] > unevenness[0]:
            faults.append(f"Kafka's is more even: {sorted(map(len, kafkas.values()))} against {sorted(map(len, ours.values()))}")
    return faults


def faults_of(name, topics, members, kafkas, ours, stay):
    if name in ("range", "roundrobin"):
        same = {m: sorted(s) for m, s in kafkas.items()} == {m: sorted(s) for m, s in ours.items()}
        return [] if same else ["another sharing"]
    return faults_of_sticky(name, topics, members, kafkas, ours, stay)


def main():
    jars = os.environ.get("CORDWOOD_KAFKA_LIBS")
    if not jars:
        sys.exit("CORDWOOD_KAFKA_LIBS is not set: run this through ./dev")
    rng = random.Random(SEED)
    groups = [random_group(rng) for _ in range(GROUPS)]
    text = "".join(line + "\n" for number, group in enumerate(groups) for line in lines_of(number, *group))
    commands = (["java", "-Xmx512m", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", os.path.join(jars, "*"),
                 os.path.join(HERE, "Assignors.java")], [sys.argv[1]])
    kafkas, ours = (parse(subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout) for command in commands)
    counts = {name: {"wrong": 0, "the very same": 0} for name in ASSIGNORS}
    stay = [0, 0]
    for number, (topics, members) in enumerate(groups):
        for name in ASSIGNORS:
            theirs, mine = kafkas[number][name], ours[number][name]
            counts[name]["the very same"] += {m: sorted(s) for m, s in theirs.items()} == {m: sorted(s) for m, s in mine.items()}
            faults = faults_of(name, topics, members, theirs, mine, stay)
            if not faults:
                continue
            counts[name]["wrong"] += 1
            if counts[name]["wrong"] <= 3:
                print("\n".join(lines_of(number, topics, members)))
                print(f"{name}: {'; '.join(faults)}")
                for member in sorted(members):
                    print(f"  {member}: Kafka's {sorted(theirs.get(member, []))}, ours {sorted(mine.get(member, []))}")
    print(f"{len(groups)} groups, seed {SEED}")
    for name in ASSIGNORS:
        print(f"{name:20} {counts[name]['the very same']} the very same, {counts[name]['wrong']} wrong")
    print(f"partitions that stay where both sticky ones are as even: Kafka's {stay[0]}, ours {stay[1]}")
    sys.exit(1 if any(count["wrong"] for count in counts.values()) or stay[1] < stay[0] else 0)


if __name__ == "__main__":
    main()
