"""Every loading mistake is an error of its own, with the distribution, the place and the fix."""

from __future__ import annotations

import pytest

from cascade_rl import errors
from cascade_rl.registry import Registry

GOOD = """
from cascade_rl import LengthBudget, Prompt, Reward, SamplingParams, hookimpl

@hookimpl
def load_prompts(split):
    return [Prompt.from_text(f"p{i}", "?") for i in range(40)] if split == "train" else []

@hookimpl
def reward(completion): return 1.0

@hookimpl
def length_budget(): return LengthBudget(prompt_tokens=8, completion_tokens=8)

@hookimpl
def sampling_params(): return SamplingParams()
"""

HEAD = r"domain 'haiku' from fake-haiku 1.0 \(fake_haiku_haiku\)"

MISTAKES = {
    "import": (
        "import no_such_module_q",
        errors.PackImportError,
        HEAD + r" failed to import: ModuleNotFoundError: No module named 'no_such_module_q'. "
        r"Reinstall it \(pip install --force-reinstall fake-haiku\), or remove it",
    ),
    "missing": (
        GOOD.replace("@hookimpl\ndef reward(completion): return 1.0", ""),
        errors.MissingHook,
        HEAD + r": required hook missing: reward. Define it and decorate it with @hookimpl",
    ),
    "undecorated": (
        GOOD.replace("@hookimpl\ndef reward", "def reward"),
        errors.MissingHook,
        r"required hook missing: reward. It defines reward without @hookimpl; add the decorator",
    ),
    "misspelt": (
        GOOD + "\n@hookimpl\ndef load_promts(split): return []\n",
        errors.UnknownHook,
        HEAD + r": 'load_promts' carries @hookimpl but is no hook; did you mean 'load_prompts'\?",
    ),
    "argument": (
        GOOD.replace("def reward(completion)", "def reward(completon)"),
        errors.BadHookSignature,
        HEAD + r": hook 'reward' has no argument 'completon'; did you mean 'completion'\? "
        r"\(allowed: prompt, completion, budget, options\)",
    ),
    "positional order of another framework": (
        GOOD.replace("def reward(completion)", "def reward(data_source, solution_str)"),
        errors.BadHookSignature,
        r"hook 'reward' has no argument 'data_source' \(allowed: prompt, completion, budget",
    ),
    "a method outside of a class": (
        GOOD.replace("def reward(completion)", "def reward(self, completion)"),
        errors.BadHookSignature,
        r"hook 'reward' has no argument 'self'",
    ),
    "a module that exits": (
        "import sys; sys.exit(3)",
        errors.PackImportError,
        HEAD + r" failed to import: SystemExit: 3",
    ),
    "star arguments": (
        GOOD.replace("def reward(completion)", "def reward(**kwargs)"),
        errors.BadHookSignature,
        r"hook 'reward' takes \*\*kwargs; name the arguments it needs, any of: prompt, compl",
    ),
    "default that would hide the value": (
        GOOD.replace("def reward(completion)", "def reward(completion, options=None)"),
        errors.BadHookSignature,
        r"argument 'options' has a default, so it would never be passed; remove the default",
    ),
    "a module named like a hook": (
        GOOD + "\nimport json as examples\n",
        errors.MissingHook,
        r"'examples' is a module of the pack, which hides the hook .* rename the file examples.py",
    ),
    "newer hooks": (
        GOOD + "\nHOOK_VERSION = 2\n",
        errors.HookVersionMismatch,
        r"was written for hook version 2, the installed cascade-rl has 1. Upgrade cascade-rl: "
        r"pip install --upgrade cascade-rl",
    ),
    "older hooks": (
        GOOD + "\nHOOK_VERSION = 0\n",
        errors.HookVersionMismatch,
        r"Upgrade the pack: pip install --upgrade fake-haiku",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_has_its_own_error(make_pack, name):
    source, kind, message = MISTAKES[name]
    make_pack("haiku", source)
    with pytest.raises(kind, match=message):
        Registry().open("haiku")


def test_an_unknown_name_gets_the_nearest_ones(make_pack):
    make_pack("haiku", GOOD)
    with pytest.raises(errors.UnknownDomain, match=r"no domain 'hiaku' .* did you mean 'haiku'\?"):
        Registry().open("hiaku")


def test_an_installation_is_suggested_for_our_own_names_only(tmp_path):
    registry = Registry([str(tmp_path)])
    with pytest.raises(errors.UnknownDomain, match=r"Install it: pip install cascade-rl-swe"):
        registry.open("swe")
    with pytest.raises(errors.UnknownDomain) as caught:
        registry.open("sve")
    assert "pip install" not in str(caught.value)


def test_two_distributions_with_one_name_are_refused_by_name(make_pack):
    make_pack("haiku", GOOD)
    make_pack("haiku", GOOD, distribution="other-haiku", version="2.0")
    with pytest.raises(
        errors.DuplicateDomain, match=r"fake-haiku 1.0 .* and other-haiku 2.0 .*uninstall one"
    ):
        Registry().open("haiku")


def test_a_broken_pack_hides_no_other(make_pack):
    make_pack("broken", "import no_such_mod_q", distribution="broken-pack")
    make_pack("good", GOOD, distribution="good-pack")
    outcome = Registry().check()
    assert outcome["good"] is None
    assert isinstance(outcome["broken"], errors.PackImportError)
    assert "broken-pack 1.0" in str(outcome["broken"])


OPTIONS = (
    GOOD
    + """
from pydantic import BaseModel
class Options(BaseModel):
    model_config = {"extra": "forbid"}
    lines: int = 3
"""
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"linse": 3}, r"linse: no such option; did you mean 'lines'\? \(known: lines\)"),
        ({"lines": "x"}, r"lines: Input should be a valid integer.*\(got 'x'\)"),
        ({"lines": "x", "b": 1}, r"b: no such option.*; lines: Input should be a valid integer"),
    ],
)
def test_bad_options_are_named_all_at_once(make_pack, options, message):
    make_pack("haiku", OPTIONS)
    with pytest.raises(errors.BadOptions, match=message):
        Registry().open("haiku", options)


