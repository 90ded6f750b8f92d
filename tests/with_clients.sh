#!/usr/bin/env bash
# Runs a Python program with the Kafka clients installed: CORDWOOD_VENV, which ./dev test sets up.
set -euo pipefail
venv=${CORDWOOD_VENV:-$(dirname "$0")/../build/tools/venv}
[ -x "$venv/bin/python" ] || { echo "no Python clients in $venv: run ./dev test, or set CORDWOOD_VENV" >&2; exit 1; }
exec "$venv/bin/python" "$@"
