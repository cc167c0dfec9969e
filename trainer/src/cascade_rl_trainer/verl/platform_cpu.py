"""verl on a CPU: a platform, and the two of its private names that have to be replaced.

For tests, laptops and debugging. Accelerators are spread over Ray's "GPU" resource, of which a
CPU run declares one; torch.cpu stands for the device module, with what verl asks of it and
torch.cpu lacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import verl.utils.distributed as distributed
import verl.workers.rollout.base as rollout_base
from verl.plugin.platform import PlatformBase, PlatformRegistry
from verl.workers.rollout.replica import RolloutReplicaRegistry

from cascade_rl_trainer.verl.names import PLATFORM, ROLLOUT

#: What ``install`` replaces: (module, attribute). A test asserts that verl still has them.
PATCHED = (
    (distributed, "initialize_global_process_group_ray"),
    (rollout_base, "_ROLLOUT_REGISTRY"),
)
ADAPTER = "cascade_rl_trainer.verl.rollout_cpu.CpuRollout"


class _Device:
    """torch.cpu as the module of an accelerator."""

    def __eq__(self, other: object) -> bool:
        return other is torch.cpu or other is self  # verl compares it with torch.cpu

    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cpu, name)

    def is_available(self) -> bool:
        return False  # asked as "is there an accelerator"

    def device_count(self) -> int:
        return 1

    def get_device_name(self, *_: Any) -> str:
        return "CPU"

    def mem_get_info(self, *_: Any) -> tuple[int, int]:
        return 0, 0

    def get_rng_state(self, *_: Any) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, *_: Any) -> None:
        torch.set_rng_state(state)

    def _zero(self, *_: Any) -> int:
        return 0

    def _nothing(self, *_: Any) -> None:
        return None

    memory_allocated = memory_reserved = _zero
    max_memory_allocated = max_memory_reserved = _zero
    empty_cache = synchronize = set_device = reset_peak_memory_stats = _nothing
    manual_seed = manual_seed_all = _nothing


@PlatformRegistry.register(platform=PLATFORM)
class CpuPlatform(PlatformBase):  # type: ignore[misc]
    """The methods are verl's; what a CPU has none of is empty or zero."""

    device_name = vendor_name = "cpu"
    device_module = _Device()

    def is_available(self) -> bool:
        return True

    def current_device(self) -> str:
        return "cpu"

    def device_count(self) -> int:
        return 1

    def set_device(self, device_index: int) -> None:
        pass

    def synchronize(self, device_index: int | None = None) -> None:
        pass

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        pass

    def empty_cache(self) -> None:
        pass

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        yield

    def profiler_start(self) -> None:
        pass

    def profiler_stop(self) -> None:
        pass

    def ray_resource_name(self) -> str:
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self) -> bool:
        return False

    def cudart(self) -> None:
        return None


def install() -> None:
    """Make verl use this platform's process group and know our rollout."""
    original = distributed.initialize_global_process_group_ray

    def with_gloo(timeout_second: int | None = None, **_: Any) -> None:
        # verl would ask for "cpu:gloo,cpu:gloo", which torch refuses.
        original(timeout_second=timeout_second, backend="cpu:gloo")

    distributed.initialize_global_process_group_ray = with_gloo
    rollout_base._ROLLOUT_REGISTRY[ROLLOUT, "async"] = ADAPTER
    RolloutReplicaRegistry.register(ROLLOUT, _replica)


def _replica() -> Any:
    from cascade_rl_trainer.verl.rollout_cpu import CpuReplica

    return CpuReplica
