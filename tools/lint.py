#!/usr/bin/env python3
"""Lint: what the compiler does not check about how the code is laid out.

  lint.py                 the layer table against every #include, banned calls, unfinished words (fast)
  lint.py --headers       every header compiles alone
  lint.py --threads       clang's thread-safety analysis over every source file
  lint.py --tidy          clang-tidy 19 over every source file (slow)
  lint.py --all           all of them
--build DIR names a configured build directory: its generated headers and compile_commands.json are used.
--self-test proves that each rule can fail. Exit code 1 when anything was found; findings go to stdout.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Who may include whom (docs/ARCHITECTURE.md, "Layers"). A change of this table is argued in its commit.
LAYERS = {
    "base": set(),
    "io": {"base"},
    "record": {"base"},
    "protocol": {"base"},
    "storage": {"base", "io", "record"},
    "net": {"base", "protocol"},
    "broker": {"base", "io", "record", "protocol", "storage"},
    "client": {"base", "record", "protocol", "net"},
    "cli": {"base", "io", "record", "protocol", "client"},
    "offline": {"base", "io", "record", "storage", "protocol", "broker", "cli"},
    "inspector": {"base", "io", "record", "storage", "protocol", "broker", "client", "cli", "offline"},
    "server": None,  # sees everything
}
# Single headers beyond a row.
EXTRA = {("cli", "broker/groups/group_records.h")}

# (pattern, folders where it is allowed, what to use instead)
BANNED = [
    (r"\bstd::this_thread::sleep", (), "a timer of an Executor; nothing sleeps"),
    (r"\bstd::chrono::(system|steady|high_resolution)_clock\b", ("base/clock",), "the Clock that is passed in"),
    (r"(?<![\w.:>])(time|gettimeofday|clock_gettime)\s*\(", ("base/clock",), "the Clock that is passed in"),
    (r"(?<![\w.:>])s?rand\s*\(|\bstd::(mt19937|random_device)\b", ("base/random",), "the Random that is passed in"),
    (r"(?<![\w.:>])(std::)?_?exit\s*\(", ("server/", "tests/", "bench/"), "a Result; only server/ ends the process"),
    (r"\bthrow\b(?!.*//\s*lint: allow)", ("tests/",), "a Result; nothing throws across a folder"),
    (r"\bstd::(cout|cerr|format|print)\b", ("server/", "tests/", "bench/"), "fmt, and the Logger that is passed in"),
    (r"#include <iostream>", ("tests/", "bench/"), "fmt, and the Logger that is passed in"),
    (r"\breinterpret_cast<(const )?\w+(Header|Entry|Record)\b", (), "ByteReader: structs are never cast onto bytes"),
    (r"\bco_(await|return|yield)\b", (), "callbacks: g++ 12.2 miscompiles coroutines"),
]
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|not impl" r"emented|unimpl" r"emented)\b")


def sources(*suffixes):
    out = []
    for top in ("src", "tests", "bench", "tools"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            out += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names if n.endswith(suffixes)]
    return sorted(out)


def without_comments(text):
    """Comments and string contents blanked, line structure kept."""
    def blank(match):
        piece = match.group(0)
        if piece.startswith(("//", "/*")):
            return re.sub(r"[^\n]", " ", piece)
        return piece[0] + re.sub(r"[^\n]", " ", piece[1:-1]) + piece[-1] if len(piece) > 1 else piece
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def check_layers(path, text):
    found = []
    parts = path.split("/")
    if parts[0] != "src":
        return found
    folder = parts[1]
    if folder not in LAYERS:
        return [f"{path}: folder '{folder}' is not in the layer table"]
    allowed = LAYERS[folder]
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        if not match or allowed is None:
            continue
        target = match.group(1)
        other = target.split("/")[0]
        if "/" not in target:
            found.append(f"{path}:{number}: include \"{target}\" must name its folder")
        elif other != folder and other not in allowed and (folder, target) not in EXTRA:
            found.append(f"{path}:{number}: {folder} may not include {other} (\"{target}\")")
    return found


def check_banned(path, text):
    found = []
    if path.startswith(("tools/",)):
        return found
    code = without_comments(text)
    is_test = path.startswith("tests/") or re.search(r"_(test|testing)\.(cc|h)$", path)
    for pattern, allowed, instead in BANNED:
        short = path[4:] if path.startswith("src/") else path
        if any(short.startswith(a) for a in allowed) or (is_test and "tests/" in allowed):
            continue
        for match in re.finditer(pattern, code):
            number = code.count("\n", 0, match.start()) + 1
            found.append(f"{path}:{number}: {match.group(0).strip()}: use {instead}")
    return found


def check_unfinished(path, text):
    return [f"{path}:{number}: unfinished by its own words: {line.strip()[:80]}"
            for number, line in enumerate(text.splitlines(), 1) if UNFINISHED.search(line)]


def check_texts():
    found = []
    for path in sources(".h", ".cc", ".py", ".schema", ".inc"):
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            text = f.read()
        if path.endswith((".h", ".cc", ".inc")):
            found += check_layers(path, text) + check_banned(path, text)
        if path.endswith(".h") and "#pragma once" not in text:
            found.append(f"{path}: has no #pragma once")
        if path != "tools/lint.py":
            found += check_unfinished(path, text)
    return found


def include_flags(build):
    flags = ["-I" + os.path.join(ROOT, "src")]
    if build:
        flags.append("-I" + os.path.join(build, "generated"))
    return flags


def run_all(commands):
    """(name, command) pairs on every core; the output of those that fail."""
    found = []
    environment = {**os.environ, "CCACHE_BASEDIR": ROOT, "CCACHE_NOHASHDIR": "1"}

    def one(item):
        name, command, where = item
        done = subprocess.run(command, cwd=where, capture_output=True, text=True, env=environment)
        return name, done

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, done in pool.map(one, commands):
            if done.returncode != 0:
                found.append(f"{name}: {(done.stderr + done.stdout).strip()[:1500]}")
    return found


def check_headers(build):
    """Each header in a unit of its own. Units and objects have names that stay, so that the compiler cache knows them again."""
    folder = os.path.join(build or os.path.join(ROOT, "build"), "headers-alone")
    os.makedirs(folder, exist_ok=True)
    compiler = ["ccache", "g++"] if shutil.which("ccache") else ["g++"]
    commands = []
    for path in (p for p in sources(".h") if p.startswith("src/")):
        unit = os.path.join(folder, path[4:-2].replace("/", "__") + ".cc")
        text = f'#include "{path[4:]}"\n#include "{path[4:]}"\n'
        if not os.path.exists(unit) or open(unit, encoding="utf-8").read() != text:
            with open(unit, "w", encoding="utf-8") as f:
                f.write(text)
        commands.append((path, [*compiler, "-std=gnu++23", "-O0", "-g0", "-Wall", "-Wextra", "-Werror", *include_flags(build),
                                "-c", unit, "-o", unit[:-3] + ".o"], ROOT))
    return run_all(commands)


def check_threads(build):
    commands = [(path, ["clang++-19", "-std=gnu++23", "-fsyntax-only", "-Wthread-safety", "-Werror=thread-safety",
                        "-Wno-everything", "-Wthread-safety", *include_flags(build), path], ROOT)
                for path in sources(".cc") if path.startswith("src/") and knows_locks(path)]
    return run_all(commands)


LOCKS = re.compile(r"\b(GUARDED_BY|PT_GUARDED_BY|REQUIRES|EXCLUDES|ACQUIRE|RELEASE|MutexLock)\b")


def knows_locks(path):
    """Whether the file, or a header of ours that it names, speaks of a lock: in all others nothing can be found."""
    if re.search(r"_(test|testing)\.cc$", path):
        return False
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        text = f.read()
    if LOCKS.search(text):
        return True
    for name in re.findall(r'#include "([^"]+)"', text):
        header = os.path.join(ROOT, "src", name)
        if name != "base/mutex.h" and os.path.exists(header):
            with open(header, encoding="utf-8") as f:
                if LOCKS.search(f.read()):
                    return True
    return False


def check_tidy(build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        units = [c["file"] for c in json.load(f) if c["file"].startswith(os.path.join(ROOT, "src"))]
    return run_all([(os.path.relpath(u, ROOT), ["clang-tidy-19", "--quiet", "-p", build, u], ROOT) for u in units])


def self_test():
    cases = [
        (check_layers, "src/io/x.h", '#include "record/batch.h"\n', True),
        (check_layers, "src/io/x.h", '#include "base/bytes.h"\n', False),
        (check_layers, "src/net/x.cc", '#include "broker/broker.h"\n', True),
        (check_layers, "src/server/x.cc", '#include "broker/broker.h"\n', False),
        (check_banned, "src/io/x.cc", "std::this_thread::sleep_for(1s);\n", True),
        (check_banned, "src/io/x.cc", "// std::this_thread::sleep_for(1s);\n", False),
        (check_banned, "src/io/x.cc", "auto t = time(nullptr);\n", True),
        (check_banned, "src/io/x.cc", "auto t = clock.time(0);\n", False),
        (check_banned, "src/broker/x.cc", "exit(1);\n", True),
        (check_banned, "src/server/x.cc", "exit(1);\n", False),
        (check_unfinished, "src/io/x.cc", "// TO" + "DO later\n", True),
    ]
    wrong = [f"{check.__name__}({path!r}, {text!r}) should be {expected}" for check, path, text, expected in cases
             if bool(check(path, text)) != expected]
    print("\n".join(wrong) if wrong else f"{len(cases)} rules behave")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build")
    for name in ("headers", "threads", "tidy", "all", "self-test"):
        parser.add_argument("--" + name, action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    build = os.path.abspath(args.build) if args.build else None
    found = check_texts()
    if args.headers or args.all:
        found += check_headers(build)
    if args.threads or args.all:
        found += check_threads(build)
    if args.tidy or args.all:
        found += check_tidy(build)
    print("\n".join(found) if found else "lint: nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
