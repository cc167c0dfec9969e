"""``cascade plan --backend verl``: each stage's command and configuration, checked, not run."""

from __future__ import annotations

import shlex
from pathlib import Path

from cascade_rl.config import output_folder
from cascade_rl.config.resolved import ResolvedCascade, ResolvedStage
from cascade_rl.config.schema import CascadeConfig
from cascade_rl.errors import RunError
from cascade_rl_trainer.local.backend import device_of
from cascade_rl_trainer.verl import configure, launch
from cascade_rl_trainer.verl.accepted import require_accepted
from cascade_rl_trainer.verl.job import Job
from cascade_rl_trainer.verl.stage import visible_gpus
from cascade_rl_trainer.verl.version import require_verl


def plan(cascade: ResolvedCascade) -> str:
    """The text; raises ``ConfigError`` with everything that verl would not take."""
    device = _device(cascade.config)
    texts = _texts(cascade, device)
    variables = configure.environment(device, cascade.config.threads)
    blocks = [_block(cascade, stage, variables, texts) for stage in cascade.stages]
    return "\n".join([*blocks, _verdict(list(texts.values()), device)])


def require_runnable(cascade: ResolvedCascade) -> None:
    """Raise ``ConfigError`` for a ``verl:`` section of any stage that verl would not take.

    Before the first stage, not hours later; where there is no section nothing is asked.
    """
    device = device_of(cascade.config)
    texts = _texts(cascade, device)
    if cascade.config.verl or any(s.config.verl for s in cascade.stages):
        require_accepted(list(texts.values()), device)


def _texts(cascade: ResolvedCascade, device: str) -> dict[str, str]:
    """What verl would read in each stage that is decided and runs on verl, by its name."""
    model, texts = output_folder(cascade.config).absolute() / "model", {}
    for stage in cascade.stages:
        folder = _folder(cascade, stage)
        if stage.stage.kind != "sft" and stage.domains:
            job = Job(cascade=cascade, folder=str(folder), stage=stage.stage.index)
            config = configure.verl_config(job, str(model), device, visible_gpus())
            texts[stage.stage.name] = _yaml(configure.as_file(config, folder))
        model = folder / "model"
    return texts


def _folder(cascade: ResolvedCascade, stage: ResolvedStage) -> Path:
    return output_folder(cascade.config).absolute() / "stages" / stage.stage.name


def _device(config: CascadeConfig) -> str:
    """As the file says: a cluster is planned on a machine without any GPU, too."""
    return "cuda" if config.device == "cuda" else device_of(config)


def _verdict(texts: list[str], device: str) -> str:
    try:
        require_verl()
    except RunError as error:
        return f"verl's own schema was not asked: {error}"
    if texts:
        require_accepted(texts, device)
    return "verl takes these configurations" if texts else "no stage runs on verl"


def _block(
    cascade: ResolvedCascade,
    stage: ResolvedStage,
    variables: dict[str, str],
    texts: dict[str, str],
) -> str:
    name, folder = stage.stage.name, _folder(cascade, stage)
    if stage.stage.kind == "sft":
        return f"stage {name}: sft, in the local backend's own process\n"
    if name not in texts:
        return (
            f"stage {name}: not known here: the pack {stage.config.domain!r} is missing, and the "
            "file does not give all of budget (prompt_tokens, completion_tokens, overlong) and "
            "sampling (temperature, top_p, top_k, n)\n"
        )
    shown = [f"{key}={shlex.quote(value)} \\" for key, value in variables.items()]
    lines = [*shown, shlex.join(launch.command(folder))]
    body = "\n".join(f"  {line}" for line in lines)
    settings = "\n".join(f"    {line}" for line in texts[name].splitlines())
    return f"stage {name}: verl\n{body}\n  {folder / configure.CONFIG_FILE}:\n{settings}\n"


def _yaml(value: object) -> str:
    import yaml

    return str(yaml.safe_dump(value, sort_keys=False))
