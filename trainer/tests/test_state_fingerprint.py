"""Fingerprints: what counts as a difference, how it reads, and which forks it allows."""

import shutil
import sys

import pytest

from cascade_rl.config.resolved import ResolvedCascade, ResolvedDomain, ResolvedStage
from cascade_rl.config.schema import CascadeConfig
from cascade_rl.errors import RunError
from cascade_rl.hooks import DOMAIN_GROUP, MODIFIER_GROUP
from cascade_rl.registry import Announcement
from cascade_rl.types import Demonstration, LengthBudget, Prompt, SamplingParams, Stage
from cascade_rl_trainer.state import fingerprint, hashes, progress
from cascade_rl_trainer.state.fingerprint import check_resume, difference, fork_difference

STAGES = [
    {"name": "sft", "kind": "sft", "steps": 20, "domains": ["math"]},
    {"name": "math", "steps": 60, "domain": "math", "optimizer": {"betas": [0.9, 0.95]}},
    {"name": "ifeval", "steps": 40, "domain": "ifeval"},
]

GONE = (
    'stages[2]: {"name": "ifeval", "kind": "grpo", "steps": 40, "domain":... -> absent '
    "(cascade file)"
)


def resolve(stages=STAGES, level=1, overlong="keep", **keys):
    config = CascadeConfig.model_validate(
        {"name": "demo", "stages": stages, "model": {"build": {}}, **keys}
    )

    def domain(name):
        return ResolvedDomain(
            name=name,
            options={"level": level} if name == "math" else {},
            budget=LengthBudget(prompt_tokens=64, completion_tokens=64, overlong=overlong),
            sampling=SamplingParams(),
        )

    resolved = tuple(
        ResolvedStage(
            stage=Stage(name=stage.name, kind=stage.kind, index=i),
            config=stage,
            domains=tuple(domain(name) for name in stage.domain_names),
            origins={
                "steps": f"demo.yaml:{10 + i}",
                "budget.overlong": "pack",
                **({"domains.math.budget.overlong": "pack of sft"} if i == 0 else {}),
            },
        )
        for i, stage in enumerate(config.stages)
    )
    evaluation = tuple(domain(name) for name in config.evaluated)
    origins = {"seed": "--set", "reward_timeout_s": "demo.yaml:3", "model.build.layers": "default"}
    return ResolvedCascade(config=config, stages=resolved, evaluation=evaluation, origins=origins)


@pytest.fixture
def pack(tmp_path, monkeypatch):
    """An importable package as an entry point names it; announces no dependencies of its own."""
    folder = tmp_path / "cascade_rl_demo_pack"
    folder.mkdir()
    (folder / "__init__.py").write_text("x = 1\n")
    (folder / "words.json").write_text("[]")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def announce(name="math", value="cascade_rl_demo_pack:hooks", group=DOMAIN_GROUP, version="0.1.0"):
    return Announcement(group, name, value, "cascade-rl", version, "")


def take(cascade=None, packs=(), data=None, threads=2, device="cpu"):
    return fingerprint.take(cascade or resolve(), packs, data or {}, threads, device)


def change(**stage_keys):
    """The cascade with the second stage changed."""
    return [STAGES[0], {**STAGES[1], **stage_keys}, STAGES[2]]


def test_nothing_differs_from_itself_even_through_json(pack):
    old = take(packs=[announce()], data={"math train": "400 prompts, ab"})
    again = fingerprint.Fingerprint.model_validate_json(old.model_dump_json())
    assert again == old
    assert difference(again, take(packs=[announce()], data={"math train": "400 prompts, ab"})) == []
    check_resume(again, old)


@pytest.mark.parametrize(
    "keys",
    [
        {"name": "other"},
        {"output": "elsewhere"},
        {"workers": 4},
        {"checkpoint_every": 1},
        {"threads": 2},
    ],
)
def test_what_changes_no_result_is_no_difference(keys):
    assert difference(take(), take(resolve(**keys))) == []


