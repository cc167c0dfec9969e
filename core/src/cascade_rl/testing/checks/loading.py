"""Does it load: hooks and their signatures, options, what importing costs, what travels."""

from __future__ import annotations

from collections.abc import Iterator

from cascade_rl.testing.check import Check
from cascade_rl.testing.results import Finding
from cascade_rl.testing.subject import PROMPTS_SHOWN, Subject

#: Libraries that no entry point may pull in: listing and scoring must stay quick.
HEAVY = (
    "accelerate", "boto3", "datasets", "fastapi", "httpx", "jax", "langdetect", "matplotlib",
    "nltk", "numpy", "openai", "pandas", "pyarrow", "ray", "requests", "scipy", "sklearn",
    "spacy", "sympy", "tensorflow", "tokenizers", "torch", "transformers", "verl", "vllm",
)  # fmt: skip
MOST_IMPORT_S = 0.5


def hooks(subject: Subject) -> Iterator[Finding]:
    """Names, arguments, required hooks, hook version: what loading finds."""
    if subject.facts.get("wrong") == "hooks":
        yield Finding(
            given=f"the entry point of {subject.name!r}",
            got=subject.facts["text"],
            expected="a module or class with hooks as cascade_rl.hooks specifies them",
        )


def options(subject: Subject) -> Iterator[Finding]:
    """Without any option given, the pack's ``Options`` must hold valid values."""
    if subject.facts.get("wrong") == "options":
        yield Finding(
            given=f"options {subject.options}",
            got=subject.facts["text"],
            expected="every option has a valid default, and each given one is accepted",
        )
        return
    for option, text in subject.ask("default_options"):
        yield Finding(given=option, got=text, expected="a value that Options itself accepts")


def light_import(subject: Subject) -> Iterator[Finding]:
    """Heavy libraries are imported inside the functions that need them."""
    entry = f"import of {subject.facts['value']}"
    heavy = [m for m in subject.facts["modules"] if m in HEAVY]
    if heavy:
        yield Finding(
            given=entry,
            got=f"it imports {', '.join(heavy)}",
            expected="heavy libraries are imported inside functions",
        )
    elif subject.facts["import_s"] > MOST_IMPORT_S:
        yield Finding(
            given=entry,
            got=f"{subject.facts['import_s']:.2f} s of CPU",
            expected=f"at most {MOST_IMPORT_S} s",
        )


def budgets(subject: Subject) -> Iterator[Finding]:
    """``length_budget`` and ``sampling_params`` answer for every kind of stage and mode."""
    for call, text in subject.ask("defaults"):
        yield Finding(given=call, got=text, expected="a LengthBudget, a SamplingParams")


def travels(subject: Subject) -> Iterator[Finding]:
    """Workers, services and clusters get prompts and options as JSON or as pickles."""
    for what, text in subject.ask("travels", shown=PROMPTS_SHOWN):
        yield Finding(given=what, got=text, expected="the same after JSON and after pickle")


CHECKS: tuple[Check[Subject], ...] = (
    Check("hooks", "hooks have the right names and arguments", hooks),
    Check("options", "the defaults of the options are valid", options, ("hooks",)),
    Check("import", "loading the entry point imports nothing heavy", light_import, ("options",)),
)
DOMAIN_CHECKS: tuple[Check[Subject], ...] = (
    Check("budgets", "budgets and sampling for every stage and mode", budgets, ("options",)),
    Check(
        "travels", "prompts and options survive the way to a worker", travels, ("demonstrations",)
    ),
)
