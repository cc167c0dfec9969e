"""Low-rank adapters (peft, the extra ``lora``): adding them, and reading weights through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cascade_rl.config.schema import LoraConfig
from cascade_rl.errors import ConfigError

if TYPE_CHECKING:
    from torch import Tensor


def add_lora(model: Any, config: LoraConfig, seed: int) -> Any:
    """The model with trainable adapters on ``config.targets``; all other weights frozen."""
    import torch

    try:
        from peft import LoraConfig as PeftConfig
        from peft import get_peft_model
    except ImportError as error:
        raise ConfigError(
            "model.lora needs peft; install it with: pip install 'cascade-rl-trainer[lora]'"
        ) from error
    _refuse_embeddings(model, config)
    settings = PeftConfig(
        r=config.r,
        lora_alpha=config.alpha,
        target_modules=list(config.targets),
        lora_dropout=0.0,
        bias="none",
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            return get_peft_model(model, settings)
        except ValueError as error:
            names = sorted({n.rsplit(".", 1)[-1] for n, _ in model.named_modules() if n})
            raise ConfigError(
                f"model.lora.targets {list(config.targets)} are not in this model, "
                f"which has: {', '.join(names)}"
            ) from error


def _refuse_embeddings(model: Any, config: LoraConfig) -> None:
    # Input and output embeddings are often one tensor: a merged adapter would change both.
    embeddings = (model.get_input_embeddings(), model.get_output_embeddings())
    for name, module in model.named_modules():
        if module in embeddings and name.rsplit(".", 1)[-1] in config.targets:
            raise ConfigError(
                f"model.lora.targets {list(config.targets)} include the embeddings, which this "
                "trainer cannot adapt; name linear layers of the blocks, such as q_proj"
            )


def unwrap(model: Any) -> Any:
    """The Hugging Face model inside a peft model; any other model as it is."""
    return model.get_base_model() if hasattr(model, "peft_config") else model


def linear_weight(layer: Any) -> Tensor:
    """The weight that a linear layer applies, its adapter included; no copy without one."""
    base = getattr(layer, "base_layer", None)
    if base is None:
        weight: Tensor = layer.weight
        return weight
    merged: Tensor = base.weight
    for name in layer.active_adapters:
        merged = merged + layer.get_delta_weight(name)
    return merged


def merged_state(model: Any) -> dict[str, Tensor]:
    """The state of the plain model with the adapters' deltas added; ``model`` is not changed.

    Merging in place and taking it out again would round the weights, and a resumed run
    would no longer equal an uninterrupted one.
    """
    inner = unwrap(model)
    state = {n.replace(".base_layer.", "."): t for n, t in inner.state_dict().items()}
    if inner is model:
        return dict(state)
    for name, layer in inner.named_modules():
        if hasattr(layer, "base_layer"):
            state[f"{name}.weight"] = linear_weight(layer).detach()
    return {n: t for n, t in state.items() if ".lora_" not in n}
