"""``cascade sandbox check``, and that nothing without isolation is chosen unless by name."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import pytest
from sandbox_kit import needs_bubblewrap

from cascade_rl.cli import main
from cascade_rl.sandbox import (
    LANGUAGES,
    Isolation,
    Limits,
    Outcome,
    Program,
    SandboxError,
    SandboxUnavailable,
    Status,
    TestRun,
    open_sandbox,
)
from cascade_rl.sandbox import bubblewrap as bubblewrap_module
from cascade_rl.sandbox.selftest import PROBES, self_test


@pytest.fixture
def cascade(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["sandbox", "check", *arguments])
        captured = capsys.readouterr()
        return end.value.code, captured.out, captured.err

    return run


@pytest.fixture
def without_bubblewrap(monkeypatch):
    """A PATH on which there is no bwrap, but a package manager; everybody may look there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "apt-get").write_text("#!/bin/sh\n")
        (folder / "apt-get").chmod(0o755)
        monkeypatch.setenv("PATH", name)
        yield folder


@needs_bubblewrap
def test_every_limit_and_wall_holds_here(cascade):
    code, out, err = cascade("--kind", "bubblewrap")
    lines = out.splitlines()
    assert (code, err) == (0, ""), out
    assert lines[0] == "backend: bubblewrap    isolation: namespaces"
    held = [line[8:].split("  ")[0] for line in lines if line.startswith("ok    ")]
    assert held[: len(PROBES)] == [probe.name for probe in PROBES]
    assert not [line for line in lines if line.startswith("FAILED")]
    assert re.fullmatch(r"\d+ checks, 0 failed; isolation: namespaces", lines[-1])


@needs_bubblewrap
def test_as_json(cascade):
    code, out, _ = cascade("--json")
    report = json.loads(out)
    assert (code, report["ok"], report["backend"], report["level"]) == (
        0, True, "bubblewrap", "namespaces",
    )  # fmt: skip
    assert report["enforced"]["network"] == "no network in the namespace"
    assert report["findings"][0] == {
        "name": "runs a program", "ok": True, "detail": "OK: 3", "cure": "",
    }  # fmt: skip
    ran = {finding["name"] for finding in report["findings"]} & set(LANGUAGES)
    assert ran | set(report["absent_languages"]) | {"python"} == set(LANGUAGES)


def test_without_bubblewrap_it_says_what_to_install(cascade, without_bubblewrap):
    for words in ([], ["--kind", "bubblewrap"]):
        code, out, err = cascade(*words)
        assert (code, out) == (2, "")
        assert err.startswith(
            "error: bubblewrap (bwrap) is not installed here; run: apt-get install bubblewrap\n"
        )
    _, _, err = cascade()
    assert err.endswith(
        "Without isolation nothing is run: kind 'none' has to be asked for by name.\n"
    )


@pytest.mark.parametrize(("manager", "cure"), list(bubblewrap_module.INSTALL.items()))
def test_the_cure_is_that_of_the_package_manager_that_is_here(without_bubblewrap, manager, cure):
    (without_bubblewrap / "apt-get").rename(without_bubblewrap / manager)
    with pytest.raises(SandboxUnavailable, match=re.escape(f"run: {cure}")):
        open_sandbox("bubblewrap")


def test_a_bubblewrap_that_may_make_no_namespace_is_reported_with_ways_out(
    cascade, without_bubblewrap
):
    fake = without_bubblewrap / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    code, _, err = cascade()
    assert code == 2
    assert "(it did not start: bwrap: No permissions to create new namespace). Ways out" in err
    assert "kernel.apparmor_restrict_unprivileged_userns=0" in err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user first")
def test_a_bubblewrap_that_only_root_may_start_is_named(without_bubblewrap):
    (without_bubblewrap / "bwrap").write_text("#!/bin/sh\n")
    (without_bubblewrap / "bwrap").chmod(0o700)
    with pytest.raises(SandboxUnavailable, match=r"user 65534 cannot start /\S+/bwrap: Permission"):
        open_sandbox()


