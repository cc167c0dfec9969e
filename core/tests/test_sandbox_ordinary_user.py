"""The hostile programs once more, with the host's side run by an ordinary user instead of root."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UID = 61_000 + os.getpid() % 1000  # nobody else's, so that what it leaves behind can be found
MS_BIND, MS_REC, MS_PRIVATE, CLONE_NEWNS = 0x1000, 0x4000, 0x40000, 0x20000

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap"),
]


def become_ordinary(needed):
    """In a child, before exec: another user, who sees ``needed`` even in a closed home."""
    closed = sorted({p for path in needed for p in path.parents if not p.stat().st_mode & 1})
    below = [path for path in needed if any(path.is_relative_to(p) for p in closed)]
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(source, target, kind, flags, data=None):
        words = [None if w is None else str(w).encode() for w in (source, target, kind)]
        if libc.mount(*words, ctypes.c_ulong(flags), data):
            raise OSError(ctypes.get_errno(), f"mount {source} on {target}")

    def child():
        if below:
            if libc.unshare(CLONE_NEWNS):
                raise OSError(ctypes.get_errno(), "unshare")
            mount(None, "/", None, MS_REC | MS_PRIVATE)
            shown = [os.open(path, os.O_PATH) for path in below]
            for path in closed:
                if path.is_dir():
                    mount("none", path, "tmpfs", 0, b"mode=755")
            for fd, path in zip(shown, below, strict=True):
                path.mkdir(parents=True, exist_ok=True)
                mount(f"/proc/self/fd/{fd}", path, None, MS_BIND | MS_REC)
        os.setgroups([])
        os.setresgid(UID, UID, UID)
        os.setresuid(UID, UID, UID)

    return child


def test_all_hostile_programs_are_contained_for_an_ordinary_user():
    needed = [Path(os.path.realpath(p)) for p in (sys.base_prefix, sys.prefix, ROOT)]
    folder = ROOT / "core" / "tests"
    tests = [str(folder / f"test_sandbox_{name}.py") for name in ("hostile", "contained")]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        preexec_fn=become_ordinary(needed),
        cwd=ROOT,
        env={**os.environ, "HOME": "/nonexistent", "USER": "", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    passed = int(re.search(r"(\d+) passed", ran.stdout)[1])
    assert passed > 120, ran.stdout
    assert owned_processes() == []
    assert owned_files() == []


def owned_processes():
    """Dead ones that nobody has fetched yet included."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if folder.stat().st_uid == UID:
                found.append((folder / "stat").read_text()[:80])
        except OSError:
            continue
    return found


def owned_files():
    places = [Path(p) for p in ("/tmp", "/var/tmp", "/dev/shm", "/run") if Path(p).is_dir()]
    found = []
    for place in places:
        for folder, folders, files in os.walk(place):
            for name in (*folders, *files):
                path = Path(folder, name)
                try:
                    if path.lstat().st_uid == UID:
                        found.append(str(path))
                except OSError:
                    continue
    return found
