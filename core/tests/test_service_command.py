"""``cascade serve``: arguments, settings files, several processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from cascade_rl.cli import main
from cascade_rl.service import processes, server


@pytest.fixture
def settings_of(monkeypatch):
    """The settings that a command line comes to, without serving."""
    seen = []

    def prepare(settings, listener):
        seen.append(settings)
        return lambda: None

    monkeypatch.setattr(server, "prepare", prepare)
    monkeypatch.setattr(processes, "prepare", prepare)
    monkeypatch.delenv("CASCADE_SERVE_TOKENS", raising=False)

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["serve", "--port", "0", *arguments])
        assert ended.value.code == 0
        return seen[-1]

    return run


@pytest.fixture
def error_of(capsys, monkeypatch):
    monkeypatch.delenv("CASCADE_SERVE_TOKENS", raising=False)

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["serve", "--port", "0", *arguments])
        assert ended.value.code == 2
        return capsys.readouterr().err

    return run


def test_flags(settings_of):
    found = settings_of(
        "--domain", "a", "--domains", "b,c", "--option", "a.x.y=1", "--option", "b.z=[1, 2]",
        "--workers", "3", "--timeout", "5", "--unscored-as", "-1", "--set", "limits.batch_items=7",
        "--set", "domains.c.cohort.size=8", "--set", "domains.c.mode=think",
    )  # fmt: skip
    assert list(found.domains) == ["a", "b", "c"]
    assert found.domains["a"].options == {"x": {"y": 1}}
    assert found.domains["b"].options == {"z": [1, 2]}
    assert {d.workers for d in found.domains.values()} == {3}
    assert {d.timeout_s for d in found.domains.values()} == {5}
    assert found.domains["c"].cohort.size == 8
    assert found.domains["c"].mode == "think"
    assert (found.unscored_as, found.limits.batch_items) == (-1.0, 7)


def test_a_file_and_flags_over_it(settings_of, tmp_path):
    file = tmp_path / "service.yaml"
    file.write_text(
        "domains:\n  a: {options: {x: 1}, workers: 2}\n  b:\nlimits: {grace_s: 5}\nprocesses: 2\n"
    )
    found = settings_of("--config", str(file), "--option", "a.x=2")
    assert found.domains["a"].options == {"x": 2}
    assert (found.domains["a"].workers, found.processes, found.limits.grace_s) == (2, 2, 5)
    assert list(settings_of("--config", str(file), "--domain", "b").domains) == ["b"]


def test_tokens_of_the_environment(settings_of, monkeypatch):
    monkeypatch.setenv("CASCADE_SERVE_TOKENS", "0123456789abcdef 0123456789abcdeg")
    assert len(settings_of("--domain", "a", "--host", "0.0.0.0").tokens) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name what to serve: --domain NAME; `cascade domains` lists the names"),
        (["--domain", "a", "--option", "x=1"], "--option x…: say DOMAIN.KEY=VALUE with one of the"),
        (["--domain", "a", "--set", "limits.bath_items=1"], "did you mean 'batch_items'?"),
        (
            ["--domain", "a", "--set", "limits.grace_s=-1"],
            "limits.grace_s: Input should be greater",
        ),
        (["--domain", "a", "--set", "limits.queue_items=10"], "would never fit queue_items 10"),
        (["--domain", "a", "--host", "0.0.0.0"], "reachable from other machines and there is no"),
        (["--domain", "nobody-has-this"], "no domain 'nobody-has-this' is installed"),
        (["--domain", "a", "--config", "/nowhere.yaml"], "cannot read /nowhere.yaml"),
        (["--domain", "a", "--token-file", "/nowhere"], "cannot read the token file /nowhere"),
        (["--domain", "a", "--host", "203.0.113.1", "--insecure"], "cannot listen on 203.0.113.1"),
    ],
)
def test_mistakes_are_one_line(error_of, arguments, said):
    text = error_of(*arguments)
    assert said in text
    assert text.startswith("error: ")
    assert text.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [("tokens: [x]", "tokens do not belong in a settings file"), ("[1]", "must be a mapping"),
     ("a: [", "service.yaml:"), ("domains: 3", "domains must map a name to its settings"),
     ("port: 1\nport: 2", "key 'port' is given twice, first on line 1")],
)  # fmt: skip
def test_mistakes_in_a_file(error_of, tmp_path, text, said):
    file = tmp_path / "service.yaml"
    file.write_text(text)
    assert said in error_of("--config", str(file))


def test_bad_options_stop_the_start(error_of, obedient):
    text = error_of("--domain", obedient, "--option", f"{obedient}.bonsu=1")
    assert "no such option; did you mean 'bonus'?" in text


def test_without_the_extra_the_command_says_what_to_install():
    script = (
        "import sys\nsys.modules['uvicorn'] = None\n"
        "from cascade_rl.cli import main\nmain(['serve', '--domain', 'x'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "error: `cascade serve` needs uvicorn: pip install 'cascade-rl[serve]'\n"


def test_the_client_says_what_to_install():
    script = (
        "import sys\nsys.modules['httpx'] = None\nfrom cascade_rl.errors import RunError\n"
        "try:\n    import cascade_rl.client\nexcept RunError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "the client needs httpx: pip install 'cascade-rl[client]'\n"


def body(*completions):
    items = [{"ground_truth": "it", "completion": c} for c in completions]
    return {"domain": "obedient", "items": items}


def children_of(pid):
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_several_processes_replace_a_dead_one_and_stop_together(obedient, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site-packages")}
    command = [Path(sys.executable).with_name("cascade"), "serve", "--domain", obedient,
               "--port", "0", "--processes", "2"]  # fmt: skip
    parent = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://\S+", parent.stderr.readline()).group()
        for number in range(20):  # each on a connection of its own: any process may answer
            reply = httpx.post(url + "/v1/rewards", json=body(f"score {number}"), timeout=60)
            assert reply.json()["rewards"][0]["score"] == number
        first = children_of(parent.pid)
        assert len(first) == 2
        os.kill(first[0], signal.SIGKILL)
        deadline = time.monotonic() + 30
        while len(alive := set(children_of(parent.pid)) - {first[0]}) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for _ in range(10):
            reply = httpx.post(url + "/v1/rewards", json=body("it"), timeout=60)
            assert reply.json()["rewards"][0]["score"] == 1.0
        text = httpx.get(url + "/metrics", timeout=60).text
        counted = re.search(r'^cascade_rewards_total\{.*"scored"\} ([\d.]+)$', text, re.MULTILINE)
        assert float(counted.group(1)) == 30.0  # of all processes, the dead one's too
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(60) == 0
        assert [pid for pid in alive if Path(f"/proc/{pid}").exists()] == []
    finally:
        parent.kill()
        parent.wait()
        parent.stderr.close()


def test_processes_end_when_their_supervisor_is_killed(obedient, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site-packages")}
    command = [Path(sys.executable).with_name("cascade"), "serve", "--domain", obedient,
               "--port", "0", "--processes", "2"]  # fmt: skip
    parent = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    url = re.search(r"http://\S+", parent.stderr.readline()).group()
    assert httpx.post(url + "/v1/rewards", json=body("it"), timeout=60).status_code == 200
    children = children_of(parent.pid)
    parent.kill()
    parent.wait()
    parent.stderr.close()
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)
