"""The default backend: each guest is process 1 of namespaces that bubblewrap makes.

No network, no writable file system, nothing of the host but /usr and the interpreters; works
for root (which becomes an ordinary user first) and for ordinary users.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from cascade_rl.sandbox.cgroups import Cgroup, Hierarchy, find_hierarchy
from cascade_rl.sandbox.errors import SandboxUnavailable
from cascade_rl.sandbox.guest_process import Connection, Guest, guest_config, loader_command
from cascade_rl.sandbox.guests import GuestSandbox
from cascade_rl.sandbox.jobs import Traits
from cascade_rl.sandbox.link import GuestDied
from cascade_rl.sandbox.runtime import Runtime, find_runtime
from cascade_rl.sandbox.types import Isolation
from cascade_rl.workers.starter import Process, start_child

NOBODY = 65534
WORKSPACE = "/box"
OOM_FILE = "/oom"
_WORKSPACE_BYTES = 512 << 20
_STACK = 256 << 20
_OWN_MB = 48  # for the guest itself
_OWN_PROCESSES = 2  # bubblewrap's outer process and the guest
_GRACE_S = 2.0
_STAGES = ("/mnt", "/media", "/srv", "/opt")
_CAP_SYS_ADMIN = 21
INSTALL = {
    "apt-get": "apt-get install bubblewrap",
    "dnf": "dnf install bubblewrap",
    "pacman": "pacman -S bubblewrap",
    "apk": "apk add bubblewrap",
    "zypper": "zypper install bubblewrap",
}


_NO_NAMESPACES = """\
bubblewrap is installed but cannot make namespaces here ({said}). Ways out, as root:
  sysctl kernel.unprivileged_userns_clone=1                   (older Debian)
  sysctl kernel.apparmor_restrict_unprivileged_userns=0       (Ubuntu 23.10 and newer)
  docker run --security-opt seccomp=unconfined ...            (inside a container)
or use another backend: docker, or remote"""


class BubblewrapSandbox(GuestSandbox):
    """Guests in bubblewrap."""

    def __init__(self, workers: int = 1, use_cgroups: bool = True) -> None:
        self._program = find_bubblewrap()
        self._runtime = find_runtime(readable_inside)
        self._cgroup = find_hierarchy() if use_cgroups else None
        traits = Traits(namespace=True, cgroup=self._cgroup is not None, own_user=True)
        super().__init__(workers, traits)
        try:
            with self._answers.slot() as slot:  # the first guest, and the proof that it works
                self._hello = slot.guest().hello
        except (GuestDied, OSError) as error:
            self.close()
            raise SandboxUnavailable(_NO_NAMESPACES.format(said=error)) from error

    @property
    def isolation(self) -> Isolation:
        """See ``Sandbox.isolation``."""
        group = self._cgroup
        memory = "RSS, looked at every 50 ms, and address space"
        processes = "RLIMIT_NPROC in a user namespace"
        return Isolation(
            backend="bubblewrap",
            level="namespaces",
            enforced={
                "cpu": "CPU time of the process tree, RLIMIT_CPU",
                "memory": f"cgroup v{group.version}" if group else memory,
                "processes": f"cgroup v{group.version}" if group and group.pids else processes,
                "output": "RLIMIT_FSIZE on memory files",
                "network": "no network in the namespace",
                "files": "no writable file system",
                **self._hello["walls"],
                "python": self._hello["python"],
            },
        )

    def _start(self, workspace: bool) -> Guest:
        connection = BubblewrapConnection(self._program, self._runtime, self._cgroup, workspace)
        oom_files = [OOM_FILE] if connection.cgroup is not None else []
        folder = WORKSPACE if workspace else None
        return Guest(connection, guest_config(folder, oom_files, self._runtime.packages))

    def _tools(self) -> dict[str, str]:
        return {**self._runtime.tools, "static": "-static" if self._hello["static"] else ""}

    def _why_missing(self, tool: str) -> str:
        if tool in self._runtime.unreadable:
            return f"{tool} cannot be read by the user inside; install it under /usr"
        return super()._why_missing(tool)


def find_bubblewrap() -> str:
    """The program; raises ``SandboxUnavailable`` with what to install."""
    found = shutil.which("bwrap")
    if found is not None:
        return found
    cure = next((line for tool, line in INSTALL.items() if shutil.which(tool)), INSTALL["apt-get"])
    raise SandboxUnavailable(f"bubblewrap (bwrap) is not installed here; run: {cure}")


def readable_inside(path: Path) -> bool:
    """Whether the user inside may read a path, or root can show it to that user."""
    if os.geteuid() != 0:
        return os.access(path, os.R_OK)
    return path.exists() and (_open_to_all(path) or _can_show())


def _open_to_all(path: Path) -> bool:
    return all(
        place.stat().st_mode & 0o005 == 0o005 for place in (path, *path.parents) if place.is_dir()
    )


def _can_show() -> bool:
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(line.split()[1], 16) >> _CAP_SYS_ADMIN & 1)


class BubblewrapConnection(Connection):
    """One bubblewrap with a guest in it."""

    def __init__(
        self, program: str, runtime: Runtime, hierarchy: Hierarchy | None, workspace: bool
    ) -> None:
        self.cgroup = Cgroup(hierarchy) if hierarchy is not None else None
        ours, theirs = socket.socketpair()
        self.stream = ours
        self._errors = os.memfd_create("errors", os.MFD_CLOEXEC)
        config = launcher_config(program, runtime, workspace, theirs.fileno(), self.cgroup)
        try:
            self._process = start_child(lambda: self._start(config, theirs.fileno()))
        except BaseException:
            ours.close()
            os.close(self._errors)
            if self.cgroup is not None:
                self.cgroup.remove()
            raise
        finally:
            theirs.close()

    def _start(self, config: dict[str, Any], fd: int) -> Process:
        launcher = Path(__file__).with_name("launcher.py")
        return subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-I", "-S", str(launcher), json.dumps(config)],
            pass_fds=[fd],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            env={"PATH": "/usr/bin:/bin"},
            cwd="/",
            start_new_session=True,
        )

    def limit(self, memory_mb: int, processes: int) -> None:
        """Set the cgroup's limits, where there is one."""
        if self.cgroup is not None:
            self.cgroup.limit((memory_mb + _OWN_MB) << 20, processes + _OWN_PROCESSES)

    def ran_out_of_memory(self) -> bool:
        """Whether the cgroup has counted a kill."""
        return self.cgroup is not None and self.cgroup.oom_kills() > 0

    def end(self) -> str:
        """Wait for the guest, which ends when the host hangs up; then remove the cgroup.

        Killing bubblewrap takes the namespace with it, but leaves reaping the guest to the
        host's process 1, which in many containers reaps nothing.
        """
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        said = os.pread(self._errors, 4000, 0).decode("utf-8", "replace")
        os.close(self._errors)
        if self.cgroup is not None:
            self.cgroup.remove()
        return said


