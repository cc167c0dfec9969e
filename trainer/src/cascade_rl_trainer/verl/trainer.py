"""Our trainer inside verl: the synchronous one, with our prompts, our masks and our advantages.

verl's loop, engine, rollout, weight sync and checkpoints are used as they are. What verl 0.9.1
offers no hook for is overridden here, each override in a few lines; the decisions themselves are
in ``stage_run``.
"""

from __future__ import annotations

import math
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import transfer_queue as tq
from omegaconf import open_dict
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.rl_dataset import collate_fn

from cascade_rl.errors import CascadeError, RunError
from cascade_rl.registry import Registry
from cascade_rl_trainer.local.rollout import Group
from cascade_rl_trainer.state.files import write_json
from cascade_rl_trainer.verl import checkpoints, evaluation, queue
from cascade_rl_trainer.verl.data import read_prompts
from cascade_rl_trainer.verl.job import job_of, write_outcome
from cascade_rl_trainer.verl.names import TRAINER_MODE
from cascade_rl_trainer.verl.stage_run import StageRun, Weighed
from cascade_rl_trainer.verl.tokens import template_of
from cascade_rl_trainer.verl.wire import COLUMN, Request


class NoPromptLeft(Exception):
    """The filter has left no prompt: the stage ends with the step before."""


class Groups:
    """In place of verl's replay buffer: waits for the groups that were asked for."""

    def __init__(self, buffer: Any, trainer: CascadeTrainer) -> None:
        self._buffer, self._trainer = buffer, trainer

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[Any, Any]:
        """The batch to train on; for the validation partition, whatever was sampled."""
        batch, metrics = self._wait(global_steps, partition_id, batch_size)
        return (self._trainer.choose(batch) if partition_id == "train" else batch), metrics

    def more(self, global_steps: int, count: int) -> Any:
        """So many groups more, once they have been asked for."""
        return self._wait(global_steps, "train", count)[0]

    def _wait(self, global_steps: int, partition: str, count: int) -> tuple[Any, Any]:
        found: tuple[Any, Any] = self._buffer.sample(
            global_steps=global_steps, partition_id=partition, batch_size=count
        )
        return found


