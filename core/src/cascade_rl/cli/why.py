"""``cascade why``: the whole story of one sample, and the command that judges it again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cascade_rl.errors import DataError

if TYPE_CHECKING:
    from cascade_rl.engine import RewardEngine
    from cascade_rl.replay.run_folder import Rollout, StageRecord
    from cascade_rl.types import Reward

EPILOG = """
ID is STAGE:STEP:PROMPT:SAMPLE, as `cascade rescore` prints it. A part of it is enough: a prompt's
id, or STAGE:STEP:PROMPT; where several samples fit, they are listed.

Exit codes: 0 shown; 1 several samples fit; 2 there is none, or the run cannot be read.

Example: cascade why math-short:12:math-17+8:3 --run runs/laptop
"""
MOST_LISTED = 20
RUNS = Path("runs")


def why(
    sample: Annotated[str, typer.Argument(metavar="ID", help="Which sample.")],
    run: Annotated[
        Path | None, typer.Option(metavar="RUN", help="A run folder; default: the last in runs/.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Look into this verdict cache, too.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show why a sample got its reward: what was read, what decided, when, and beside whom."""
    from cascade_rl.replay.run_folder import read_stages

    folder = run or _last_run()
    fitting = [
        (stage, rollout)
        for stage in read_stages(folder)
        for rollout in stage.rollouts()
        if _fits(rollout, sample)
    ]
    exact = [pair for pair in fitting if pair[1].id == sample] or fitting
    if not exact:
        raise DataError(
            f"no sample {sample!r} in {folder}; an id is STAGE:STEP:PROMPT:SAMPLE, e.g. of "
            "`cascade rescore`, and a prompt's id alone lists its samples"
        )
    if len(exact) > 1:
        _list([rollout for _, rollout in exact])
        raise typer.Exit(1)
    stage, rollout = exact[0]
    group = [r for r in stage.rollouts() if r.group == rollout.group]
    story = _story(stage, rollout, group, cache)
    typer.echo(json.dumps(story, indent=2) if as_json else _text(story))


def _story(
    stage: StageRecord, rollout: Rollout, group: list[Rollout], cache: Path | None
) -> dict[str, Any]:
    from cascade_rl.engine import Item, RewardEngine
    from cascade_rl.replay.rescore import known_prompts

    with RewardEngine(stage.domain, stage.options, workers=1, cache=cache) as engine:
        prompt = rollout.to_prompt(known_prompts(engine.domain))
        item = Item(prompt=prompt, completion=rollout.to_completion(), budget=stage.budget)
        (now,) = engine.score([item])
        return {
            "id": rollout.id,
            "domain": f"{stage.domain} {engine.domain.version}",
            "prompt": rollout.prompt,
            "mode": rollout.mode,
            "ground_truth": rollout.ground_truth,
            "completion": rollout.completion,
            "tokens": rollout.tokens,
            "finish_reason": rollout.finish_reason,
            "stored": _verdict(rollout.to_reward()),
            "advantage": rollout.advantage,
            "group": {r.sample: r.reward for r in group},
            "now": {**_verdict(now), "extracted": now.extracted},
            "cache": _cache_word(engine, cache),
            "replay": _replay(stage, item.model_dump(mode="json")),
        }


def _verdict(reward: Reward) -> dict[str, Any]:
    kept = {"score", "correct", "status", "reason", "truncated", "components", "ms"}
    return reward.model_dump(mode="json", include=kept)


def _cache_word(engine: RewardEngine, cache: Path | None) -> str:
    if cache is None:
        return "not asked (--cache DIR)"
    return "hit" if engine.counts.get("cache_hits") else "miss"


def _replay(stage: StageRecord, item: dict[str, Any]) -> str:
    prompt, completion = item["prompt"], item["completion"]
    line = {
        "id": prompt["id"],
        "prompt": prompt["messages"],
        "ground_truth": prompt["ground_truth"],
        "mode": prompt["mode"],
        "metadata": prompt["metadata"],
        "completion": completion["text"],
        "finish_reason": completion["finish_reason"],
    }
    options = [
        f"--option {shlex.quote(f'{key}={json.dumps(value)}')}"
        for key, value in stage.options.items()
    ]
    command = " ".join(["cascade score", stage.domain, "-", *options])
    return f"printf '%s\\n' {shlex.quote(json.dumps(line))} | {command}"


def _text(story: dict[str, Any]) -> str:
    stored, now = story["stored"], story["now"]
    group = "  ".join(f"{n}: {_number(score)}" for n, score in story["group"].items())
    same = [stored[k] for k in ("score", "correct")] == [now[k] for k in ("score", "correct")]
    rows = [
        ("sample", story["id"]),
        ("domain", story["domain"]),
        ("prompt", f"{story['prompt']!r} (mode {story['mode']})"),
        ("ground truth", json.dumps(story["ground_truth"])),
        ("completion", repr(story["completion"])),
        ("", f"{story['tokens']} tokens, ended by {story['finish_reason']}"),
        ("stored", _line(stored)),
        ("advantage", f"{story['advantage']:+.4f}"),
        ("group", group),
        ("judged now", _line(now) + ("" if same else "  <- differs")),
        ("extracted", repr(now["extracted"])),
        ("cache", story["cache"]),
        ("again", story["replay"]),
    ]
    return "\n".join(f"{name:14}{value}" for name, value in rows)


def _line(verdict: dict[str, Any]) -> str:
    text = f"score {_number(verdict['score'])}"
    if verdict["correct"] is not None:
        text += f", {'right' if verdict['correct'] else 'wrong'}"
    if verdict["status"] != "scored":
        text += f", {verdict['status']}"
    text += ", truncated" if verdict["truncated"] else ""
    parts = ", ".join(f"{k} {_number(v)}" for k, v in verdict["components"].items())
    text += f"; {parts}" if parts else ""
    return f"{text}; {verdict['reason']}; {verdict['ms']} ms"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def _fits(rollout: Rollout, sample: str) -> bool:
    whole = rollout.id
    return sample in (whole, rollout.prompt_id) or whole.startswith(f"{sample}:")


def _list(rollouts: list[Rollout]) -> None:
    typer.echo(f"{len(rollouts)} samples fit:")
    for rollout in rollouts[:MOST_LISTED]:
        typer.echo(f"  {rollout.id}  score {_number(rollout.reward)}  {rollout.reason}")
    if len(rollouts) > MOST_LISTED:
        typer.echo(f"  and {len(rollouts) - MOST_LISTED} more")


def _last_run() -> Path:
    found = sorted(RUNS.glob("*/run.json"), key=lambda file: file.stat().st_mtime)
    if not found:
        raise DataError("there is no run in runs/; name one with --run")
    return found[-1].parent