@pytest.mark.parametrize(
    ("cascade", "lines"),
    [
        ({"stages": change(steps=80)}, ["stages[1].steps: 60 -> 80 (demo.yaml:11)"]),
        (
            {"stages": change(optimizer={"betas": [0.9, 0.99]})},
            ["stages[1].optimizer.betas[1]: 0.95 -> 0.99 (cascade file)"],
        ),
        ({"seed": 1}, ["seed: 0 -> 1 (--set)"]),
        ({"reward_timeout_s": 60}, ["reward_timeout_s: 30.0 -> 60.0 (demo.yaml:3)"]),
        (
            {"model": {"build": {"layers": 4}}},
            ["model.build.layers: 2 -> 4 (default)"],
        ),
        (
            {"evaluation": {"samples": 8}},
            ["evaluation.samples: 4 -> 8 (cascade file)"],
        ),
        (
            {"stages": STAGES[:2], "evaluation": {"domains": ["math", "ifeval"]}},
            [GONE],
        ),
        (
            {"level": 2},
            [
                "evaluation.math.options.level: 1 -> 2 (cascade file)",
                "stages[0].resolved.math.options.level: 1 -> 2 (cascade file)",
                "stages[1].resolved.math.options.level: 1 -> 2 (cascade file)",
            ],
        ),
        (
            {"level": True},  # 1 == True in Python, not in YAML
            [
                "evaluation.math.options.level: 1 -> true (cascade file)",
                "stages[0].resolved.math.options.level: 1 -> true (cascade file)",
                "stages[1].resolved.math.options.level: 1 -> true (cascade file)",
            ],
        ),
    ],
)  # fmt: skip
def test_cascade_values(cascade, lines):
    assert difference(take(), take(resolve(**cascade))) == lines


def test_a_default_of_a_pack_names_the_pack():
    lines = difference(take(), take(resolve(overlong="mask")))
    assert "stages[0].resolved.math.budget.overlong: keep -> mask (pack of sft)" in lines
    assert "stages[1].resolved.math.budget.overlong: keep -> mask (pack)" in lines


def test_packs(pack):
    old = take(packs=[announce(), announce("length", group=MODIFIER_GROUP)])
    assert list(old.packs) == ["math", "modifier length"]
    (pack / "__pycache__").mkdir()
    (pack / "__pycache__" / "words.pyc").write_bytes(b"compiled")
    assert difference(old, take(packs=[announce(), announce("length", group=MODIFIER_GROUP)])) == []
    (pack / "words.json").write_text("[1]")
    assert difference(old, take(packs=[announce(version="0.2.0")])) == [
        "pack math: 0.1.0 -> 0.2.0",
        "pack modifier length: no longer used",
    ]
    assert difference(take(), take(packs=[announce()])) == ["pack math: added"]


def test_a_changed_source_with_the_same_version(pack):
    old = take(packs=[announce()])
    (pack / "__init__.py").write_text("x = 2\n")
    assert difference(old, take(packs=[announce()])) == ["pack math: source changed (0.1.0)"]


def test_dependencies_versions_threads_device_and_data(pack):
    old = take(packs=[announce()], data={"math train": "400 prompts, ab"})
    assert "pydantic" in old.packs["math"].dependencies
    assert {"python", "torch", "transformers", "tokenizers", "cascade-rl"} < set(old.versions)
    values = old.model_dump()
    values["versions"] |= {"torch": "2.14.0"}
    values["packs"]["math"]["dependencies"]["pydantic"] = "9.0"
    values |= {"threads": 4, "device": "cuda", "data": {"math train": "420 prompts, cd"}}
    new = fingerprint.Fingerprint.model_validate(values)
    pydantic = old.packs["math"].dependencies["pydantic"]
    assert difference(old, new) == [
        f"pack math, dependency pydantic: {pydantic} -> 9.0",
        "data math train: 400 prompts, ab -> 420 prompts, cd",
        f"torch: {old.versions['torch']} -> 2.14.0",
        "threads: 2 -> 4",
        "device: cpu -> cuda",
    ]


def test_the_refusal_lists_the_differences_and_the_ways_out():
    with pytest.raises(RunError) as caught:
        check_resume(take(), take(resolve(change(steps=80)), threads=4))
    assert str(caught.value) == (
        "this run was started with something else, so it cannot be resumed:\n"
        "  stages[1].steps: 60 -> 80 (demo.yaml:11)\n"
        "  threads: 2 -> 4\n"
        "Restore them, use another output folder, or pass `--fork NAME` to start anew from stage "
        "NAME (sft, math)."
    )
    with pytest.raises(RunError, match=r"Restore them, or use another output folder\.$"):
        check_resume(take(), take(resolve(seed=1)))


