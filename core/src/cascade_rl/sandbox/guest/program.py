"""What a forked child becomes: a Python answer, a function server, a compiler, or an executable.

Everything here happens after the fork and inside the limits; whatever it does to this process
is gone with it. Each role is a function of the file descriptors that it was given.
"""

from __future__ import annotations

import _io
import _thread
import atexit
import builtins
import gc
import io
import marshal
import os
import resource
import signal
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any, NoReturn

from cascade_rl.sandbox.guest import values

RESULT = 3  # where a role that returns something writes it
_THREAD_STACK = 16 << 20
_FAULT = 3  # exit code of test code that asks for something impossible: nobody's wrong answer


def kernel_limits(limits: dict[str, Any]) -> list[tuple[int, tuple[int, int]]]:
    """Arguments for ``setrlimit`` in the child; none can be raised again."""
    cpu = int(limits["cpu_s"]) + 2  # the watch is exact, this is for a watch that is late
    wanted = {
        resource.RLIMIT_CPU: (cpu, cpu + 1),
        resource.RLIMIT_FSIZE: (limits["output"],) * 2,
        resource.RLIMIT_NOFILE: (limits["files"],) * 2,
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_AS: (limits["address_space"] or resource.RLIM_INFINITY,) * 2,
        resource.RLIMIT_STACK: (limits["stack"],) * 2,
    }
    if limits["nproc"]:
        wanted[resource.RLIMIT_NPROC] = (limits["nproc"],) * 2
    return [(name, _at_most(pair, resource.getrlimit(name)[1])) for name, pair in wanted.items()]


def _at_most(pair: tuple[int, int], most: int) -> tuple[int, int]:
    if most == resource.RLIM_INFINITY:
        return pair
    soft, hard = (most if v == resource.RLIM_INFINITY else min(v, most) for v in pair)
    return soft, hard


def execute(job: dict[str, Any]) -> NoReturn:
    """Replace this process by ``argv``."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them; its children must not
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(job["argv"][0], job["argv"], job["env"])
    except OSError as error:
        os.write(2, f"cannot execute {job['argv'][0]}: {error.strerror}\n".encode())
        os._exit(127)


def compile_source(job: dict[str, Any]) -> NoReturn:
    """Compile the artifact, which is source text, to bytecode."""

    def work() -> None:
        code = compile(job["code"], "answer.py", "exec", dont_inherit=True)
        _write(RESULT, marshal.dumps(code))

    _end(work)


def script(job: dict[str, Any]) -> NoReturn:
    """Run the artifact, which is bytecode, as a program."""
    sys.argv = ["answer.py", *job["argv"]]
    _end(lambda: load(job, "__main__"))


def call(job: dict[str, Any]) -> NoReturn:
    """Run the artifact as a module, then make one call (read from standard input)."""
    request = values.loads(_read(0))
    _to_null(0)

    def work() -> None:
        function, args, kwargs, return_args = request
        answer = eval(function, load(job, "answer"))(*args, **kwargs)
        _write(RESULT, _packed(list(args) if return_args else answer))

    _end(work)


def serve(job: dict[str, Any]) -> NoReturn:
    """Run the artifact as a module, then answer calls from the pipe on standard input."""
    requests, replies = _take_pipes()

    def work() -> None:
        namespace = load(job, "answer")
        for line in requests:
            function, args, kwargs = values.loads(line)
            try:
                reply = b'{"v":' + values.dumps(eval(function, namespace)(*args, **kwargs)) + b"}"
            except (Exception, SystemExit) as error:
                reply = b'{"e":' + values.dumps([type(error).__name__, str(error)[:1000]]) + b"}"
            _write(replies, reply + b"\n")

    _end(work)


def examine(job: dict[str, Any]) -> NoReturn:
    """Run the artifact, which is test code; its named functions live behind the pipes."""
    requests, replies = _take_pipes()
    functions = {
        name: _proxy(expression, requests, replies) for name, expression in job["functions"]
    }
    _end(lambda: load(job, "__main__", functions))


ROLES: dict[str, Callable[[dict[str, Any]], NoReturn]] = {
    "execute": execute,
    "compile": compile_source,
    "script": script,
    "call": call,
    "serve": serve,
    "examine": examine,
}


def _proxy(expression: str, replies: Any, requests: int) -> Callable[..., Any]:
    def ask(*args: Any, **kwargs: Any) -> Any:
        try:
            line = values.dumps([expression, list(args), kwargs])
        except values.NotPlain as error:
            os.write(2, f"the arguments of {expression} cannot be sent: {error}\n".encode())
            os._exit(_FAULT)
        try:
            _write(requests, line + b"\n")
        except BrokenPipeError:
            raise RuntimeError(f"{expression}: the program has ended") from None
        text = replies.readline()
        if text.startswith(b'{"v":') and text.endswith(b"}\n"):
            return values.loads(text[5:-2])
        if text.startswith(b'{"e":') and text.endswith(b"}\n"):
            name, message = values.loads(text[5:-2])
            raise _exception_type(name)(message)
        raise RuntimeError(f"{expression}: the program has ended")

    return ask


def _exception_type(name: str) -> type[Exception]:
    kind = getattr(builtins, name, None)
    return kind if isinstance(kind, type) and issubclass(kind, Exception) else RuntimeError


def _take_pipes() -> tuple[Any, int]:
    """Move the pipes off 0 and 1: the code's own input and prints are no part of the talk."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.dup(1)
    _to_null(0)
    os.dup2(RESULT, 1)
    return requests, replies