def test_no_isolation_has_to_be_asked_for_by_name_and_is_never_fine(cascade, without_bubblewrap):
    with pytest.raises(SandboxUnavailable, match="'none' has to be asked for by name"):
        open_sandbox()
    with open_sandbox("none") as sandbox:
        assert sandbox.isolation.level == "none"
        assert {sandbox.isolation.enforced[what] for what in ("network", "files", "processes")} == {
            "not enforced"
        }
        (outcome,) = sandbox.run(Program("print(input())"), [TestRun(stdin=b"3\n")])
        assert (outcome.status, outcome.stdout) == (Status.OK, b"3\n")
    code, out, _ = cascade("--kind", "none")
    assert code == 1
    assert out.splitlines()[-1].endswith("isolation: none")
    assert re.search(r"^FAILED  no host files .*\n        use the bubblewrap or docker", out, re.M)


def test_auto_takes_what_it_was_given_the_means_for(without_bubblewrap):
    with open_sandbox("auto", url="http://127.0.0.1:9") as sandbox:
        assert sandbox.isolation.backend == "remote"
    with pytest.raises(
        SandboxUnavailable, match=r"no Docker engine answers at tcp://127\.0\.0\.1:9"
    ):
        open_sandbox("auto", image="x", docker_host="tcp://127.0.0.1:9")


def test_wrong_requests():
    with pytest.raises(SandboxError, match="sandbox 'jail': the kinds are auto, bubblewrap, dock"):
        open_sandbox("jail")
    with pytest.raises(SandboxError, match="the docker sandbox wants image="):
        open_sandbox("docker")


def test_without_the_docker_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(SandboxUnavailable, match=re.escape('pip install "cascade-rl[docker]"')):
        open_sandbox("docker", image="x")


class Lame:
    """A sandbox that enforces nothing: every program prints 3 and ends well, until one breaks it."""

    isolation = Isolation("lame", "namespaces", {"cpu": "hopes"})

    def __init__(self, breaks):
        self.broken, self.breaks = False, breaks

    def languages(self):
        return ("python",)

    def run(self, program, tests, limits=None):
        self.broken |= self.breaks in program.source
        return [Outcome(Status.OK, stdout=b"" if self.broken else b"3\n", message="")]


def test_the_self_test_finds_what_does_not_hold_and_what_breaks_the_next_program():
    findings = {f.name: f for f in self_test(Lame("os.setsid"))}
    assert [name for name, finding in findings.items() if finding.ok] == ["runs a program"]
    assert findings["memory"].detail == "OK: 3"
    assert findings["memory"].cure == "give this user a writable cgroup"
    assert "the program after 'nothing survives'" in findings
    assert "the program after 'memory'" not in findings


PAGE = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text()


def test_the_page_shows_the_checks_that_there_are():
    shown = PAGE.partition("    $ cascade sandbox check\n")[2].partition("\n\n##")[0]
    names = re.findall(r"^    (?:ok    |FAILED)  (\S+(?: \S+)*)", shown, re.M)
    assert names[: len(PROBES)] == [probe.name for probe in PROBES]


def test_the_page_says_which_limits_and_statuses_there_are():
    table = PAGE.partition("## Limits and verdicts\n")[2].partition("\n## ")[0]
    defaults = dict(re.findall(r"^\| `(\w+)` \| (\d+)", table, re.M))
    assert {name: int(value) for name, value in defaults.items()} == asdict(Limits())
    assert {status.value for status in Status} <= set(re.findall(r"`([A-Z]+)`", table))


@needs_bubblewrap
def test_the_program_of_the_page_prints_what_it_says(capsys):
    (block,) = re.findall(r"^```python synopsis\n(.*?)^```$", PAGE, re.M | re.S)
    exec(compile(block, "docs/sandbox.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"  # (.*)$", block, re.M)
