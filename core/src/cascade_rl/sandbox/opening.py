"""``open_sandbox``: from a kind's name to a sandbox that works on this host, or an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from cascade_rl.sandbox.base import Sandbox
from cascade_rl.sandbox.errors import SandboxError, SandboxUnavailable

Kind = Literal["auto", "bubblewrap", "docker", "remote", "none"]
KINDS: tuple[str, ...] = ("auto", "bubblewrap", "docker", "remote", "none")


def open_sandbox(
    kind: Kind = "auto",
    *,
    workers: int = 1,
    url: str | None = None,
    image: str | None = None,
    docker_host: str | None = None,
) -> Sandbox:
    """A sandbox of this kind, with up to ``workers`` runs at once.

    "auto" is bubblewrap, else docker when ``image`` is given, else remote when ``url`` is;
    never "none", which isolates nothing and must be asked for by name. ``url`` is that of a
    SandboxFusion server. Raises ``SandboxUnavailable`` with what to install.
    """
    options = {"workers": workers, "url": url, "image": image, "docker_host": docker_host}
    if kind not in KINDS:
        raise SandboxError(f"sandbox {kind!r}: the kinds are {', '.join(KINDS)}")
    return _OPENERS[kind](options)


def _auto(options: dict[str, Any]) -> Sandbox:
    try:
        return _bubblewrap(options)
    except SandboxUnavailable as error:
        for name, kind in (("image", "docker"), ("url", "remote")):
            if options[name] is not None:
                return _OPENERS[kind](options)
        raise SandboxUnavailable(
            f"{error}\nWithout isolation nothing is run: kind 'none' has to be asked for by name."
        ) from error


def _bubblewrap(options: dict[str, Any]) -> Sandbox:
    from cascade_rl.sandbox.bubblewrap import BubblewrapSandbox

    return BubblewrapSandbox(options["workers"])


def _docker(options: dict[str, Any]) -> Sandbox:
    from cascade_rl.sandbox.containers import DockerSandbox

    if options["image"] is None:
        raise SandboxError("the docker sandbox wants image=: any image with Python 3.9 or newer")
    return DockerSandbox(options["image"], options["workers"], options["docker_host"])


def _remote(options: dict[str, Any]) -> Sandbox:
    from cascade_rl.sandbox.remote import RemoteSandbox

    if options["url"] is None:
        raise SandboxError("the remote sandbox wants url=: that of a SandboxFusion server")
    return RemoteSandbox(options["url"])


def _none(options: dict[str, Any]) -> Sandbox:
    from cascade_rl.sandbox.plain import PlainSandbox

    return PlainSandbox(options["workers"])


_OPENERS: dict[str, Callable[[dict[str, Any]], Sandbox]] = {
    "auto": _auto,
    "bubblewrap": _bubblewrap,
    "docker": _docker,
    "remote": _remote,
    "none": _none,
}
