#!/usr/bin/env bash
# Builds the benchmarks and runs them beside Apache Kafka:
#   bench/run.sh [append|lookup|open|recover|compact|retention|find|start|flush ...] (all by default).
#   bench/run.sh offline|console [OPTIONS]   the commands: tools on files; the console producer and consumer
#   bench/run.sh inspector [OPTIONS]         the inspector: how long it takes to show much, and what it costs the broker
# CORDWOOD_KAFKA_LIBS names the folder of Apache Kafka's jars.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
cmake --preset bench >/dev/null
case ${1:-} in
  offline | console)
    ninja -C build/bench cordwood >/dev/null
    CORDWOOD_BINARY=build/bench/cordwood exec python3 "bench/$1_tools.py" "${@:2}"
    ;;
  inspector)
    ninja -C build/bench cordwood >/dev/null
    CORDWOOD_BINARY=build/bench/cordwood exec python3 bench/inspector.py "${@:2}"
    ;;
esac
ninja -C build/bench cordwood bench/make_batches bench/append_bench bench/lookup_bench bench/open_bench bench/compaction_bench \
  bench/retention_bench bench/recovery_bench bench/find_bench \
  bench/first_round_trip bench/flush_bench >/dev/null
exec python3 bench/run.py "$@"
