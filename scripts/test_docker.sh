#!/usr/bin/env bash
# Runs the Docker sandbox's tests against a real engine: scripts/test_docker.sh PYTHON
#
# Uses the engine that answers (DOCKER_HOST or the default socket); else, as root, installs the
# distribution's, and starts it on a socket of its own, with data of its own, and stops it at the
# end. The image is made of the distribution's packages by debootstrap, once: .cache/docker keeps
# it. A host that can do neither gets a loud line and exit code 0; anything that fails, another.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
base=cascade-sandbox-test
packages=python3-minimal,libpython3-stdlib,g++

skip() {
    echo "=================================================================="
    echo "SKIPPED: the Docker sandbox was NOT tested: $1"
    echo "=================================================================="
    exit 0
}

work=$(mktemp -d "/tmp/$base.XXXXXX")
engine= tests= host=
clean() {
    trap '' INT TERM HUP
    [ -z "$tests" ] || kill "$tests" 2>/dev/null || true
    if [ -n "$engine" ]; then
        docker -H "$host" ps -aq 2>/dev/null | xargs -r docker -H "$host" rm -f >/dev/null 2>&1 || true
        kill "$engine" 2>/dev/null || true
        for _ in $(seq 200); do kill -0 "$engine" 2>/dev/null || break; sleep 0.1; done
        kill -9 -- "-$engine" 2>/dev/null || true
        awk -v dir="$work/" 'index($2, dir) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r umount -l
        find /sys/fs/cgroup -depth -type d -path "*/$base-$$*" -exec rmdir {} + 2>/dev/null || true
    fi
    rm -rf --one-file-system "$work"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

root() { [ "$(id -u)" = 0 ]; }
install() {
    echo "installing $*"
    (apt-get install -y -qq --no-install-recommends "$@" ||
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"; }) >"$work/apt" 2>&1 ||
        { cat "$work/apt"; exit 1; }
}
answers() { docker ${host:+-H "$host"} info >"$work/info" 2>&1; }

start_engine() {
    root || skip "no engine answers (docker info), and only root can start one"
    if ! command -v dockerd >/dev/null; then
        command -v apt-get >/dev/null || skip "no engine is installed, and apt-get cannot install one"
        install docker.io
    fi
    host=unix://$work/docker.sock
    mkdir "$work/data" "$work/exec"
    setsid dockerd --host "$host" --data-root "$work/data" --exec-root "$work/exec" \
        --pidfile "$work/pid" --cgroup-parent "/$base-$$" \
        --iptables=false --ip6tables=false --bridge=none >"$work/log" 2>&1 &
    engine=$!
    for _ in $(seq 600); do
        ! answers || return 0
        kill -0 "$engine" 2>/dev/null || { tail -20 "$work/log"; skip "dockerd does not start here"; }
        sleep 0.1
    done
    tail -20 "$work/log"
    skip "dockerd does not answer"
}

make_root() {
    root || skip "the first image is made by debootstrap, which only root can use"
    command -v debootstrap >/dev/null || install debootstrap
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    echo "making a root file system of $codename: $packages"
    debootstrap --variant=minbase --include="$packages" "$codename" "$work/root" >"$work/made" 2>&1 ||
        { tail -20 "$work/made"; exit 1; }
    mkdir -p "$(dirname "$image")"
    tar -C "$work/root" --exclude=./var/cache --exclude=./var/lib/apt --exclude='./usr/share/doc/*' \
        --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' --exclude='./dev/*' \
        -cf "$image.part" .
    mv "$image.part" "$image"
}

answers || start_engine
image=.cache/docker/$packages.tar
[ -f "$image" ] || make_root
docker ${host:+-H "$host"} import "$image" "$base:latest" >/dev/null
echo "engine $(docker ${host:+-H "$host"} version --format '{{.Server.Version}}'), image ready after $SECONDS s"

CASCADE_TEST_DOCKER_HOST=${host:-${DOCKER_HOST:-unix:///var/run/docker.sock}} \
    CASCADE_TEST_DOCKER_IMAGE=$base:latest \
    "$python" -m pytest -q core/tests/test_sandbox_docker.py &
tests=$!
wait "$tests"
tests=
echo "the Docker sandbox was tested in $SECONDS s"
