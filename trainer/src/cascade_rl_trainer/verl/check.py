"""Checks configurations against verl's own schema: ``python -m cascade_rl_trainer.verl.check``.

A process of its own, because verl reads its environment when it is imported. Takes the paths of
configuration files, prints one JSON list of problems a line, in their order. Starts nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from cascade_rl.errors import ConfigError
from cascade_rl.registry import did_you_mean

#: Sections that take any key, beside those that are empty in verl's defaults.
OPEN = (
    "hydra",
    "ray_kwargs.ray_init",
    "reward.reward_kwargs",
    "trainer.v1.cascade_rl",
    "actor_rollout_ref.model.override_config",
    "actor_rollout_ref.actor.fsdp_config.mixed_precision",
)


def main(paths: list[str]) -> None:
    """Check each file."""
    for path in paths:
        print(json.dumps(list(problems(Path(path)))))


def problems(path: Path) -> Iterator[str]:
    """What is wrong with one configuration file."""
    import hydra
    import yaml

    ours = yaml.safe_load(path.read_text(encoding="utf-8"))
    defaults = [d for d in ours.pop("defaults") if isinstance(d, dict)]
    engines = [d["override model_engine"] for d in defaults if "override model_engine" in d]
    ours.pop("hydra", None)
    found = list(_wrong(ours, _schema(*engines)))
    yield from found
    if found:
        return
    with hydra.initialize_config_dir(str(path.parent.resolve()), version_base=None):
        composed = hydra.compose(path.stem)
    for check in CHECKS:
        try:
            check(composed)
        except ConfigError as error:
            yield str(error)
        except Exception as error:  # verl raises whatever its dataclasses and asserts raise
            yield " ".join(f"{type(error).__name__}: {error}".split())[:500]


@cache
def _schema(*engines: str) -> Any:
    """verl's own configuration, composed once for all the files of an engine."""
    import hydra

    with hydra.initialize_config_module("verl.trainer.config", version_base=None):
        overrides = [f"model_engine={engine}" for engine in engines]
        return hydra.compose("ppo_trainer", overrides=overrides)


def _wrong(ours: dict[str, Any], schema: Any) -> Iterator[str]:
    """Keys that verl does not know, with the nearest it does, and values of another kind."""
    from cascade_rl_trainer.verl.sections import leaves

    for dotted, value in leaves(ours):
        node, at = schema, ""
        for part in dotted.split("."):
            path = f"{at}.{part}" if at else part
            if path in OPEN or _takes_any(node):
                break
            known = _keys(node)
            if part not in known:
                yield f"verl.{path}: verl has no such key{did_you_mean(part, sorted(known), '.')}"
                break
            node, at = _below(node, part), path
        else:
            kind = _kind(node)
            if kind is not None and kind != _kind(value) and not _stands_for_any(value):
                yield f"verl.{dotted}: must be {kind}, like verl's own {node!r}, got {value!r}"


def _kind(value: Any) -> str | None:
    """What a value must be where verl's default is of this kind; None where it may be anything."""
    if isinstance(value, bool):
        return "true or false"
    return "a number" if isinstance(value, int | float) else None


def _stands_for_any(value: Any) -> bool:
    return value is None or (isinstance(value, str) and "${" in value)


def _takes_any(node: Any) -> bool:
    return node is None or (hasattr(node, "keys") and not node.keys())


def _below(node: Any, part: str) -> Any:
    """A section or a value; a missing or interpolated value is one that takes anything."""
    from omegaconf import OmegaConf

    if (
        part not in node
        or OmegaConf.is_missing(node, part)
        or OmegaConf.is_interpolation(node, part)
    ):
        return None
    return node[part]


def _keys(node: Any) -> set[str]:
    """The keys of a section, and the fields of the class that it configures."""
    if not hasattr(node, "keys"):
        return set()
    return {str(k) for k in node} | set(_fields(node.get("_target_")))


def _fields(target: str | None) -> list[str]:
    import dataclasses

    from hydra.utils import get_class

    if not target:
        return []
    kind = get_class(target)
    return [f.name for f in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []


def _validate(config: Any) -> None:
    from verl.trainer.ppo.utils import need_reference_policy
    from verl.utils.config import validate_config

    validate_config(config, use_reference_policy=need_reference_policy(config), use_critic=False)


def _dataclasses(config: Any) -> None:
    """Build what verl builds when it starts.

    Not the model, which needs its files, nor the rewards' section, whose class verl 0.9.1 never
    builds (and cannot: its ``__post_init__`` calls one that its base does not have).
    """
    from verl.utils.config import omega_conf_to_dataclass

    for section in (
        config.actor_rollout_ref.rollout,
        config.actor_rollout_ref.actor,
        config.algorithm,
    ):
        omega_conf_to_dataclass(section)


def _reward(config: Any) -> None:
    from verl.trainer.ppo.reward import resolve_reward_manager_cls

    resolve_reward_manager_cls(config)


def _instead(name: str, known: Iterable[str]) -> str:
    return f"{did_you_mean(name, sorted(known), '.')} It has: {', '.join(sorted(known))}"


def _rollout(config: Any) -> None:
    """The name of the rollout engine; which engines are installed is another matter."""
    from verl.workers.rollout.replica import RolloutReplicaRegistry

    name, known = config.actor_rollout_ref.rollout.name, RolloutReplicaRegistry._registry
    if name not in known:
        raise ConfigError(
            f"verl.actor_rollout_ref.rollout.name: verl has no rollout engine {name!r}"
            f"{_instead(name, known)}"
        )


def _strategy(config: Any) -> None:
    """What trains, where it is FSDP: the other engines register only where they are installed."""
    from verl.workers.engine import EngineRegistry

    name, known = config.actor_rollout_ref.actor.strategy, EngineRegistry._engines["language_model"]
    if config.model_engine == "dp" and name not in known:
        raise ConfigError(
            f"verl.actor_rollout_ref.actor.strategy: verl has no strategy {name!r} here"
            f"{_instead(name, known)}"
        )


def _loggers(config: Any) -> None:
    from verl.utils.tracking import Tracking

    known, asked = Tracking.supported_backend, config.trainer.logger
    for name in [asked] if isinstance(asked, str) else asked:
        if name not in known:
            raise ConfigError(
                f"verl.trainer.logger: verl has no logger {name!r}{_instead(name, known)}"
            )


CHECKS: tuple[Callable[[Any], None], ...] = (
    _rollout,
    _strategy,
    _loggers,
    _validate,
    _dataclasses,
    _reward,
)


if __name__ == "__main__":
    main(sys.argv[1:])
