"""Peers' own clients, installed for these tests alone.

One virtual environment under ``.venv-peers`` holds them without what they pin, on top of the
packages of the environment that runs the tests (a ``.pth`` file): torch and transformers need
not be there twice. Where it cannot be made, the tests are skipped and say so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from cascade_rl.service.embedded import running
from cascade_rl.service.settings import ServiceSettings
from cascade_rl.testing import write_pack

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".venv-peers" / "trainers"
PYTHON = VENV / "bin" / "python"
ALONE = ("trl==1.16.0", "openrlhf==0.11.2", "eval-protocol==0.3.33")
WITH_NEEDS = ("aiohttp>=3.11", "litellm==1.105.0", "mcp>=1.30,<2", "pylatexenc>=2.10")
TOKEN = "peers-0123456789abcdef"
PACK = ROOT / "core" / "tests" / "packs" / "obedient.py"


def make_venv():
    """Make the environment, once; a line in it says with what."""
    stamp, contents = VENV / ".made", "\n".join((*ALONE, *WITH_NEEDS))
    if stamp.is_file() and stamp.read_text() == contents:
        return
    subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
    found = subprocess.run(
        [PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    pth = Path(found.stdout.strip()) / "zz_environment_of_the_tests.pth"
    pth.write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *WITH_NEEDS], check=True, timeout=900, capture_output=True, text=True)
    subprocess.run(
        [*pip, "--no-deps", *ALONE], check=True, timeout=300, capture_output=True, text=True
    )
    stamp.write_text(contents)


@pytest.fixture(scope="session")
def token():
    return TOKEN


@pytest.fixture(scope="session")
def peer_python():
    try:
        make_venv()
    except (subprocess.SubprocessError, OSError) as error:
        lines = (getattr(error, "stderr", "") or str(error)).splitlines()
        said = " ".join(line for line in lines if not line.startswith("WARNING"))
        pytest.skip(f"PEERS NOT TESTED: their clients cannot be installed here: {said[-500:]}")
    return PYTHON


@pytest.fixture
def run_peer(peer_python):
    """Run a script that uses a peer's client, and return the JSON of its last line."""

    def run(script, *arguments, timeout=300):
        # litellm's thread that fetches prices can deadlock with the import that starts it
        quiet = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        done = subprocess.run(
            [peer_python, "-W", "ignore", "-c", script, *arguments],
            capture_output=True, text=True, timeout=timeout, cwd=VENV, env=quiet,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.fixture(scope="module")
def services(tmp_path_factory):
    """The same domain without a token and with one."""
    site = tmp_path_factory.mktemp("site-packages")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        patch.setenv("XDG_CACHE_HOME", str(site / "cache"))
        write_pack(site, "obedient", PACK.read_text(), distribution="fake-obedient")
        domains = {"obedient": {}}
        with (
            running(ServiceSettings.model_validate({"domains": domains})) as plain,
            running(
                ServiceSettings.model_validate({"domains": domains, "tokens": [TOKEN]})
            ) as guarded,
        ):
            yield plain, guarded
