"""Walls that a process puts up round itself and its children: seccomp, Landlock, prctl.

Second walls: the first are namespaces without a network and without a writable file system.
The filter lists what no answer needs (not ``socketpair``: asyncio and Java do). Numbers are
those of the kernel's own tables.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import NamedTuple

_EPERM, _ENOSYS = 1, 38
_SIGCHLD = 17
_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_SET_CHILD_SUBREAPER = 4, 38, 22, 36
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_CLONE_NEW = 0x7E020000  # CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}


class Architecture(NamedTuple):
    """One architecture's numbers."""

    audit: int
    denied: dict[str, int]
    clone: int
    prlimit: int
    sigaction: int
    memfd_create: int
    newest: int = 462  # mseal, Linux 6.10; numbers above are unknown here, so refused


_X86_64 = {
    "socket": 41, "connect": 42, "accept": 43, "bind": 49, "listen": 50,
    "accept4": 288, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311,
    "pidfd_getfd": 438, "kcmp": 312, "unshare": 272, "setns": 308, "mount": 165, "umount2": 166,
    "pivot_root": 155, "chroot": 161, "open_tree": 428, "move_mount": 429, "fsopen": 430,
    "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442, "bpf": 321,
    "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "io_setup": 206, "keyctl": 250, "add_key": 248, "request_key": 249,
    "open_by_handle_at": 304, "name_to_handle_at": 303, "memfd_secret": 447, "shmget": 29,
    "shmat": 30, "shmctl": 31, "shmdt": 67, "msgget": 68, "msgsnd": 69, "msgrcv": 70,
    "msgctl": 71, "semget": 64, "semop": 65, "semctl": 66, "semtimedop": 220, "mq_open": 240,
    "mq_unlink": 241, "inotify_init": 253, "inotify_init1": 294, "fanotify_init": 300,
    "vmsplice": 278, "sched_setaffinity": 203, "sched_setscheduler": 144, "sched_setattr": 314,
    "setpriority": 141, "ioprio_set": 251, "personality": 135, "modify_ldt": 154, "iopl": 172,
    "ioperm": 173, "syslog": 103, "acct": 163, "swapon": 167, "swapoff": 168, "reboot": 169,
    "kexec_load": 246, "kexec_file_load": 320, "init_module": 175, "finit_module": 313,
    "delete_module": 176, "settimeofday": 164, "clock_settime": 227, "adjtimex": 159,
    "clock_adjtime": 305, "sethostname": 170, "setdomainname": 171, "quotactl": 179,
}  # fmt: skip
_AARCH64 = {
    "socket": 198, "connect": 203, "accept": 202, "bind": 200, "listen": 201,
    "accept4": 242, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271,
    "pidfd_getfd": 438, "kcmp": 272, "unshare": 97, "setns": 268, "mount": 40, "umount2": 39,
    "pivot_root": 41, "chroot": 51, "open_tree": 428, "move_mount": 429, "fsopen": 430,
    "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442, "bpf": 280,
    "perf_event_open": 241, "userfaultfd": 282, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "io_setup": 0, "keyctl": 219, "add_key": 217, "request_key": 218,
    "open_by_handle_at": 265, "name_to_handle_at": 264, "memfd_secret": 447, "shmget": 194,
    "shmat": 196, "shmctl": 195, "shmdt": 197, "msgget": 186, "msgsnd": 189, "msgrcv": 188,
    "msgctl": 187, "semget": 190, "semop": 193, "semctl": 191, "semtimedop": 192, "mq_open": 180,
    "mq_unlink": 181, "inotify_init1": 26, "fanotify_init": 262, "vmsplice": 75,
    "sched_setaffinity": 122, "sched_setscheduler": 119, "sched_setattr": 274,
    "setpriority": 140, "ioprio_set": 30, "personality": 92, "syslog": 116, "acct": 89,
    "swapon": 224, "swapoff": 225, "reboot": 142, "kexec_load": 104, "kexec_file_load": 294,
    "init_module": 105, "finit_module": 273, "delete_module": 106, "settimeofday": 170,
    "clock_settime": 112, "adjtimex": 171, "clock_adjtime": 266, "sethostname": 161,
    "setdomainname": 162, "quotactl": 60,
}  # fmt: skip

ARCHITECTURES = {
    "x86_64": Architecture(
        0xC000003E, _X86_64, clone=56, prlimit=302, sigaction=13, memfd_create=319
    ),
    "aarch64": Architecture(
        0xC00000B7, _AARCH64, clone=220, prlimit=261, sigaction=134, memfd_create=279
    ),
}


