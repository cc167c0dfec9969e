"""What a run depends on besides its cascade file: packs, data, threads, device."""

from __future__ import annotations

from pathlib import Path

from cascade_rl.config.resolved import ResolvedCascade
from cascade_rl.hooks import DOMAIN_GROUP, MODIFIER_GROUP
from cascade_rl.registry import Announcement, Registry
from cascade_rl_trainer.state.fingerprint import Fingerprint, take
from cascade_rl_trainer.state.hashes import folder_hash, prompts_hash


def take_fingerprint(
    cascade: ResolvedCascade, registry: Registry, threads: int, device: str
) -> Fingerprint:
    """Everything that decides the run's results; loads every prompt once."""
    return take(cascade, _packs(cascade, registry), _data(cascade, registry), threads, device)


def _packs(cascade: ResolvedCascade, registry: Registry) -> list[Announcement]:
    terms = [t for s in cascade.stages for t in s.config.rewards or ()]
    domains = dict.fromkeys(
        [*cascade.config.domain_names, *(t.domain for t in terms if t.domain is not None)]
    )
    modifiers = dict.fromkeys(t.modifier for t in terms if t.modifier is not None)
    return [
        *(registry.announcement(DOMAIN_GROUP, name) for name in domains),
        *(registry.announcement(MODIFIER_GROUP, name) for name in modifiers),
    ]


def _data(cascade: ResolvedCascade, registry: Registry) -> dict[str, str]:
    found: dict[str, str] = {}
    for stage in cascade.stages:
        for domain in stage.domains:
            pack = registry.open(domain.name, domain.options)
            sft = stage.stage.kind == "sft"
            prompts = pack.load_demonstrations("train") if sft else pack.load_prompts("train")
            found[f"{stage.stage.name}: {domain.name}"] = prompts_hash(prompts)
    for domain in cascade.evaluation:
        held_out = registry.open(domain.name, domain.options).load_prompts("eval")
        found[f"evaluation: {domain.name}"] = prompts_hash(held_out)
    path = cascade.config.model.path
    if path is not None and Path(path).expanduser().is_dir():
        found["model"] = folder_hash(Path(path).expanduser())
    return found
