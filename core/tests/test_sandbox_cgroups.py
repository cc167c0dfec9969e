"""Control groups of both versions, in a tree of plain files; the real one is in other tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cascade_rl.sandbox.cgroups import Cgroup, Hierarchy, find_hierarchy

MOUNTS_1 = (
    "30 23 0:26 / {root}/memory rw,nosuid - cgroup cgroup rw,memory\n"
    "31 23 0:27 / {root}/pids rw,nosuid shared:9 - cgroup cgroup rw,pids\n"
    "32 23 0:28 / {root}/cpu rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n"
    "33 23 0:29 / {root}/unified rw,nosuid - cgroup2 cgroup2 rw\n"
    "34 23 0:30 / /tmp rw - tmpfs tmpfs rw\n"
)
MOUNTS_2 = "30 23 0:26 {inner} {root} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


class FakeTree:
    """Folders and files that look like cgroup file systems; nothing enforces anything."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, place: str, controllers: str | None = None) -> Path:
        made = self.root / place
        made.mkdir(parents=True, exist_ok=True)
        (made / "cgroup.procs").touch()
        if controllers is not None:
            (made / "cgroup.subtree_control").write_text(controllers + "\n")
        return made

    def found(self, mounts: str, own: str, inner: str = "/") -> Hierarchy | None:
        table, places = self.root / "mountinfo", self.root / "cgroup"
        table.write_text(mounts.format(root=self.root, inner=inner))
        places.write_text(own)
        find_hierarchy.cache_clear()
        try:
            return find_hierarchy(table, places)
        finally:
            find_hierarchy.cache_clear()


@pytest.fixture
def fake_tree(tmp_path):
    return FakeTree(tmp_path)


def made(hierarchy):
    """A cgroup in a fake tree, with the files that a kernel would put there."""
    group = Cgroup(hierarchy)
    names = {
        1: ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.oom_control"),
        2: ("memory.max", "memory.swap.max", "memory.events"),
    }
    for name in names[hierarchy.version]:
        (group.memory / name).write_text("")
    return group


def test_version_1_where_this_process_is_in_a_fake_tree(fake_tree):
    fake_tree.folder("unified")
    memory, pids = fake_tree.folder("memory/job"), fake_tree.folder("pids/job")
    own = "9:pids:/job\n8:memory:/job\n7:cpu,cpuacct:/job\n0::/\n"
    assert fake_tree.found(MOUNTS_1, own) == Hierarchy(1, memory, pids)


def test_version_1_at_the_top_when_its_own_place_is_not_visible_in_a_fake_tree(fake_tree):
    """As in a container that sees the host's /proc/self/cgroup."""
    memory, pids = fake_tree.folder("memory"), fake_tree.folder("pids")
    own = "9:pids:/docker/abc\n8:memory:/docker/abc\n"
    assert fake_tree.found(MOUNTS_1, own) == Hierarchy(1, memory, pids)


def test_version_1_without_pids_in_a_fake_tree(fake_tree):
    memory = fake_tree.folder("memory")
    assert fake_tree.found(MOUNTS_1, "8:memory:/\n") == Hierarchy(1, memory, None)


def test_version_2_takes_the_nearest_parent_that_limits_its_children_in_a_fake_tree(fake_tree):
    fake_tree.folder("", "cpu memory pids")
    slice_ = fake_tree.folder("user.slice", "memory pids")
    fake_tree.folder("user.slice/session", "")
    found = fake_tree.found(MOUNTS_2, "0::/user.slice/session\n")
    assert found == Hierarchy(2, slice_, slice_)


def test_version_2_in_a_container_that_sees_only_its_part_in_a_fake_tree(fake_tree):
    place = fake_tree.folder("inner", "memory pids")
    found = fake_tree.found(MOUNTS_2, "0::/docker/abc/inner\n", inner="/docker/abc")
    assert found == Hierarchy(2, place, place)


@pytest.mark.parametrize("controllers", ["", "cpu io", "memory", "pids"])
def test_version_2_without_both_controllers_is_none_in_a_fake_tree(fake_tree, controllers):
    fake_tree.folder("", controllers)
    assert fake_tree.found(MOUNTS_2, "0::/\n") is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_none_in_a_fake_tree(fake_tree):
    fake_tree.folder("", "memory pids").chmod(0o500)
    assert fake_tree.found(MOUNTS_2, "0::/\n") is None


