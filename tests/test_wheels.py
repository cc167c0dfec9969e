"""Each wheel works alone: installed beside core only, with what it declares and nothing else.

The tests that each distribution brings along run there too, by ``make wheels``.
"""

from __future__ import annotations

import json
import re
import tomllib

import pytest

#: What a module may miss: an extra's library, or pytest, for the test classes.
OPTIONAL = re.compile(
    r"No module named '(fastapi|starlette|uvicorn|prometheus_client|httpx|anyio|pytest|datasets|"
    r"pyarrow|peft|gguf|ray|verl|vllm|trl|tensordict|transfer_queue|omegaconf|hydra)"
    r"|RunError: .* needs \w+"
)
IMPORT_ALL = """
import importlib, json, pkgutil, sys
package = importlib.import_module(sys.argv[1])
failed = {}
ignore = lambda name: None  # it is imported again below
for module in pkgutil.walk_packages(package.__path__, package.__name__ + ".", ignore):
    if module.name.endswith(".__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except Exception as error:
        failed[module.name] = f"{type(error).__name__}: {error}"
siblings = [d.name for d in importlib.metadata.distributions() if "cascade" in d.name]
print(json.dumps([failed, sorted(siblings)]))
"""


def projects(environments):
    found = {}
    for folder in environments.PROJECTS:
        if (folder / "pyproject.toml").exists():
            data = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
            found[data["name"]] = data
    return found


def names():
    """Derived from the folders, so that a new pack is tested without anybody listing it."""
    from pathlib import Path

    root = Path(__file__).parent.parent
    files = [root / "core", *sorted((root / "plugins").iterdir()), root / "trainer"]
    parsed = [f / "pyproject.toml" for f in files]
    return [tomllib.loads(p.read_text())["project"]["name"] for p in parsed if p.exists()]


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_a_wheel_installs_alone_and_every_module_imports(new_environment, environments, name):
    wanted = list(dict.fromkeys(["cascade-rl", name]))
    env = new_environment(*wanted)
    failed, found = json.loads(env.run("python", "-c", IMPORT_ALL, name.replace("-", "_")))
    assert found == sorted(wanted)
    assert {m: e for m, e in failed.items() if not OPTIONAL.search(e)} == {}
    listed = json.loads(env.run("cascade", "domains", "--check", "--json"))
    assert [p["problem"] for p in listed["packs"]] == [None] * len(listed["packs"])
    for domain in (
        projects(environments)[name].get("entry-points", {}).get("cascade_rl.domains", ())
    ):
        report = json.loads(env.run("cascade", "check", domain, "--json"))
        assert [r for r in report["results"] if r["outcome"] == "failed"] == []