def test_a_fork_keeps_only_what_was_told_the_same():
    old, new = take(), take(resolve(change(steps=80)), threads=4)
    assert fork_difference(old, new, "math") == []
    assert fork_difference(old, new, "ifeval") == ["stages[1].steps: 60 -> 80 (demo.yaml:11)"]
    with pytest.raises(RunError, match="no stage 'code'; there are: sft, math, ifeval"):
        fork_difference(old, new, "code")


def test_prompt_hashes_see_ids_truths_order_and_completions():
    one, two = Prompt.from_text("1", "?", ground_truth=3), Prompt.from_text("2", "?")
    assert hashes.prompts_hash([one, two]).startswith("2 prompts, ")
    variants = [
        [one, two],
        [two, one],
        [one],
        [Prompt.from_text("1", "?", ground_truth="3"), two],
        [Demonstration.from_text("1", "?", ground_truth=3, completion="a"), two],
        [Demonstration.from_text("1", "?", ground_truth=3, completion="b"), two],
        [Prompt.from_text("1", "\ud800"), two],  # no valid UTF-8, but a pack's JSON can hold it
    ]
    assert len({hashes.prompts_hash(v) for v in variants}) == len(variants)


def test_module_hashes_follow_a_package_a_file_and_a_namespace(tmp_path, monkeypatch, pack):
    (tmp_path / "cascade_rl_single.py").write_text("x = 1\n")
    space = tmp_path / "cascade_rl_space" / "inner"
    space.mkdir(parents=True)
    (space / "__init__.py").write_text("")
    assert hashes.module_hash("cascade_rl_demo_pack.any:thing") == hashes.folder_hash(pack)
    assert hashes.module_hash("cascade_rl_space.inner") == hashes.folder_hash(space)
    single = hashes.module_hash("cascade_rl_single")
    (tmp_path / "cascade_rl_single.py").write_text("x = 2\n")
    assert hashes.module_hash("cascade_rl_single") != single
    with pytest.raises(ModuleNotFoundError, match="cascade_rl_no_such"):
        hashes.module_hash("cascade_rl_no_such:x")
    assert "cascade_rl_demo_pack" not in sys.modules  # hashed, not imported


def test_folder_hash_sees_names_and_moves(pack):
    first = hashes.folder_hash(pack)
    shutil.move(pack / "words.json", pack / "other.json")
    assert hashes.folder_hash(pack) != first


def make_record():
    return progress.RunRecord(
        name="demo", seed=0, started="2026-01-01T00:00:00+00:00", fingerprint=take()
    )


def test_the_run_record_walks_through_a_run(tmp_path):
    assert progress.load(tmp_path) is None
    record = make_record().begin("sft")
    assert record.current == "sft"
    done = progress.StageDone(name="sft", steps=20, seconds=1.5, warnings=("\ud800",))
    record = record.complete(done).worked(2.0)
    progress.save(tmp_path, record)
    found = progress.load(tmp_path)
    assert found == record
    assert found.is_done("sft")
    assert not found.is_done("math")
    assert (found.current, found.seconds, found.finished) == (None, 2.0, False)
    finished = found.begin("math").finish()
    assert (finished.current, finished.finished) == (None, True)


def test_a_fork_forgets_the_stages_from_there_on():
    record = make_record()
    for name in ("sft", "math", "ifeval"):
        record = record.complete(progress.StageDone(name=name, steps=1, seconds=1.0))
    new = take(resolve(change(steps=80)))
    forked = record.finish().fork("math", new)
    assert [s.name for s in forked.done] == ["sft"]
    assert (forked.finished, forked.fingerprint) == (False, new)


@pytest.mark.parametrize("text", ["", "{", "{}", '{"format": 2}'])
def test_a_foreign_run_file_is_named(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(RunError, match=r"run\.json is not a run record of this version"):
        progress.load(tmp_path)
