"""The ``cascade`` command. Each verb is a file; other distributions add verbs by entry point."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated, Any

import typer

from cascade_rl.cli.check import EPILOG as CHECK_EPILOG
from cascade_rl.cli.check import check
from cascade_rl.cli.domains import domains
from cascade_rl.cli.new import EPILOG as NEW_EPILOG
from cascade_rl.cli.new import new
from cascade_rl.cli.plan import plan
from cascade_rl.cli.rescore import EPILOG as RESCORE_EPILOG
from cascade_rl.cli.rescore import rescore
from cascade_rl.cli.sandbox import add_to as add_sandbox
from cascade_rl.cli.score import EPILOG, score
from cascade_rl.cli.serve import EPILOG as SERVE_EPILOG
from cascade_rl.cli.serve import serve
from cascade_rl.cli.why import EPILOG as WHY_EPILOG
from cascade_rl.cli.why import why
from cascade_rl.errors import CascadeError, PackError, RunError
from cascade_rl.hooks import COMMAND_GROUP
from cascade_rl.registry import Registry, import_plugin

HELP = "Cascade RL: list domains, score and serve, plan and run cascades."

#: Verbs of ours that live in another distribution: what to install for each.
ELSEWHERE = {"run": "cascade-rl-trainer"}

BUILT_IN: dict[str, tuple[Callable[..., None], str | None]] = {
    "check": (check, CHECK_EPILOG),
    "domains": (domains, None),
    "new": (new, NEW_EPILOG),
    "plan": (plan, None),
    "rescore": (rescore, RESCORE_EPILOG),
    "score": (score, EPILOG),
    "serve": (serve, SERVE_EPILOG),
    "why": (why, WHY_EPILOG),
}


def build_app(verb: str | None) -> typer.Typer:
    """The app for one command line: every verb for ``--help``, else only the one asked for."""
    app = typer.Typer(
        help=HELP,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_top)  # also keeps a lone verb a verb
    for name, (function, epilog) in BUILT_IN.items():
        app.command(name, epilog=epilog)(function)
    add_sandbox(app)
    if verb not in BUILT_IN:
        _add_announced(app, verb)
    return app


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"cascade-rl {version('cascade-rl')}")
        raise typer.Exit


def _top(
    show: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version, and stop."
        ),
    ] = False,
) -> None:
    """What stands before every verb."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command; an error written for the user is one line and exit code 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    verb = next((word for word in arguments if not word.startswith("-")), None)
    try:
        build_app(verb)(args=arguments, prog_name="cascade")
    except CascadeError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except OSError as error:  # a full disk, a closed pipe: not a verdict on any sample
        with contextlib.suppress(OSError):
            typer.echo(f"error: {error.strerror}: {error.filename or 'the output'}", err=True)
        os._exit(2)  # flushing what cannot be written would only fail again


def _add_announced(app: typer.Typer, verb: str | None) -> None:
    registry = Registry()
    announced = registry.discovery.names(COMMAND_GROUP)
    for name in sorted({*announced, *ELSEWHERE}):
        if verb not in (None, name) or name in BUILT_IN:
            continue
        if name not in announced:
            _add_stub(app, name, f"pip install {ELSEWHERE[name]}")
            continue
        try:
            function: Any = import_plugin(registry.announcement(COMMAND_GROUP, name))
        except PackError as error:
            _add_stub(app, name, str(error))
        else:
            app.command(name)(function)


def _add_stub(app: typer.Typer, name: str, cure: str) -> None:
    def stub() -> None:
        raise RunError(f"`cascade {name}` cannot be used here: {cure}")

    app.command(
        name,
        help=f"Not available here: {cure}",
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )(stub)
