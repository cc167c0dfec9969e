"""What a guest on this host can use: which Python, which compilers, and where they lie.

``/usr`` is always visible inside, read-only. Whatever lies elsewhere (a Python under a home
folder, a Rust toolchain) is mounted at its own path, and only it. Folders of installed
packages are hidden: they may hold data that no answer should see.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from cascade_rl.sandbox.errors import SandboxUnavailable
from cascade_rl.sandbox.languages import LANGUAGES

PACKAGES = ("numpy",)
_SYSTEM = Path("/usr")
_ETC = ("ld.so.cache", "alternatives", "java-*", "jvm-*")  # nothing else of /etc is visible


@dataclass(frozen=True)
class Runtime:
    """Paths for one guest."""

    python: str
    mounts: dict[str, str] = field(default_factory=dict)
    """Place inside -> folder or file of the host."""
    hidden: tuple[str, ...] = ()
    """Folders inside that appear empty."""
    packages: str | None = None
    """A folder inside with the packages that answers may import."""
    tools: dict[str, str] = field(default_factory=dict)
    """Tool -> path inside."""
    unreadable: tuple[str, ...] = ()
    """Tools that are here, but only for users other than the one inside."""


Readable = Callable[[Path], bool]


def find_runtime(readable: Readable) -> Runtime:
    """Look at this host; raises ``SandboxUnavailable`` when no Python can be used inside."""
    python, root = _find_python(readable)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    mounts = {} if root is None else {str(root): str(root)}
    for pattern in _ETC:
        mounts |= {str(path): str(path) for path in Path("/etc").glob(pattern) if readable(path)}
    tools, unreadable = {}, []
    for tool in sorted({tool for row in LANGUAGES.values() for tool in row.tools}):
        found = locate(tool)
        if found is None:
            continue
        path, home = found
        if readable(home or path):
            tools[tool] = str(path)
            if home is not None:
                mounts[str(home)] = str(home)
        else:
            unreadable.append(tool)
    packages = _packages(readable) if python.name.startswith(version) else {}
    return Runtime(
        python=str(python),
        mounts=mounts | packages,
        hidden=_hidden(root),
        packages="/packages" if packages else None,
        tools=tools,
        unreadable=tuple(unreadable),
    )


def _find_python(readable: Readable) -> tuple[Path, Path | None]:
    """A Python for the guest and, where it is not under /usr, the folder to mount."""
    own = Path(os.path.realpath(sys.executable))
    prefix = Path(sys.base_prefix)
    if own.is_relative_to(_SYSTEM):
        return own, None
    if readable(prefix) and own.is_relative_to(prefix) and not _holds_home(prefix):
        return own, prefix
    for name in ("/usr/local/bin/python3", "/usr/bin/python3"):
        system = Path(os.path.realpath(name))
        if system.exists() and system.is_relative_to(_SYSTEM):
            return system, None
    raise SandboxUnavailable(
        f"no Python for the inside of a sandbox: {prefix} cannot be read by the user inside, and "
        "there is none under /usr; install one, e.g.: apt-get install python3"
    )


def _hidden(root: Path | None) -> tuple[str, ...]:
    places = [
        Path("/usr/lib/python3/dist-packages"),
        *Path("/usr/local/lib").glob("python3*/*-packages"),
    ]
    if root is not None:
        places += root.glob("lib/python3*/site-packages")
    return tuple(str(place) for place in places if place.is_dir())


def _packages(readable: Readable) -> dict[str, str]:
    """Mounts of ``PACKAGES``, as far as this interpreter has them."""
    mounts = {}
    for kind in ("platlib", "purelib"):
        site = Path(sysconfig.get_path(kind))
        for name in PACKAGES:
            for path in (site / name, site / f"{name}.libs"):
                if path.is_dir() and readable(path):
                    mounts[f"/packages/{path.name}"] = str(path)
    return mounts


def locate(tool: str) -> tuple[Path, Path | None] | None:
    """A tool's real path and the folder that must be visible for it (None: /usr will do)."""
    found = shutil.which(tool)
    if found is None:
        return None
    real = _REAL.get(tool, os.path.realpath)(found)
    if real is None:
        return None
    path = Path(real)
    if path.is_relative_to(_SYSTEM):
        return path, None
    root = path.parent.parent
    whole = path.parent.name == "bin" and (root / "lib").is_dir() and not _holds_home(root)
    return path, root if whole or tool == "go" else path


def _holds_home(folder: Path) -> bool:
    return folder == Path("/") or Path.home().is_relative_to(folder)


@cache
def _ask(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)  # noqa: S603 - the user's own compiler
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _rustc(found: str) -> str | None:
    root = _ask(found, "--print", "sysroot")  # what is on the PATH may be a proxy that needs $HOME
    return None if root is None else f"{root}/bin/rustc"


def _go(found: str) -> str | None:
    root = _ask(found, "env", "GOROOT")
    return None if root is None else f"{root}/bin/go"


_REAL: dict[str, Callable[[str], str | None]] = {"rustc": _rustc, "go": _go}
