#!/usr/bin/env bash
# Makes the virtual environment with torch in it: scripts/make_venv.sh PYTHON VENV
# torch comes first and alone, so that nothing else decides which build is taken.
set -euo pipefail
python=$1 venv=$2

"$python" - <<'PY' || { echo "error: cascade-rl needs Python 3.11 or newer; set PYTHON=, e.g. make demo PYTHON=python3.12" >&2; exit 1; }
import sys
sys.exit(sys.version_info < (3, 11))
PY
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq && apt-get install -y -qq python3-venv
    else
        echo "error: this Python has no venv module; install it, e.g.: sudo apt-get install python3-venv" >&2
        exit 1
    fi
fi
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/pip" install -q -c constraints.txt torch
