"""The lock of a run folder: one holder, named, and gone with its process."""

import os
import signal
import subprocess
import sys

import pytest

from cascade_rl.errors import RunError
from cascade_rl_trainer.state.lock import run_lock

HOLD = """
import sys, time
from pathlib import Path
from cascade_rl_trainer.state.lock import run_lock
with run_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_told_who_holds_the_folder_until_it_is_killed(tmp_path):
    run_dir = tmp_path / "runs" / "demo"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run_dir)], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(RunError, match=f"in use by process {holder.pid} on"), run_lock(run_dir):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with run_lock(run_dir):
            assert f"process {os.getpid()} on" in (run_dir / ".lock").read_text()


def test_the_lock_is_free_again_after_the_block_and_after_an_error(tmp_path):
    with pytest.raises(KeyError), run_lock(tmp_path):
        raise KeyError
    with run_lock(tmp_path), pytest.raises(RunError, match="in use"), run_lock(tmp_path):
        pass