@register_trainer(TRAINER_MODE)
class CascadeTrainer(PPOTrainerSync):  # type: ignore[misc]
    """Runs one job: a stage, or an evaluation."""

    def __init__(self, config: Any) -> None:
        self._job = job_of(config)
        self._folder = Path(self._job.folder)
        with open_dict(config):  # verl branches on this name; ours behaves like "sync"
            config.trainer.v1.trainer_mode = "sync"
        self._template = template_of(
            config.actor_rollout_ref.model.path, self._job.cascade.config.model.chat_template
        )
        self._order: dict[str, int] = {}
        self._groups: list[Group] = []
        self._keys: list[str] = []
        self._weighed = Weighed([], [])
        self._saved_at = -1
        warm = self._job.stage is not None and self._job.trained.config.optimizer.warmup_steps
        self._lr = 0.0 if warm else float(config.actor_rollout_ref.actor.optim.lr)
        super().__init__(config)

    # ---- prompts: ours instead of the data loader's ------------------------------------------

    def _build_replay_buffer(self) -> Groups:
        return Groups(super()._build_replay_buffer(), self)

    def _init_dataloader(self) -> None:
        super()._init_dataloader()
        prompts = read_prompts([self.train_dataset[i] for i in range(len(self.train_dataset))])
        self._places = {(domain, p.id): i for i, (domain, p) in enumerate(prompts)}
        if self._job.stage is not None:
            self._stage = StageRun(self._job, [p for _, p in prompts], Registry())

    def _next_train_batch(self, num_prompts: int | None = None) -> Any:
        self._order = {}
        requests = self._stage.draw(self._step, num_prompts or self.config.data.train_batch_size)
        if not requests:
            raise NoPromptLeft
        return self._rows(requests)

    def _rows(self, requests: list[Request]) -> Any:
        """verl's rows of these requests, each with its request and a uid."""
        rows = []
        for request in requests:
            row = dict(self.train_dataset[self._places[request.domain, request.prompt.id]])
            rows.append(row | {COLUMN: request.encode()})
        batch = collate_fn(rows)
        uids = [uuid.uuid4().hex for _ in rows]
        self._order |= {uid: len(self._order) + i for i, uid in enumerate(uids)}
        batch["uid"] = np.array(uids, dtype=object)
        data = tu.get_tensordict(batch)
        tu.assign_non_tensor_data(data, "global_steps", self.global_steps)
        return data

    # ---- one step -----------------------------------------------------------------------------

    @property
    def _step(self) -> int:
        return int(self.global_steps) - 1  # verl counts from 1

    def on_step_begin(self) -> None:
        """The temperature at which verl computes log-probabilities follows the schedule."""
        _, sampling = self._stage.limits(self._step)
        self.config.actor_rollout_ref.rollout.temperature = sampling.temperature

    def _step_once(self, metrics: Any, timing_raw: Any, _wanted: int) -> Any:
        # The feed may have given fewer prompts than a batch; verl pads the rest with masked rows.
        return super()._step_once(metrics, timing_raw, len(self._order))

    def choose(self, batch: Any) -> Any:
        """The rows of a batch that are trained on; draws more where the stage's filter says so."""
        tags: dict[str, Any] = {}
        keys_of: dict[str, list[str]] = {}

        def take(found: Any) -> list[Group]:
            sampled = queue.fetch(found, self._template, self._order)
            groups, keys = list(sampled.groups.values()), iter(sampled.keys)
            tags.update(zip(found.keys, found.tags, strict=True))
            keys_of.update({g.prompt.id: [next(keys) for _ in g.samples] for g in groups})
            self._stage.finish_groups(groups)
            return groups

        def draw_more(count: int, taken: frozenset[str]) -> list[Group]:
            requests = self._stage.draw(self._step, count, taken)
            if not requests:
                return []
            self._submit_batch_to_rollout(self._rows(requests))
            return take(self.replay_buffer.more(self.global_steps, len(requests)))

        self._groups = self._stage.choose(self._step, take(batch), draw_more)
        self._keys = [key for group in self._groups for key in keys_of[group.prompt.id]]
        queue.drop(sorted(tags.keys() - set(self._keys)), batch.partition_id)
        return type(batch)(
            keys=self._keys,
            tags=[tags[key] for key in self._keys],
            partition_id=batch.partition_id,
            extra_info=batch.extra_info,
        )

    def _compute_advantage(self, batch: Any, metrics: Any) -> Any:
        """verl's own first (rollout correction and its figures), then ours over its advantages."""
        batch = super()._compute_advantage(batch, metrics)
        self._weighed = self._stage.weigh(self._step, self._groups)
        weights = {
            key: queue.RowWeight(verdict.take_part, advantage, verdict.score)
            for key, verdict, advantage in zip(self._keys, *self._weighed, strict=True)
        }
        for key, tag in zip(batch.keys, batch.tags, strict=True):
            if key in weights and weights[key].score is None:
                tag["is_padding"] = True  # outside verl's figures, where a NaN would spread
        if self._weighed.trains:
            queue.write_weights(batch, weights)
        return batch

    def _update_actor(self, batch: Any, metrics: Any) -> Any:
        # AdamW moves weights by its momentum even without a gradient; so does no such step.
        return super()._update_actor(batch, metrics) if self._weighed.trains else batch

    def step(self, metrics: dict[str, Any], timing_raw: dict[str, Any]) -> Any:
        """verl's step, then our logs; ends the stage where its rules say so."""
        batch = super().step(metrics, timing_raw)
        _, sampling = self._stage.limits(self._step)
        lost = len(self._groups) * sampling.n - len(self._keys)
        update = {
            "grad_norm": self._finite(metrics.get("actor/grad_norm")),
            "entropy": metrics.get("actor/entropy"),
            "lr": self._lr_used(metrics),
            "lost": lost,
            "sampling_seconds": round(timing_raw.get("gen", 0.0), 4),
        }
        if lost:
            self._stage.warn("the rollout engine failed to give some completions; see verl.log")
        self._stage.finish_step(self._step, self._groups, self._weighed, update)
        if self._stage.ended is not None:
            self._stage.end(self.global_steps)
            self.total_training_steps = self.global_steps
        return batch

    def _finite(self, norm: float | None) -> float | None:
        """verl leaves the weights as they are where the gradient is not finite, and goes on."""
        if norm is not None and not math.isfinite(norm):
            raise RunError(
                f"stage {self._stage.name}, step {self.global_steps}: the gradient norm is {norm}; "
                "the weights were left as they were. A lower learning rate or more warm-up "
                "usually helps"
            )
        return norm

    def _lr_used(self, metrics: dict[str, Any]) -> float | None:
        """verl reports the rate after its scheduler's step: the next update's."""
        used, self._lr = self._lr, metrics.get("actor/lr", self._lr)
        return used if self._weighed.trains else None

    def on_step_end(self) -> None:
        """Save the last step of a stage that ends early, which verl did not see coming."""
        if self._stage.ended is not None and self._saved_at != self.global_steps:
            self._save_checkpoint()
        super().on_step_end()

    # ---- checkpoints --------------------------------------------------------------------------

    def _save_checkpoint(self) -> None:
        """Ours first: verl names the checkpoint complete at the end."""
        parent = Path(self.config.trainer.default_local_dir)
        folder = parent / f"global_step_{self.global_steps}"
        folder.mkdir(parents=True, exist_ok=True)
        state = {**self._stage.state(), "lr": self._lr}
        write_json(folder / checkpoints.STATE_FILE, state)
        super()._save_checkpoint()
        self._saved_at = self.global_steps
        checkpoints.remove_older(folder)

    def _load_checkpoint(self) -> None:
        found = checkpoints.latest(self._folder)
        super()._load_checkpoint()
        if self._job.stage is None:
            return
        state = checkpoints.state_of(found) if found is not None else None
        self._stage.resume(state)
        if state is not None:
            self._lr, self._saved_at = state["lr"], self.global_steps
            if state["ended"] is not None:
                self.total_training_steps = self.global_steps

    # ---- the whole run ------------------------------------------------------------------------

    def fit(self, agent_loop_manager: Any) -> None:
        """Run the job and leave ``outcome.json``; every error of ours is in it too."""
        try:
            self._fit(agent_loop_manager)
        except CascadeError as error:
            write_outcome(self._folder, error=str(error))
            raise
        finally:
            if self._job.stage is not None:
                self._stage.close()

    def _fit(self, agent_loop_manager: Any) -> None:
        reason = None
        try:
            super().fit(agent_loop_manager)
        except NoPromptLeft:
            reason, self.global_steps = "no prompt left that carries signal", self._step
        if self._job.stage is None:
            write_outcome(self._folder, ended="evaluated")
            return
        self.global_steps = steps = min(self.global_steps, self.total_training_steps)
        self._stage.end(steps, reason)
        if self._saved_at != steps:
            self._save_checkpoint()
        write_outcome(
            self._folder, steps=steps, ended=self._stage.ended, warnings=self._stage.warnings
        )

    def _validate(self) -> dict[str, float]:
        """The evaluation of every domain, in place of verl's."""
        prompts = read_prompts([self.train_dataset[i] for i in range(len(self.train_dataset))])
        asked, self._order = list(evaluation.requests(self._job, prompts)), {}
        batch = self._rows(asked)
        tu.assign_non_tensor_stack(batch, "__rollout_n__", [r.sampling.n for r in asked])
        tu.assign_non_tensor_data(batch, "validate", True)
        tags = [{"is_prompt": True, "status": "pending", "global_steps": 0} for _ in asked]
        tq.kv_batch_put(keys=list(self._order), partition_id="val", tags=tags)
        self.agent_loop_manager.generate_sequences(batch)
        found, _ = self.replay_buffer.sample(0, "val", len(asked))
        groups = queue.fetch(found, self._template, self._order).groups
        samples = evaluation.write_samples(self._folder, asked, groups)
        tq.kv_clear(keys=found.keys, partition_id="val")
        return {"evaluation/samples": float(len(samples))}
