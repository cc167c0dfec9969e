"""Walks a cascade: model, stage, evaluation, matrix, gates, next stage, report.

Killed at any moment, the same call goes on: ``run.json`` says which stages are done, the
current stage's checkpoint how far it is, and whatever was half written is dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cascade_rl.config.resolved import ResolvedCascade, ResolvedStage
from cascade_rl.errors import CascadeError, RunError
from cascade_rl_trainer.backend import Backend, OnStep
from cascade_rl_trainer.report import html
from cascade_rl_trainer.report.gates import check_gates
from cascade_rl_trainer.report.matrix import BEFORE, Matrix
from cascade_rl_trainer.report.matrix import load as load_matrix
from cascade_rl_trainer.state import checkpoint, files, lock, progress
from cascade_rl_trainer.state.fingerprint import Fingerprint, check_resume, fork_difference
from cascade_rl_trainer.state.progress import RunRecord, StageDone

Say = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What ``run_cascade`` leaves: the matrix, the report, and whether anything was done."""

    matrix: Matrix
    report: Path
    warnings: tuple[str, ...]
    already_finished: bool = False


def run_cascade(
    cascade: ResolvedCascade,
    backend: Backend,
    fingerprint: Fingerprint,
    folder: Path,
    *,
    fork: str | None = None,
    on_step: OnStep,
    say: Say,
) -> Outcome:
    """Run, or go on with, a cascade in ``folder``.

    ``fork`` names a stage to start anew from although something changed; a fork that was
    stopped goes on when it is asked for again. Raises ``RunError``
    when another process uses the folder, when what decides the results has changed, when a
    stage cannot go on, or when a gate with action ``stop`` fails.
    """
    with lock.run_lock(folder):
        files.clean_up(folder)
        record = _opened(cascade, fingerprint, folder, fork)
        if record.finished:
            matrix = load_matrix(folder / "matrix.json")
            if matrix is not None:
                return Outcome(matrix, folder / "report.html", _warnings(record), True)
        return _Walk(cascade, backend, folder, record, on_step, say).run()


def _opened(
    cascade: ResolvedCascade, fingerprint: Fingerprint, folder: Path, fork: str | None
) -> RunRecord:
    record = progress.load(folder)
    if record is None:
        if fork is not None:
            raise RunError(f"--fork {fork}: there is no run in {folder} to fork from")
        record = RunRecord(
            name=cascade.config.name,
            seed=cascade.config.seed,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            fingerprint=fingerprint,
        )
    elif fork is not None and not record.goes_on_with(fork, fingerprint):
        refused = fork_difference(record.fingerprint, fingerprint, fork)
        if refused:
            listed = "\n".join(f"  {line}" for line in refused)
            raise RunError(f"--fork {fork}: something before it has changed too:\n{listed}")
        record = _forked(record, fork, fingerprint, folder)
    else:
        check_resume(record.fingerprint, fingerprint)
    progress.save(folder, record)
    return record


def _forked(record: RunRecord, fork: str, fingerprint: Fingerprint, folder: Path) -> RunRecord:
    names = fingerprint.stage_names
    kept = set(names[: names.index(fork)])
    missing = sorted(kept - {s.name for s in record.done})
    if missing:
        raise RunError(f"--fork {fork}: the stages before it are not done: {', '.join(missing)}")
    for old in (folder / "stages").glob("*"):
        if old.name not in kept:
            files.remove_folder(old)
    return record.fork(fork, fingerprint)


class _Walk:
    def __init__(
        self,
        cascade: ResolvedCascade,
        backend: Backend,
        folder: Path,
        record: RunRecord,
        on_step: OnStep,
        say: Say,
    ) -> None:
        self._cascade, self._backend, self._folder = cascade, backend, folder
        self._record, self._on_step, self._say = record, on_step, say
        settings = cascade.config.evaluation
        matrix = load_matrix(folder / "matrix.json")
        domains = [d.name for d in cascade.evaluation]
        self._matrix = matrix or Matrix.empty(domains, settings.samples)

    def run(self) -> Outcome:
        model = self._folder / "model"
        if not model.exists():
            self._backend.prepare(self._cascade, model)
        if BEFORE not in self._matrix.stages:
            self._evaluate(BEFORE, (), model)
        for stage in self._cascade.stages:
            target = self._folder / "stages" / stage.stage.name
            if not self._record.is_done(stage.stage.name):
                self._run_stage(stage, model, target)
            self._stop_at_gate(stage)
            model = target / "model"
        self._save(self._record.finish())
        html.write_report(self._folder)
        report = self._folder / "report.html"
        return Outcome(self._matrix, report, _warnings(self._record))

    def _run_stage(self, stage: ResolvedStage, model: Path, folder: Path) -> None:
        name, started = stage.stage.name, time.monotonic()
        self._save(self._record.begin(name))
        folder.mkdir(parents=True, exist_ok=True)
        try:
            result = self._backend.run_stage(self._cascade, stage, model, folder, self._on_step)
        except CascadeError:
            html.write_report(self._folder)  # its curves and rollouts say why
            raise
        self._matrix = self._matrix.rows_before(name)
        self._evaluate(name, stage.config.domain_names, folder / "model")
        gates = check_gates(self._matrix, name, stage.config.gates)
        failed = [g for g in gates if g.failed]
        warnings = (*result.warnings, *(g.message for g in failed))
        seconds = time.monotonic() - started
        done = StageDone(
            name=name,
            steps=result.steps,
            seconds=round(seconds, 1),
            ended=result.ended,
            warnings=warnings,
        )
        self._save(self._record.complete(done).worked(seconds))
        checkpoint.remove(folder)
        for gate in failed:
            self._say(f"warning: {gate.message}")
        html.write_report(self._folder)

    def _stop_at_gate(self, stage: ResolvedStage) -> None:
        gates = check_gates(self._matrix, stage.stage.name, stage.config.gates)
        stopped = [g.message for g in gates if g.failed and g.action == "stop"]
        if stopped:
            raise RunError(
                "; ".join(stopped) + ". The run stops here; its stages are kept. To go on all the "
                "same, change the gate (its action to `warn`, or max_drop) and run again."
            )

    def _evaluate(self, name: str, trained: tuple[str, ...], model: Path) -> None:
        samples = self._backend.evaluate(self._cascade, model, self._on_step)
        self._matrix = self._matrix.with_row(name, trained, samples)
        files.write_text(
            self._folder / "matrix.json", self._matrix.model_dump_json(indent=2) + "\n"
        )

    def _save(self, record: RunRecord) -> None:
        self._record = record
        progress.save(self._folder, record)


def _warnings(record: RunRecord) -> tuple[str, ...]:
    return tuple(f"{s.name}: {w}" for s in record.done for w in s.warnings)
