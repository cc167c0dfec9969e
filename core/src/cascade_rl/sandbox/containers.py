"""The Docker backend: an outer wall round the same guest, which is process 1 of a container.

One long-lived container a guest: no network, read-only, no capabilities, no new privileges,
memory and process limits. Any image with Python 3.9 or newer will do; what else is in the
image (compilers, numpy) is what answers can use. Needs ``pip install "cascade-rl[docker]"``.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import struct
from typing import Any

from cascade_rl.sandbox.errors import SandboxUnavailable
from cascade_rl.sandbox.guest_process import Connection, Guest, guest_config, loader_command
from cascade_rl.sandbox.guests import GuestSandbox
from cascade_rl.sandbox.jobs import Traits
from cascade_rl.sandbox.languages import LANGUAGES
from cascade_rl.sandbox.link import GuestDied
from cascade_rl.sandbox.types import Isolation

LABEL = "cascade-rl-sandbox"
_WORKSPACE = "/box"
_MOST_MB = 2048  # for all that runs in one container at once; a run's own limit is the guest's
_MOST_PROCESSES = 512
_STDOUT = 1
_NUMBERS = itertools.count()
_OOM_FILES = ("/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events")


class AttachedStream:
    """A container's standard input and output as one stream.

    The engine multiplexes what the container writes: eight bytes (which stream, how long)
    before each part.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._raw = bytearray()
        self._left, self._kind = 0, 0
        self.errors = bytearray()

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return self._socket.fileno()

    def sendall(self, data: bytes) -> None:
        """Write to the container's standard input."""
        self._socket.sendall(data)

    def recv(self, size: int) -> bytes:
        """What the container has written to its standard output; waits for some."""
        while True:
            data = self._socket.recv(size)
            if not data:
                return b""
            self._raw += data
            if said := self._demultiplex():
                return said

    def shutdown(self, how: int) -> None:
        """Hang up."""
        self._socket.shutdown(how)

    def close(self) -> None:
        """Hang up, and let go of the descriptor."""
        self._socket.close()

    def _demultiplex(self) -> bytes:
        said = bytearray()
        while self._raw:
            if not self._left:
                if len(self._raw) < 8:
                    break
                self._kind, self._left = struct.unpack(">B3xI", self._raw[:8])
                del self._raw[:8]
            part = self._raw[: self._left]
            (said if self._kind == _STDOUT else self.errors).extend(part)
            self._left -= len(part)
            del self._raw[: len(part)]
        return bytes(said)


class DockerConnection(Connection):
    """One container with a guest in it."""

    def __init__(self, client: Any, image: str, python: str, workspace: bool) -> None:
        # A user of its own, so that its processes can be counted, and no other's can be touched.
        user = 200_000 + (os.getpid() * 64 + next(_NUMBERS)) % 1_000_000
        self._container = client.containers.create(
            image,
            loader_command(python, 0, 1),
            entrypoint="",
            name=f"{LABEL}-{os.getpid()}-{os.urandom(4).hex()}",
            labels=[LABEL],
            user=f"{user}:{user}",
            stdin_open=True,
            network_mode="none",
            ipc_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            mem_limit=f"{_MOST_MB}m",
            memswap_limit=f"{_MOST_MB}m",
            pids_limit=_MOST_PROCESSES,
            working_dir="/",
            environment={"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "LANG": "C.UTF-8"},
            tmpfs={_WORKSPACE: f"size=512m,mode=0700,uid={user},gid={user},exec"}
            if workspace
            else {},
            detach=False,  # else standard input would stay open when this process is killed
            auto_remove=True,
        )
        try:
            attached = self._container.attach_socket(
                params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            )
            self._attached = attached  # the owner: what is underneath lives as long as it does
            self.stream = AttachedStream(getattr(attached, "_sock", attached))
            self._container.start()
        except BaseException:
            self.end()
            raise

    def limit(self, memory_mb: int, processes: int) -> None:
        """The container's limits are fixed; the guest keeps the run's."""

    def end(self) -> str:
        """Remove the container with all that runs in it."""
        said = ""
        stream = getattr(self, "stream", None)
        if stream is not None:
            said = stream.errors[-4000:].decode("utf-8", "replace")
            self._attached.close()
        with contextlib.suppress(Exception):  # it removes itself when its guest ends
            self._container.remove(force=True)
        with contextlib.suppress(Exception):
            self._container.wait(condition="removed", timeout=10)
        return said


class DockerSandbox(GuestSandbox):
    """Guests in containers of one image."""

    def __init__(
        self, image: str, workers: int = 1, docker_host: str | None = None, python: str = "python3"
    ) -> None:
        self._client = connect(docker_host)
        self._image, self._python = image, python
        super().__init__(workers, Traits(namespace=True, cgroup=False, own_user=True))
        try:
            with self._answers.slot() as slot:
                self._hello = slot.guest().hello
        except Exception as error:
            self.close()
            raise SandboxUnavailable(f"no container of image {image!r} works: {error}") from error

    @property
    def isolation(self) -> Isolation:
        """See ``Sandbox.isolation``."""
        return Isolation(
            backend="docker",
            level="container",
            enforced={
                "cpu": "CPU time of the process tree, RLIMIT_CPU",
                "memory": f"RSS, looked at every 50 ms; the container's cgroup at {_MOST_MB} MiB",
                "processes": f"RLIMIT_NPROC; the container's cgroup at {_MOST_PROCESSES}",
                "output": "RLIMIT_FSIZE on memory files",
                "network": "network none",
                "files": "read-only container",
                **self._hello["walls"],
                "python": self._hello["python"],
            },
        )

    def close(self) -> None:
        """See ``Sandbox.close``."""
        super().close()
        self._client.close()

    def _start(self, workspace: bool) -> Guest:
        try:
            connection = DockerConnection(self._client, self._image, self._python, workspace)
        except Exception as error:
            raise GuestDied(f"the engine refused: {error}") from error
        tools = sorted({tool for row in LANGUAGES.values() for tool in row.tools})
        folder = _WORKSPACE if workspace else None
        return Guest(connection, guest_config(folder, list(_OOM_FILES), tools=tools))

    def _tools(self) -> dict[str, str]:
        return {**self._hello["tools"], "static": "-static" if self._hello["static"] else ""}

    def _why_missing(self, tool: str) -> str:
        return f"{tool} is not in the image {self._image}"


def connect(docker_host: str | None) -> Any:
    """A client of the engine; raises ``SandboxUnavailable`` when there is none."""
    try:
        import docker
    except ImportError as error:
        raise SandboxUnavailable(
            'the docker package is missing: pip install "cascade-rl[docker]"'
        ) from error
    client = None
    try:
        client = docker.DockerClient(base_url=docker_host) if docker_host else docker.from_env()
        client.ping()
    except Exception as error:
        if client is not None:
            client.close()
        where = docker_host or os.environ.get("DOCKER_HOST") or "the default socket"
        raise SandboxUnavailable(
            f"no Docker engine answers at {where} ({error}); start one, or give docker_host="
        ) from error
    return client
