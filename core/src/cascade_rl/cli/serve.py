"""``cascade serve``: domains behind HTTP, for any trainer."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from cascade_rl.cli.options import parse_options
from cascade_rl.errors import ConfigError, RunError

EPILOG = """
Only the named domains are imported and served, each with the options given here; a request may
set only options that the pack marks as safe for it. Tokens come from --token-file (one a line)
or the variable CASCADE_SERVE_TOKENS; without one, only loopback addresses are served.

A YAML file holds the same settings: host, port, processes, unscored_as, limits (body_bytes,
batch_items, queue_items, request_s, grace_s), and domains: NAME: options, workers, timeout_s,
and for other trainers' routes mode, budget, cohort. --set changes any of them.

Example: cascade serve --domain math --option math.time_limit_s=2 --port 8000
"""


def serve(
    domain: Annotated[
        list[str] | None,
        typer.Option(
            "--domain", "--domains", metavar="NAME[,NAME]", help="Serve only these; repeatable."
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="DOMAIN.KEY=VALUE", help="An option of a pack; repeatable."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE.yaml", help="A settings file.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Default 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="Default 8000; 0 takes a free one.")] = None,
    processes: Annotated[int | None, typer.Option(help="Server processes. Default 1.")] = None,
    workers: Annotated[
        int | None, typer.Option(help="Verifier processes of each domain. Default 1.")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds a sample. Default 30.")] = None,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Accepted tokens, one a line.")
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Serve other machines without a token.")
    ] = False,
    unscored_as: Annotated[
        float | None,
        typer.Option(help="A number for samples without a score, in formats that have no null."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other setting; repeatable."),
    ] = None,
) -> None:
    """Serve rewards over HTTP: a native API, other trainers' formats, a page at /."""
    _require_extra()
    data = _read(config)
    _merge(data, _domains(data, domain or [], workers, timeout))
    _add_options(data, parse_options(option or []))
    given = {"host": host, "port": port, "processes": processes, "unscored_as": unscored_as}
    _merge(data, {key: value for key, value in given.items() if value is not None})
    _merge(data, {"insecure": True} if insecure else {})
    _merge(data, parse_options(settings or [], "--set"))
    _run(data, token_file, str(config) if config else "cascade serve")


def _require_extra() -> None:
    try:
        importlib.import_module("cascade_rl.service.processes")
        importlib.import_module("cascade_rl.service.server")
    except ModuleNotFoundError as error:
        raise RunError(
            f"`cascade serve` needs {error.name}: pip install 'cascade-rl[serve]'"
        ) from error


def _read(config: Path | None) -> dict[str, Any]:
    from cascade_rl.service.settings import read_config

    return read_config(config) if config is not None else {}


def _run(data: dict[str, Any], token_file: Path | None, where: str) -> None:
    """Serve until stopped; ``where`` is where the settings come from, for messages."""
    from cascade_rl.service import processes as several
    from cascade_rl.service import server
    from cascade_rl.service.settings import TOKENS_VARIABLE, build_settings, read_tokens

    data["tokens"] = read_tokens(token_file, os.environ.get(TOKENS_VARIABLE))
    built = build_settings(data, where)
    prepare = several.prepare if built.processes > 1 else server.prepare
    with server.bind(built.host, built.port) as listener:
        serve_until_stopped = prepare(built, listener)
        names = ", ".join(built.domains)
        typer.echo(f"cascade serve: {server.address(listener)} serves {names}", err=True)
        serve_until_stopped()


def _domains(
    data: dict[str, Any], names: list[str], workers: int | None, timeout: float | None
) -> dict[str, Any]:
    """The domains named on the command line, or the file's; each with the common settings."""
    wanted = [word for name in names for word in name.split(",") if word]
    in_file = data.get("domains") or {}
    if wanted:
        data["domains"] = {name: in_file.get(name) or {} for name in wanted}
    else:
        data["domains"] = {name: settings or {} for name, settings in in_file.items()}
    if not data["domains"]:
        raise ConfigError("name what to serve: --domain NAME; `cascade domains` lists the names")
    common = {"workers": workers, "timeout_s": timeout}
    common = {key: value for key, value in common.items() if value is not None}
    return {"domains": {name: dict(common) for name in data["domains"]}}


def _add_options(data: dict[str, Any], options: dict[str, Any]) -> None:
    for name, values in options.items():
        if name not in data["domains"] or not isinstance(values, dict):
            raise ConfigError(
                f"--option {name}…: say DOMAIN.KEY=VALUE with one of the served domains "
                f"({', '.join(data['domains'])})"
            )
        _merge(data["domains"][name], {"options": values})


def _merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    """Add nested mappings to nested mappings; other values replace."""
    for key, value in more.items():
        old = into.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            _merge(old, value)
        else:
            into[key] = value
