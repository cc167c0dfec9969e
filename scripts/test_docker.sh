#!/usr/bin/env bash
# Runs the Docker sandbox's tests against a real engine: scripts/test_docker.sh PYTHON
# Uses the engine that DOCKER_HOST names, if any; else installs Debian's, starts it on a socket
# of its own, and stops it at the end. The image is made of packages installed on this host.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
base=cascade-sandbox-test
packages="python3-minimal libpython3-stdlib gcc g++"

skip() {
    echo "=================================================================="
    echo "SKIPPED: the Docker sandbox was NOT tested: $1"
    echo "=================================================================="
    exit 0
}

work=$(mktemp -d /tmp/$base.XXXXXX)
engine=
clean() {
    if [ -n "$engine" ]; then
        kill "$engine" 2>/dev/null || true
        for _ in $(seq 100); do kill -0 "$engine" 2>/dev/null || break; sleep 0.1; done
        kill -9 "$engine" 2>/dev/null || true
        awk -v dir="$work/" 'index($2, dir) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r umount -l
    fi
    rm -rf "$work"
}
trap clean EXIT

if [ -n "${DOCKER_HOST:-}" ] && docker info >/dev/null 2>&1; then
    host=$DOCKER_HOST
else
    [ "$(id -u)" = 0 ] || skip "no engine answers at DOCKER_HOST, and only root can start one"
    command -v apt-get >/dev/null || skip "no engine answers at DOCKER_HOST, and this is no Debian"
    if ! command -v dockerd >/dev/null; then
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends docker.io >/dev/null
    fi
    host=unix://$work/docker.sock
    mkdir "$work/data" "$work/exec"
    setsid dockerd --host "$host" --data-root "$work/data" --exec-root "$work/exec" \
        --pidfile "$work/pid" --iptables=false --ip6tables=false --bridge=none \
        >"$work/log" 2>&1 &
    engine=$!
    for _ in $(seq 300); do
        docker -H "$host" info >/dev/null 2>&1 && break
        kill -0 "$engine" 2>/dev/null || { tail -5 "$work/log"; skip "dockerd does not start here"; }
        sleep 0.1
    done
    docker -H "$host" info >/dev/null 2>&1 || { tail -5 "$work/log"; skip "dockerd does not answer"; }
fi

if [ "$(id -u)" = 0 ]; then
    dpkg -s $packages >/dev/null 2>&1 || apt-get install -y -qq --no-install-recommends $packages >/dev/null
fi
# Everything that these packages and what they depend on have installed here.
apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances $packages | grep '^[a-z0-9]' | sort -u >"$work/names"
xargs -a "$work/names" dpkg-query -L 2>/dev/null |
    sed 's#^/\(bin\|sbin\|lib\|lib64\)/#/usr/\1/#' | grep '^/usr/' |
    grep -v '^/usr/share/\(doc\|man\|locale\)/' | sort -u >"$work/files"
mkdir "$work/root"
for name in bin sbin lib lib64; do ln -s "usr/$name" "$work/root/$name"; done
mkdir "$work/root/proc" "$work/root/sys" "$work/root/dev" "$work/root/box"
(cd / && cp -a --parents etc/alternatives "$work/root")
tar -C / --no-recursion --ignore-failed-read -cf "$work/image.tar" -T "$work/files" 2>/dev/null
tar -C "$work/root" -rf "$work/image.tar" .
docker -H "$host" import "$work/image.tar" $base:latest >/dev/null
rm "$work/image.tar"

CASCADE_TEST_DOCKER_HOST=$host CASCADE_TEST_DOCKER_IMAGE=$base:latest \
    "$python" -m pytest -q -p no:randomly core/tests/test_sandbox_docker.py
