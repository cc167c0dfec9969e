"""Where a policy comes from and how it is put back on disk.

A policy is a causal language model with its tokenizer and template. The saved form is
always a plain Hugging Face folder that ``AutoModelForCausalLM`` opens, adapters merged in.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cascade_rl.config.schema import BuildConfig, ModelConfig
from cascade_rl.errors import ConfigError, RunError
from cascade_rl_trainer.model.build import build_model, build_tokenizer
from cascade_rl_trainer.model.gguf import convert_gguf, find_gguf
from cascade_rl_trainer.model.lora import add_lora, merged_state, unwrap
from cascade_rl_trainer.model.quiet import no_progress_bars
from cascade_rl_trainer.model.template import Template, make_template

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True)
class Policy:
    """A model that can be sampled from and trained."""

    model: Any
    tokenizer: PreTrainedTokenizerBase
    template: Template

    @property
    def stop_ids(self) -> tuple[int, ...]:
        """Tokens that end a completion."""
        return self.template.stop_ids

    @property
    def pad_id(self) -> int:
        """What fills rows of unequal length; never attended to, so any token will do."""
        pad = self.tokenizer.pad_token_id
        return self.stop_ids[0] if pad is None else int(pad)

    @property
    def device(self) -> Any:
        """Where the weights are."""
        return next(self.model.parameters()).device

    @property
    def context(self) -> int | None:
        """The longest sequence the model takes, in tokens, where its configuration says so."""
        length = getattr(self.model.config, "max_position_embeddings", None)
        return None if length is None else int(length)


def load_policy(
    config: ModelConfig,
    *,
    seed: int,
    cache_dir: Path,
    device: str = "cpu",
    folder: Path | None = None,
) -> Policy:
    """The policy that ``config`` describes, or the one saved in ``folder``, ready to train.

    Always float32: at a learning rate of 2e-6 most updates of a bfloat16 weight round to
    nothing. With ``config.lora`` a fresh adapter is added and everything else is frozen.
    ``cache_dir`` keeps converted GGUF files. Raises ``ConfigError`` (sizes, template, missing
    extra) and ``RunError`` (nothing to load there).
    """
    model, tokenizer = _source(config, seed, cache_dir, folder)
    eos = getattr(model.generation_config, "eos_token_id", None)
    template = make_template(tokenizer, config.chat_template, eos)
    if config.lora is not None:
        model = add_lora(model, config.lora, seed)
    model.to(device)
    return Policy(model, tokenizer, template)


def _source(
    config: ModelConfig, seed: int, cache_dir: Path, folder: Path | None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    if folder is not None:
        return _from_pretrained(str(folder))
    if config.build is not None:
        return _built(config.build, seed)
    if config.gguf is not None:
        return _from_pretrained(str(convert_gguf(find_gguf(config.gguf), cache_dir)))
    return _from_pretrained(str(config.path))


def _built(config: BuildConfig, seed: int) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    tokenizer = build_tokenizer(config.context)
    return build_model(config, tokenizer, seed), tokenizer


def _from_pretrained(name: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    expanded = Path(name).expanduser()
    source = str(expanded) if expanded.is_dir() else name
    bars = no_progress_bars() if expanded.is_dir() else nullcontext()  # a download shows its own
    try:
        with bars:
            tokenizer = AutoTokenizer.from_pretrained(source)
            model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    except (OSError, ValueError) as error:
        raise RunError(_why_not(name, expanded, error)) from error
    return model, tokenizer


def _why_not(name: str, folder: Path, error: Exception) -> str:
    cause = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if folder.is_dir():
        return f"the folder {name} does not hold a causal language model: {cause}"
    return (
        f"cannot load the model {name!r}: there is no such folder here, and the Hugging Face hub "
        f"could not provide it ({cause}). Give `model.path` a folder, check the spelling of the "
        "hub id and the network, or use `model.build` or `model.gguf`."
    )


def save_policy(policy: Policy, folder: Path) -> None:
    """Write the weights (adapters merged), configuration, tokenizer and chat template.

    The policy itself is left as it is: training goes on with the same adapters.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model = unwrap(policy.model)
    with no_progress_bars():
        model.save_pretrained(folder, state_dict=merged_state(policy.model))
        policy.tokenizer.save_pretrained(folder)


def trainable_parameters(policy: Policy) -> dict[str, Parameter]:
    """The parameters that training changes, by name: all, or the adapters alone."""
    return {n: p for n, p in policy.model.named_parameters() if p.requires_grad}


def load_trainable(policy: Policy, state: Mapping[str, Tensor]) -> None:
    """Put back what ``trainable_parameters`` held; names and shapes must match exactly."""
    import torch

    parameters = trainable_parameters(policy)
    if parameters.keys() != state.keys():
        differ = sorted(parameters.keys() ^ state.keys())
        raise ConfigError(f"these weights belong to another model; they differ in {differ[:5]}")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(state[name])