def launcher_config(
    program: str, runtime: Runtime, workspace: bool, fd: int, cgroup: Cgroup | None
) -> dict[str, Any]:
    """What ``launcher.py`` is told."""
    root = os.geteuid() == 0
    shown = [] if not root else [s for s in runtime.mounts.values() if not _open_to_all(Path(s))]
    stage = next(s for s in _STAGES if Path(s).is_dir() and not any(p.startswith(s) for p in shown))
    sources = {source: f"{stage}/{number}" for number, source in enumerate(shown)}
    mounts = {inside: sources.get(source, source) for inside, source in runtime.mounts.items()}
    oom_file = cgroup.oom_file if cgroup is not None else None
    command = bubblewrap_command(program, runtime, mounts, workspace, oom_file)
    return {
        "cgroups": cgroup.procs_files if cgroup is not None else [],
        "stage": stage,
        "shown": shown,
        "stack": _STACK,
        "user": NOBODY if root else None,
        "group": NOBODY if root else None,
        "argv": command + loader_command(runtime.python, fd, fd),
    }


def bubblewrap_command(
    program: str,
    runtime: Runtime,
    mounts: dict[str, str],
    workspace: bool,
    oom_file: Path | None,
) -> list[str]:
    """The command line up to the program to run."""
    command = [program, "--unshare-all", "--as-pid-1", "--cap-drop", "ALL", "--new-session"]
    command += ["--die-with-parent", "--clearenv", "--hostname", "sandbox"]
    command += ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        place = Path("/", name)
        if place.is_symlink():
            command += ["--symlink", str(place.readlink()), str(place)]
        elif place.is_dir():
            command += ["--ro-bind", str(place), str(place)]
    for inside, source in mounts.items():
        command += ["--ro-bind", source, inside]
    for folder in runtime.hidden:
        command += ["--size", "4096", "--tmpfs", folder, "--remount-ro", folder]
    if oom_file is not None:
        command += ["--ro-bind", str(oom_file), OOM_FILE]
    command += ["--proc", "/proc", "--remount-ro", "/proc"]
    if workspace:  # a compiler could be told to include /dev/urandom
        command += ["--tmpfs", "/dev", "--dev-bind", "/dev/null", "/dev/null"]
        command += ["--size", str(_WORKSPACE_BYTES), "--tmpfs", WORKSPACE]
    else:
        command += ["--dev", "/dev"]
    command += ["--remount-ro", "/dev"]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    # Bound now: else every fork would look up the same functions of the C library again.
    bound = {"OMP_NUM_THREADS": "1", "LANG": "C.UTF-8", "LD_BIND_NOW": "1"}
    for key, value in {**environment, **bound}.items():
        command += ["--setenv", key, value]
    return [*command, "--remount-ro", "/", "--chdir", "/", "--"]
