#!/usr/bin/env bash
# What the sandbox's tests need of the system: bubblewrap, and g++ for C++ answers and checkers.
# Silent when all is there. Root on Debian or Ubuntu gets what is missing; anybody else gets one
# line that says what to install, and exit code 1.
set -euo pipefail

missing=
for pair in bwrap:bubblewrap g++:g++; do
    command -v "${pair%%:*}" >/dev/null || missing+=" ${pair#*:}"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing here; install with your package manager, e.g.: apt-get install$missing" >&2
    exit 1
fi
echo "installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086 # a list of names
if ! { apt-get install -y -qq --no-install-recommends $missing ||
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; }; } >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