def raise_walls(workspace: str | None) -> dict[str, str]:
    """Put up what this kernel offers, for good; says what holds. Writes only in ``workspace``."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)  # /proc/1/{mem,fd,environ} are closed to children
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    held = {"landlock": _landlock(libc, workspace), "seccomp": "not on this architecture"}
    architecture = ARCHITECTURES.get(os.uname().machine)
    if architecture is not None:
        on = _install(libc, filter_program(architecture))
        held["seccomp"] = "on" if on else "not in this kernel"
    return held


def refuse_memory_files() -> None:
    """For a child whose memory no cgroup counts: what it writes into memory files is no one's."""
    architecture = ARCHITECTURES.get(os.uname().machine)
    if architecture is not None:
        code = [
            (0x20, 0, 0, 0),  # the first filter has seen to the architecture
            (0x15, 0, 1, architecture.memfd_create),
            (0x06, 0, 0, _ERRNO | _EPERM),
            (0x06, 0, 0, _ALLOW),
        ]
        _install(ctypes.CDLL(None), b"".join(struct.pack("<HBBI", *line) for line in code))


def _install(libc: ctypes.CDLL, code: bytes) -> bool:
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    return not libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def filter_program(architecture: Architecture) -> bytes:
    """The BPF code: kill on a foreign architecture, refuse what is listed, allow the rest."""
    load = (0x20, 0, 0)  # BPF_LD | BPF_W | BPF_ABS
    equal, at_least, any_bit, answer = 0x15, 0x35, 0x45, 0x06
    code = [
        (*load, 4),  # seccomp_data.arch
        (equal, 1, 0, architecture.audit),
        (answer, 0, 0, _KILL),
        (*load, 0),  # seccomp_data.nr
        (at_least, 0, 1, architecture.newest + 1),
        (answer, 0, 0, _ERRNO | _ENOSYS),
        (equal, 0, 1, 435),  # clone3: its flags cannot be read; libc falls back to clone
        (answer, 0, 0, _ERRNO | _ENOSYS),
    ]
    for number in sorted(architecture.denied.values()):
        code += [(equal, 0, 1, number), (answer, 0, 0, _ERRNO | _EPERM)]
    code += [
        (equal, 0, 4, architecture.prlimit),  # of itself only, not of process 1
        (*load, 16),
        (equal, 1, 0, 0),
        (answer, 0, 0, _ERRNO | _EPERM),
        (answer, 0, 0, _ALLOW),
        # A process that ignores SIGCHLD has children that nobody waits for, and whose CPU time is
        # lost. So setting what it does succeeds and changes nothing; asking is as ever.
        (equal, 0, 8, architecture.sigaction),
        (*load, 16),
        (equal, 0, 4, _SIGCHLD),
        (*load, 24),  # the new action, an address: both halves
        (equal, 0, 3, 0),
        (*load, 28),
        (equal, 0, 1, 0),
        (answer, 0, 0, _ALLOW),
        (answer, 0, 0, _ERRNO),
        (equal, 0, 3, architecture.clone),
        (*load, 16),  # the low half of the first argument
        (any_bit, 0, 1, _CLONE_NEW),
        (answer, 0, 0, _ERRNO | _EPERM),
        (answer, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("<HBBI", *line) for line in code)


_WRITE_FILE = 1 << 1
# WRITE_FILE, REMOVE_DIR, REMOVE_FILE, MAKE_{CHAR,DIR,REG,SOCK,FIFO,BLOCK,SYM} of ABI 1
_WRITES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
_NEWER = {2: 1 << 13, 3: 1 << 14}  # REFER, TRUNCATE


def _landlock(libc: ctypes.CDLL, workspace: str | None) -> str:
    """Refuse every write to a path outside ``workspace``, whatever is mounted writable."""
    create, add_rule, restrict = 444, 445, 446
    abi = libc.syscall(create, None, 0, 1)
    if abi < 1:
        return "not in this kernel"
    writes = _WRITES | sum(bit for version, bit in _NEWER.items() if abi >= version)
    handled = ctypes.c_uint64(writes)
    rules = libc.syscall(create, ctypes.byref(handled), 8, 0)
    if rules < 0:
        return "not in this kernel"
    for path, allowed in (("/dev/null", writes & (_WRITE_FILE | 1 << 14)), (workspace, writes)):
        if path is None:
            continue
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = ctypes.create_string_buffer(struct.pack("<Qi", allowed, parent), 12)
        libc.syscall(add_rule, rules, 1, rule, 0)
        os.close(parent)
    failed = libc.syscall(restrict, rules, 0)
    os.close(rules)
    return "not in this kernel" if failed else "on"