def test_nothing_mounted_is_none(fake_tree):
    assert fake_tree.found("", "0::/\n") is None
    find_hierarchy.cache_clear()
    assert find_hierarchy(fake_tree.root / "no such file") is None
    find_hierarchy.cache_clear()


def test_limits_of_version_2_in_a_fake_tree(fake_tree):
    folder = fake_tree.folder("", "memory pids")
    group = made(Hierarchy(2, folder, folder))
    group.limit(1000, 7)
    read = {name: (group.memory / name).read_text() for name in ("memory.max", "pids.max")}
    assert read == {"memory.max": "1000", "pids.max": "7"}
    assert (group.memory / "memory.swap.max").read_text() == "0"
    assert group.procs_files == [str(group.memory / "cgroup.procs")]
    (group.memory / "memory.events").write_text("low 0\nmax 9\noom 3\noom_kill 2\n")
    assert group.oom_kills() == 2
    (group.memory / "memory.max").write_text("untouched")
    group.limit(1000, 7)  # as before: no write
    assert (group.memory / "memory.max").read_text() == "untouched"


def test_limits_of_version_1_never_put_memory_above_memory_with_swap(fake_tree, monkeypatch):
    """The kernel refuses that at any moment, so the order of the two writes depends."""
    memory, pids = fake_tree.folder("memory"), fake_tree.folder("pids")
    group = made(Hierarchy(1, memory, pids))
    written = []
    real = Path.write_text
    monkeypatch.setattr(
        Path, "write_text", lambda path, text: (written.append((path.name, text)), real(path, text))
    )
    group.limit(1000, 5)
    group.limit(3000, 5)
    group.limit(2000, 6)
    only, both = "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"
    assert written == [
        (only, "1000"), (both, "1000"), ("pids.max", "5"),
        (both, "3000"), (only, "3000"), ("pids.max", "5"),
        (only, "2000"), (both, "2000"), ("pids.max", "6"),
    ]  # fmt: skip
    assert group.procs_files == [str(group.memory / "cgroup.procs"), f"{group.pids}/cgroup.procs"]
    (group.memory / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 4")
    assert group.oom_kills() == 4


def test_a_count_that_cannot_be_read_is_0(fake_tree):
    folder = fake_tree.folder("", "memory pids")
    assert Cgroup(Hierarchy(2, folder, folder)).oom_kills() == 0


def test_removing_takes_the_folders_and_gives_up_on_one_that_is_in_use(fake_tree):
    folder = fake_tree.folder("", "memory pids")
    group = Cgroup(Hierarchy(2, folder, folder))
    group.remove()
    assert not group.memory.exists()
    group.remove()  # twice is fine
    busy = made(Hierarchy(2, folder, folder))
    busy.remove(patience_s=0.05)
    assert busy.memory.exists()


def test_what_a_killed_process_left_is_swept_and_a_living_ones_stays_in_a_fake_tree(fake_tree):
    with subprocess.Popen([sys.executable, "-c", "pass"]) as gone:
        gone.wait()
    started = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[19]
    folder = fake_tree.folder("", "memory pids")
    dead = folder / f"cascade-rl-{gone.pid}-123-0"
    reused = folder / f"cascade-rl-{os.getppid()}-1-0"  # the number of a process, not its start
    living = folder / f"cascade-rl-{os.getppid()}-{started}-0"
    other = folder / "somebody-elses"
    for place in (dead, reused, living, other):
        place.mkdir()
    Cgroup(Hierarchy(2, folder, folder))
    assert [p.exists() for p in (dead, reused, living, other)] == [False, False, True, True]


@pytest.mark.skipif(find_hierarchy() is None, reason="this user may make no cgroup here")
def test_the_real_kernel_takes_the_limits():
    group = Cgroup(find_hierarchy())
    try:
        for most in (64 << 20, 256 << 20, 128 << 20):
            group.limit(most, 9)
            name = "memory.limit_in_bytes" if group.version == 1 else "memory.max"
            assert int((group.memory / name).read_text()) == most
        if group.pids is not None:
            assert (group.pids / "pids.max").read_text() == "9\n"
        assert group.oom_kills() == 0
        assert all(Path(file).exists() for file in group.procs_files)
    finally:
        group.remove()
    assert not group.memory.exists()