def test_a_pack_without_options_takes_none(make_pack):
    make_pack("haiku", GOOD)
    with pytest.raises(errors.BadOptions, match=r"lines: this pack takes no options"):
        Registry().open("haiku", {"lines": 3})


RETURNS = {
    "load_prompts": ("def load_prompts(split): return ['p']", "yielded str 'p', not a Prompt"),
    "length_budget": ("def length_budget(): return 5", "returned int 5, not a LengthBudget"),
    "sampling_params": ("def sampling_params(): pass", "returned NoneType None, not a Sampl"),
}


@pytest.mark.parametrize("hook", RETURNS)
def test_a_hook_that_returns_the_wrong_type_is_named(make_pack, hook):
    from cascade_rl import Stage

    source, message = RETURNS[hook]
    make_pack("haiku", f"{GOOD}\n@hookimpl\n{source}\n")
    domain = Registry().open("haiku")
    stage = Stage(name="s", kind="grpo", index=0)
    call = {
        "load_prompts": lambda: domain.load_prompts("train"),
        "length_budget": lambda: domain.length_budget(stage),
        "sampling_params": lambda: domain.sampling_params(stage, "none"),
    }[hook]
    with pytest.raises(errors.HookFailed, match=f"hook '{hook}' {message}"):
        call()


def test_a_hook_that_raises_is_named(make_pack):
    make_pack("haiku", GOOD.replace("return LengthBudget", "return 1 / 0 or LengthBudget"))
    from cascade_rl import Stage

    with pytest.raises(errors.HookFailed, match=r"'length_budget' raised ZeroDivisionError"):
        Registry().open("haiku").length_budget(Stage(name="s", kind="grpo", index=0))


def test_ids_that_occur_twice_are_refused(make_pack):
    make_pack("haiku", GOOD.replace('f"p{i}"', '"p"'))
    with pytest.raises(errors.HookFailed, match=r"id 'p' occurs twice in split 'train'"):
        Registry().open("haiku").load_prompts("train")


def test_an_id_in_both_splits_is_refused(make_pack):
    make_pack("haiku", GOOD.replace('if split == "train" else []', ""))
    with pytest.raises(
        errors.HookFailed,
        match=r"id 'p0' is in both train and eval; a pack without an eval split of its own leaves",
    ):
        Registry().open("haiku").load_prompts("train")