def _to_null(fd: int) -> None:
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, fd)
    os.close(null)


def load(job: dict[str, Any], name: str, extra: dict[str, Any] | None = None) -> dict[str, Any]:
    """Execute the job's bytecode as a module; returns its namespace."""
    module = types.ModuleType(name)
    sys.modules["__main__"] = module
    sys.modules[name] = module
    module.__dict__.update(__file__="answer.py", __builtins__=builtins, **(extra or {}))
    code = marshal.loads(job.pop("code"))
    exec(code, module.__dict__)
    return module.__dict__


def _packed(value: Any) -> bytes:
    try:
        return values.dumps(value)
    except (values.NotPlain, RecursionError) as error:
        os.write(2, f"the function returned no plain data: {error}\n".encode())
        return b""


def _end(work: Callable[[], object]) -> NoReturn:
    """Run ``work`` and end as the interpreter would, without the cost of tearing it down."""
    _thread.stack_size(_THREAD_STACK)  # the default is the main thread's limit, far too much
    gc.enable()
    os._exit(exit_code(work))


def exit_code(work: Callable[[], object]) -> int:
    """Run it and what an interpreter does at its end; returns the exit code."""
    code = _code_of(work)
    for last in (_join_threads, atexit._run_exitfuncs, _flush_files):
        code = _code_of(last) or code
    return code


def _code_of(work: Callable[[], object]) -> int:
    try:
        work()
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 255
        _complain(f"{error.code}\n")
        return 1
    except BaseException as error:
        _report(error)
        return 1
    return 0


def _report(error: BaseException) -> None:
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != "answer.py":
        trace = trace.tb_next
    try:
        _complain("".join(traceback.format_exception(type(error), error, trace, limit=-20)))
    except BaseException:
        _complain(f"{type(error).__name__}\n")


def _complain(text: str) -> None:
    try:
        sys.stderr.flush()
        os.write(2, text.encode("utf-8", "backslashreplace"))
    except BaseException:  # the answer may have closed or replaced standard error: nobody listens
        pass


def _join_threads() -> None:
    threading: Any = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()


def _flush_files() -> None:
    for file in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        if file is not None and not getattr(file, "closed", False):
            file.flush()
    # An answer that opened descriptor 1 itself and did not close it relies on the collector.
    # By the C base class: io.IOBase is an abstract one, which notes all that it is asked about.
    opened = [o for o in gc.get_objects() if issubclass(type(o), _io._IOBase) and not o.closed]
    for kind in ((io.TextIOWrapper,), (io.BufferedWriter, io.BufferedRandom)):  # texts feed buffers
        for file in opened:
            if isinstance(file, kind) and not file.closed:
                file.flush()


def _read(fd: int) -> bytes:
    size = os.fstat(fd).st_size
    return os.pread(fd, size, 0)


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
