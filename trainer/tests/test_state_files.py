"""Atomic writes: killed with a real SIGKILL at every step, what is on disk is whole."""

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from cascade_rl.errors import RunError
from cascade_rl_trainer.state import files

# Runs one write in a forked child that kills itself at its n-th audit event (open, mkdir,
# rename, remove, listdir, ...), for n = 1, 2, ... until a child gets through.
KILL_EVERYWHERE = """
import json, os, shutil, signal, sys
from pathlib import Path
from cascade_rl_trainer.state import files

root = Path(sys.argv[1])
if sys.argv[2] == "no-exchange":
    files._exchange = lambda first, second: False

def fill(folder, value):
    (folder / "sub").mkdir(parents=True)
    for name in ("a", "b", "sub/c"):
        (folder / name).write_text(value * 1000)

def content(path):
    if path.is_file():
        return {path.read_text()}
    return {(path / name).read_text() for name in ("a", "b", "sub/c")} if path.exists() else None

def write_file(target):
    files.write_text(target, "new" * 1000)

def write_folder(target):
    with files.replaced_folder(target) as folder:
        fill(folder, "new")

def child(write, target, n):
    seen = 0
    def hook(event, args):
        nonlocal seen
        seen += 1
        if seen == n:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    write(target)
    os._exit(0)

outcome = []
for kind, write in (("file", write_file), ("folder", write_folder)):
    n = 0
    while True:
        n += 1
        home = root / f"{kind}{n}"
        home.mkdir()
        target = home / "target"
        fill(target, "old") if kind == "folder" else target.write_text("old" * 1000)
        pid = os.fork()
        if pid == 0:
            child(write, target, n)
        killed = os.WIFSIGNALED(os.waitpid(pid, 0)[1])
        at_once = content(target)
        files.clean_up(home)
        outcome.append({
            "kind": kind, "killed": killed, "left": sorted(os.listdir(home)),
            "at_once": sorted(at_once) if at_once else None, "after": sorted(content(target)),
        })
        if not killed:
            break
print(json.dumps(outcome))
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("swap", ["exchange", "no-exchange"])
def test_killed_at_every_step_leaves_old_or_new(tmp_path, swap):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    if swap == "exchange" and not files._exchange(tmp_path / "one", tmp_path / "two"):
        pytest.skip("this system or file system cannot swap two folders in one step")
    run = subprocess.run(
        [sys.executable, "-c", KILL_EVERYWHERE, str(tmp_path), swap],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    outcomes = json.loads(run.stdout)
    for kind, least in (("file", 3), ("folder", 15)):
        of_kind = [o for o in outcomes if o["kind"] == kind]
        assert len(of_kind) > least
        assert [o["killed"] for o in of_kind] == [True] * (len(of_kind) - 1) + [False]
        assert all(o["left"] == ["target"] for o in of_kind)
        assert {tuple(o["after"]) for o in of_kind} == {("old" * 1000,), ("new" * 1000,)}
        if swap == "exchange":  # even before anything is cleaned up
            assert all(o["at_once"] == o["after"] for o in of_kind)
        assert of_kind[-1]["after"] == ["new" * 1000]


def test_killed_from_outside_at_random_moments(tmp_path):
    script = textwrap.dedent("""
        import sys
        from pathlib import Path
        from cascade_rl_trainer.state import files
        root, n = Path(sys.argv[1]), 0
        print("ready", flush=True)
        while True:
            n += 1
            files.write_json(root / "state.json", [n] * 5000)
            with files.replaced_folder(root / "model") as folder:
                for name in "abcd":
                    (folder / name).write_text(str(n) * 5000)
    """)
    moments = random.Random(0)
    for _ in range(6):
        command = [sys.executable, "-c", script, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"ready\n"
            time.sleep(moments.uniform(0.02, 0.15))
            process.send_signal(signal.SIGKILL)
        files.clean_up(tmp_path)
        assert names(tmp_path) == ["model", "state.json"]
        (value,) = set(json.loads((tmp_path / "state.json").read_text()))
        (text,) = {path.read_text() for path in (tmp_path / "model").iterdir()}
        assert len(list((tmp_path / "model").iterdir())) == 4
        assert text in (str(value) * 5000, str(value - 1) * 5000)


def test_a_write_that_fails_keeps_the_old_and_says_so(tmp_path):
    target = tmp_path / "state.json"
    files.write_json(target, {"step": 1})
    script = textwrap.dedent("""
        import resource, sys
        from pathlib import Path
        from cascade_rl.errors import RunError
        from cascade_rl_trainer.state import files
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            files.write_bytes(Path(sys.argv[1]), b"x" * 8192)
        except RunError as error:
            print(error)
    """)
    run = subprocess.run(
        [sys.executable, "-c", script, str(target)], capture_output=True, text=True, check=True
    )
    assert f"cannot write {target}: File too large" in run.stdout
    assert "Check the run folder's free space and permissions" in run.stdout
    assert json.loads(target.read_text()) == {"step": 1}
    assert names(tmp_path) == ["state.json"]


def test_a_folder_whose_writer_raises_keeps_the_old(tmp_path):
    target = tmp_path / "model"
    target.mkdir()
    (target / "weights").write_text("old")

    def fill_half():
        with files.replaced_folder(target) as folder:
            (folder / "weights").write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fill_half()
    assert (target / "weights").read_text() == "old"
    assert names(tmp_path) == ["model"]


def test_a_missing_parent_is_an_error_with_the_path(tmp_path):
    with pytest.raises(
        RunError, match=r"cannot write .*nowhere/x\.json: No such file or directory"
    ):
        files.write_json(tmp_path / "nowhere" / "x.json", 1)


def test_written_files_follow_the_umask(tmp_path):
    old = os.umask(0o022)
    try:
        files.write_text(tmp_path / "x", "é")
    finally:
        os.umask(old)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "x").read_bytes() == "é".encode()


def test_nan_is_no_json(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        files.write_json(tmp_path / "x.json", float("nan"))


def test_clean_up_touches_only_its_own_names(tmp_path):
    stage = tmp_path / "stages" / "math"
    stage.mkdir(parents=True)
    for name in (".hidden", ".x.old", "x.cascade-part", ".x.part"):
        (stage / name).write_text("mine")
    (stage / ".run.json.0123abcd.cascade-part").write_text("half")
    (stage / ".model.0123abcd.cascade-part").mkdir()
    (stage / ".model.0123abcd.cascade-part" / "weights").write_text("half")
    (stage / ".model.cascade-old").mkdir()
    assert sorted(files.clean_up(tmp_path)) == [stage / "model"] * 2 + [stage / "run.json"]
    assert names(stage) == [".hidden", ".x.old", ".x.part", "model", "x.cascade-part"]


def test_remove_folder_leaves_nothing(tmp_path):
    doomed = tmp_path / "checkpoint-000010"
    (doomed / "sub").mkdir(parents=True)
    files.remove_folder(doomed)
    assert names(tmp_path) == []


def test_a_target_that_is_new_is_simply_made(tmp_path):
    with files.replaced_folder(tmp_path / "model") as folder:
        (folder / "a").write_text("1")
    assert [p.relative_to(tmp_path) for p in Path(tmp_path).rglob("*")] == [
        Path("model"),
        Path("model/a"),
    ]
