"""``cascade plan --backend verl``: each stage's command and configuration, checked, not run."""

from __future__ import annotations

import shlex
from pathlib import Path

from cascade_rl.config import output_folder
from cascade_rl.config.resolved import ResolvedCascade
from cascade_rl.errors import RunError
from cascade_rl_trainer.local.backend import device_of
from cascade_rl_trainer.verl import configure, launch
from cascade_rl_trainer.verl.accepted import require_accepted
from cascade_rl_trainer.verl.job import Job
from cascade_rl_trainer.verl.stage import visible_gpus
from cascade_rl_trainer.verl.version import require_verl


def plan(cascade: ResolvedCascade) -> str:
    """The text; raises ``ConfigError`` with everything that verl would not take."""
    run, device = output_folder(cascade.config).absolute(), device_of(cascade.config)
    model, texts, blocks = run / "model", [], []
    for stage in cascade.stages:
        folder = run / "stages" / stage.stage.name
        if stage.stage.kind == "sft":
            blocks.append(f"stage {stage.stage.name}: sft, in the local backend's own process")
        else:
            job = Job(cascade=cascade, folder=str(folder), stage=stage.stage.index)
            config = configure.verl_config(job, str(model), device, visible_gpus())
            text = _yaml(configure.as_file(config, folder))
            texts.append(text)
            variables = configure.environment(device, cascade.config.threads)
            blocks.append(_block(stage.stage.name, folder, variables, text))
        model = folder / "model"
    return "\n".join([*blocks, _verdict(texts, device)])


def _verdict(texts: list[str], device: str) -> str:
    try:
        require_verl()
    except RunError as error:
        return f"verl's own schema was not asked: {error}"
    if texts:
        require_accepted(texts, device)
    return "verl takes these configurations" if texts else "no stage runs on verl"


def _block(name: str, folder: Path, variables: dict[str, str], text: str) -> str:
    shown = [f"{key}={shlex.quote(value)} \\" for key, value in variables.items()]
    lines = [*shown, shlex.join(launch.command(folder))]
    body = "\n".join(f"  {line}" for line in lines)
    settings = "\n".join(f"    {line}" for line in text.splitlines())
    return f"stage {name}: verl\n{body}\n  {folder / configure.CONFIG_FILE}:\n{settings}\n"


def _yaml(value: object) -> str:
    import yaml

    return str(yaml.safe_dump(value, sort_keys=False))
