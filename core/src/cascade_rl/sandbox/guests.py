"""Running programs in guests: what the bubblewrap, Docker and plain backends have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cascade_rl.sandbox import starter
from cascade_rl.sandbox.artifacts import Artifact, ArtifactCache, artifact_key
from cascade_rl.sandbox.base import COMPILE_LIMITS, Sandbox
from cascade_rl.sandbox.errors import LanguageMissing, SandboxError
from cascade_rl.sandbox.guest_process import Guest
from cascade_rl.sandbox.jobs import (
    Request,
    Traits,
    build_request,
    memory_of,
    processes_of,
    run_request,
    source_bytes,
    talk_request,
    timeout_s,
)
from cascade_rl.sandbox.languages import LANGUAGES, Language, find_language
from cascade_rl.sandbox.link import GuestDied
from cascade_rl.sandbox.outcomes import compile_outcome, outcome_of
from cascade_rl.sandbox.pool import GuestPool, Slot
from cascade_rl.sandbox.relay import Side, relay
from cascade_rl.sandbox.types import (
    DEFAULT_LIMITS,
    NO_INPUT,
    Exchange,
    Limits,
    Outcome,
    Program,
    Status,
    TestRun,
)

StopOn = Callable[[Outcome], bool]


class GuestSandbox(Sandbox):
    """A sandbox made of guests. A backend says how to start one (``_start``)."""

    def __init__(self, workers: int, traits: Traits) -> None:
        self.traits = traits
        self._artifacts = ArtifactCache()
        self._starter: bytes | None = None
        self._answers = GuestPool(lambda: self._start(workspace=False), workers)
        self._judges = GuestPool(lambda: self._start(workspace=False), workers)
        self._builders = GuestPool(lambda: self._start(workspace=True), 1)

    @abstractmethod
    def _start(self, workspace: bool) -> Guest:
        """Start a guest; raises ``GuestDied``."""

    @abstractmethod
    def _tools(self) -> dict[str, str]:
        """Tool -> path inside, and "static": the flag to link statically, or nothing."""

    def _why_missing(self, tool: str) -> str:
        return f"{tool} is not installed"

    def languages(self) -> tuple[str, ...]:
        """Python, and every row whose tools are here."""
        tools = self._tools()
        return tuple(row.name for row in LANGUAGES.values() if set(row.tools) <= set(tools))

    def compile(self, program: Program, limits: Limits = COMPILE_LIMITS) -> Outcome:
        """See ``Sandbox.compile``."""
        return self._compiled(program, self._answers, limits).outcome

    def run(
        self,
        program: Program,
        tests: Iterable[TestRun],
        limits: Limits = DEFAULT_LIMITS,
        stop_on: StopOn | None = None,
    ) -> Iterator[Outcome]:
        """See ``Sandbox.run``."""
        return self._run_in(self._answers, program, tests, limits, stop_on)

    def check(
        self, program: Program, tests: Iterable[TestRun], limits: Limits = DEFAULT_LIMITS
    ) -> Iterator[Outcome]:
        """See ``Sandbox.check``."""
        return self._run_in(self._judges, program, tests, limits, None)

    def interact(
        self,
        program: Program,
        interactor: Program,
        test: TestRun = NO_INPUT,
        limits: Limits = DEFAULT_LIMITS,
        interactor_limits: Limits = DEFAULT_LIMITS,
    ) -> Exchange:
        """See ``Sandbox.interact``."""
        ours, theirs = find_language(program.language), find_language(interactor.language)
        interactor_limits = _patient(interactor_limits, limits)
        heard = interactor_limits.output_kb * 1024 + 1, limits.output_kb * 1024 + 1
        first = run_request(ours, TestRun(), limits, self.traits, self._tools())
        second = run_request(theirs, test, interactor_limits, self.traits, self._tools())
        requests = talk_request(first, "", heard[0], []), talk_request(second, "", heard[1], [])
        return self._converse((program, interactor), requests, (limits, interactor_limits), True)

    def examine(
        self,
        program: Program,
        examiner: Program,
        functions: Sequence[str] | Mapping[str, str],
        limits: Limits = DEFAULT_LIMITS,
        examiner_limits: Limits = DEFAULT_LIMITS,
    ) -> Exchange:
        """See ``Sandbox.examine``."""
        pairs = functions.items() if isinstance(functions, Mapping) else [(f, f) for f in functions]
        for language in (find_language(p.language) for p in (program, examiner)):
            if not language.native_python:
                raise SandboxError(f"only Python functions can be examined, not {language.name}")
        examiner_limits = _patient(examiner_limits, limits)
        heard = examiner_limits.output_kb * 1024 + 1, limits.output_kb * 1024 + 1
        python = LANGUAGES["python"]
        first = run_request(python, TestRun(), limits, self.traits, {})
        second = run_request(python, TestRun(), examiner_limits, self.traits, {})
        named = [[name, expression] for name, expression in pairs]
        requests = (
            talk_request(first, "serve", heard[0], []),
            talk_request(second, "examine", heard[1], named),
        )
        return self._converse((program, examiner), requests, (limits, examiner_limits), False)

    def close(self) -> None:
        """See ``Sandbox.close``."""
        for pool in (self._answers, self._judges, self._builders):
            pool.close()

    def _run_in(
        self,
        pool: GuestPool,
        program: Program,
        tests: Iterable[TestRun],
        limits: Limits,
        stop_on: StopOn | None,
    ) -> Iterator[Outcome]:
        language = find_language(program.language)
        artifact = self._compiled(program, pool, COMPILE_LIMITS)
        if not artifact.outcome.ok:
            yield artifact.outcome
            return
        with pool.slot() as slot:
            for test in tests:
                request = run_request(language, test, limits, self.traits, self._tools())
                outcome = self._run_one(slot, artifact, request, limits, language)
                yield outcome
                if stop_on is not None and stop_on(outcome):
                    return

    def _run_one(
        self, slot: Slot, artifact: Artifact, request: Request, limits: Limits, language: Language
    ) -> Outcome:
        def run(guest: Guest) -> Outcome:
            self._prepare(guest, artifact, limits, language)
            report, payload = guest.run(*request, timeout_s(limits))
            return outcome_of(report, payload, limits, memory_of(limits, language))

        return self._settle(slot, run)

    def _prepare(self, guest: Guest, artifact: Artifact, limits: Limits, row: Language) -> None:
        guest.connection.limit(memory_of(limits, row), processes_of(limits, row))
        if self._starter and not row.native_python:
            guest.equip(self._starter)
        guest.load(artifact.key, artifact.data)

    def _settle(self, slot: Slot, run: Callable[[Guest], Outcome]) -> Outcome:
        """Run; a guest that dies is replaced and the run tried once more.

        When that fails too it is the program's doing if the next guest is well, so that
        killing its guest is no way for an answer to stay unscored.
        """
        said = ""
        for _ in range(2):
            try:
                return run(slot.guest())
            except (GuestDied, OSError) as error:
                said = str(error)
                if slot.discard():
                    return Outcome(Status.MLE, message="the memory limit killed the whole sandbox")
        if self._healthy(slot):
            return Outcome(Status.RE, message=f"the sandbox ended under it, twice: {said}")
        return Outcome(Status.INFRA, message=f"the sandbox does not work: {said}")

    def _healthy(self, slot: Slot) -> bool:
        probe = Program("pass")
        try:
            artifact = self._compile_python(slot.guest(), probe, "probe", COMPILE_LIMITS)
        except (GuestDied, OSError):
            slot.discard()
            return False
        return artifact.outcome.ok

    def _compiled(self, program: Program, pool: GuestPool, limits: Limits) -> Artifact:
        language = find_language(program.language)
        key = artifact_key(program, language)
        artifact = self._artifacts.get(key)
        if artifact is None:
            if language.native_python:
                artifact = self._build_python(program, pool, key, limits)
            else:
                self._make_starter()
                artifact = self._build(program, language, key, limits)
            # What was given less time than usual and failed says nothing about the next time.
            if artifact.outcome.ok or (limits == COMPILE_LIMITS and not _is_infra(artifact)):
                self._artifacts.put(artifact)
        return artifact

    def _build_python(
        self, program: Program, pool: GuestPool, key: str, limits: Limits
    ) -> Artifact:
        made: list[Artifact] = []

        def run(guest: Guest) -> Outcome:
            made[:] = [self._compile_python(guest, program, key, limits)]
            return made[0].outcome

        with pool.slot() as slot:
            outcome = self._settle(slot, run)
        return made[0] if made else Artifact(key, compile_outcome(_blamed(outcome)))

    def _compile_python(self, guest: Guest, program: Program, key: str, limits: Limits) -> Artifact:
        python = LANGUAGES["python"]
        source = Artifact(f"source {key}", Outcome(Status.OK), source_bytes(program))
        self._prepare(guest, source, limits, python)
        header, payload = run_request(python, TestRun(), limits, self.traits, {})
        report, payload = guest.run({**header, "role": "compile"}, payload, timeout_s(limits))
        return self._made(report, payload, key, limits)

    def _make_starter(self) -> None:
        if self._starter is None and "gcc" in self._tools():
            made = self._build(starter.STARTER, starter.LANGUAGE, "starter", COMPILE_LIMITS)
            if made.outcome.status is not Status.INFRA:
                self._starter = made.data

    def _build(self, program: Program, language: Language, key: str, limits: Limits) -> Artifact:
        tools = self._tools()
        missing = [tool for tool in language.tools if tool not in tools]
        if missing:
            reasons = "; ".join(self._why_missing(tool) for tool in missing)
            raise LanguageMissing(
                f"{language.name} cannot be run in this sandbox: {reasons} "
                f"(here: {', '.join(self.languages())})"
            )
        request = build_request(program, language, limits, self.traits, tools)
        made: list[Artifact] = []

        def run(guest: Guest) -> Outcome:
            guest.connection.limit(memory_of(limits, language), processes_of(limits, language))
            made[:] = [self._made(*guest.ask(*request, timeout_s(limits)), key, limits)]
            return made[0].outcome

        with self._builders.slot() as slot:
            outcome = self._settle(slot, run)
        return made[0] if made else Artifact(key, compile_outcome(_blamed(outcome)))

    def _made(self, report: dict[str, Any], payload: bytes, key: str, limits: Limits) -> Artifact:
        size = report["result"]
        data = payload[len(payload) - size :]
        ran = outcome_of(
            {**report, "result": 0}, payload[: len(payload) - size], limits, limits.memory_mb
        )
        outcome = compile_outcome(ran)
        if outcome.ok and (not data or size > limits.output_kb * 1024):
            outcome = Outcome(Status.CE, message="the compiler made nothing, or too much")
        return Artifact(key, outcome, data if outcome.ok else b"")

    def _converse(
        self,
        programs: tuple[Program, Program],
        requests: tuple[Request, Request],
        limits: tuple[Limits, Limits],
        talked: bool,
    ) -> Exchange:
        rows = [find_language(program.language) for program in programs]
        pools = (self._answers, self._judges)
        pairs = zip(programs, pools, strict=True)
        made = [self._compiled(program, pool, COMPILE_LIMITS) for program, pool in pairs]
        if not all(artifact.outcome.ok for artifact in made):
            return Exchange(*(artifact.outcome for artifact in made))
        ends: list[Outcome] = []

        def talk(program: Guest, judge: Guest) -> Outcome:
            for guest, artifact, row, most in zip(
                (program, judge), made, rows, limits, strict=True
            ):
                self._prepare(guest, artifact, most, row)
            for guest, request in zip((program, judge), requests, strict=True):
                guest.link.send(*request)
            longest = timeout_s(limits[0]) + timeout_s(limits[1])
            sides = relay(program, judge, longest)
            ends[:] = [_ended(*each, talked) for each in zip(sides, limits, rows, strict=True)]
            return ends[0]

        with self._answers.slot() as first, self._judges.slot() as second:
            outcome = self._settle(first, lambda guest: _or_discard(second, guest, talk))
        return (
            Exchange(*ends)
            if ends
            else Exchange(outcome, Outcome(Status.INFRA, message=outcome.message))
        )


def _or_discard(slot: Slot, guest: Guest, talk: Callable[[Guest, Guest], Outcome]) -> Outcome:
    try:
        return talk(guest, slot.guest())
    except BaseException:  # both are in the middle of something
        slot.discard()
        raise


def _patient(judge: Limits, program: Limits) -> Limits:
    """A judge is idle while the program works, and that is not its fault."""
    return replace(judge, wall_s=judge.wall_s + 20 * (program.cpu_s + program.wall_s))


def _ended(side: Side, limits: Limits, row: Language, talked: bool) -> Outcome:
    """``talked``: what it sent is its standard output, not what it printed beside a protocol."""
    assert side.report is not None
    report, payload = side.report
    outcome = outcome_of({**report, "result": 0}, payload, limits, memory_of(limits, row))
    return replace(outcome, stdout=bytes(side.said)) if talked else outcome


def _is_infra(artifact: Artifact) -> bool:
    return artifact.outcome.status is Status.INFRA


def _blamed(outcome: Outcome) -> Outcome:
    return outcome if outcome.status is Status.INFRA else replace(outcome, status=Status.RE)
