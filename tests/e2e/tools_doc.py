"""Runs the commands of docs/tools.md and compares what they print with the page.

Each ```console part is run in a directory of its own, in which `data` is a copy of tests/golden/kafka-4.4.0/NAME/data, NAME being
named in the comment above. stdout and stderr count together. `--write` puts the present output into the page.
Usage, from the root: CORDWOOD_BINARY=build/debug/cordwood python3 tests/e2e/tools_doc.py [--write]
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "tools.md")
PART = re.compile(r"<!-- data: (\S+) -->\n```console\n(.*?)```\n", re.DOTALL)


def commands_of(block):
    return [line[2:] for line in block.splitlines() if line.startswith("$ ")]


def run_part(golden, commands):
    """The block as it would be printed now."""
    with tempfile.TemporaryDirectory() as work:
        shutil.copytree(os.path.join(ROOT, "tests/golden/kafka-4.4.0", golden, "data"), os.path.join(work, "data"))
        programs = os.path.join(work, ".programs")
        os.mkdir(programs)
        os.symlink(os.path.abspath(os.environ["CORDWOOD_BINARY"]), os.path.join(programs, "cordwood"))
        environment = dict(os.environ, PATH=programs + ":" + os.environ["PATH"])
        text = ""
        for command in commands:
            done = subprocess.run(["sh", "-c", command], cwd=work, env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False)
            # How full this machine's disk is belongs to no page.
            output = "".join(line for line in done.stdout.decode().splitlines(keepends=True) if not line.endswith(" are free\n"))
            text += f"$ {command}\n{output}"
        return text


def main():
    with open(PAGE, encoding="utf-8") as page:
        text = page.read()
    parts = PART.findall(text)
    if len(parts) < 5:
        sys.exit(f"{PAGE}: only {len(parts)} parts were found")
    wrong = 0
    fresh = text
    for golden, block in parts:
        now = run_part(golden, commands_of(block))
        if now == block:
            continue
        wrong += 1
        fresh = fresh.replace(block, now, 1)
        if "--write" not in sys.argv:
            print(f"--- the page, {golden}\n{block}+++ now\n{now}")
    if "--write" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as page:
            page.write(fresh)
        return
    if wrong:
        sys.exit(f"{wrong} of {len(parts)} parts of docs/tools.md are not what the commands print")
    print(f"{len(parts)} parts of docs/tools.md are as the commands print them")


if __name__ == "__main__":
    main()
