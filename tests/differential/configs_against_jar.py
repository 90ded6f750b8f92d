"""The goldens of settings are what Apache Kafka's own classes say today.

The unit tests hold Cordwood's tables and texts against tests/golden/configs/{tables,texts}.tsv; this test holds those
against the jars in $CORDWOOD_KAFKA_LIBS: names, types, defaults, rules, scopes and synonyms of every key, and the answer to
every value. With --rewrite the goldens are written anew.
"""
import difflib
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(os.path.dirname(HERE), "golden", "configs")
LIBS = os.environ.get("CORDWOOD_KAFKA_LIBS", os.path.join(os.path.dirname(os.path.dirname(HERE)), "build/tools/kafka-libs"))


def from_jars(source):
    done = subprocess.run(["java", "-Dfile.encoding=UTF-8", "-XX:TieredStopAtLevel=1", "-cp", f"{LIBS}/*",
                           os.path.join(HERE, source)], capture_output=True, encoding="utf-8", timeout=300, check=False)
    if done.returncode != 0 or not done.stdout:
        sys.exit(f"{source} failed:\n{done.stderr}")
    return done.stdout


def main():
    if not os.path.isdir(LIBS):
        sys.exit(f"no Apache Kafka in {LIBS}: run ./dev test, or set CORDWOOD_KAFKA_LIBS")
    differences = 0
    for source, name in (("ConfigTables.java", "tables.tsv"), ("ConfigTexts.java", "texts.tsv")):
        path = os.path.join(GOLDEN, name)
        answer = from_jars(source)
        if "--rewrite" in sys.argv:
            with open(path, "w", encoding="utf-8") as f:
                f.write(answer)
            continue
        with open(path, encoding="utf-8") as f:
            golden = f.read()
        lines = list(difflib.unified_diff(golden.splitlines(), answer.splitlines(), name, "the jars", n=0, lineterm=""))
        differences += len(lines)
        print("\n".join(lines[:40]))
        print(f"{name}: {len(answer.splitlines())} lines from the jars, {len(lines)} lines of difference")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
