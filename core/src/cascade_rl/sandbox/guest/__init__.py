"""The code that runs inside a sandbox, sent there as source text over the channel.

It imports the standard library only, and runs on Python 3.9 or newer, whatever the host has.
It is trusted, but it never holds anything that an answer must not see.
"""

#: Every module of the guest, in the order in which they can be executed.
MODULES = ("values", "watch", "channel", "walls", "program", "rehearsal", "run", "talk", "main")

#: The first thing a guest executes: ``python -c LOADER IN_FD OUT_FD``.
LOADER = """\
import sys
sys.path[:] = [place for place in sys.path if place]
import json, os, struct, types
source, sink = int(sys.argv[1]), int(sys.argv[2])
def take(size):
    parts = []
    while size:
        part = os.read(source, size)
        if not part:
            os._exit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
boot = json.loads(take(struct.unpack("<I", take(4))[0]))
for name in boot["packages"]:
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = []
for name, text in boot["modules"]:
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)
del boot["modules"], text
module.serve(source, sink, boot["config"])
"""
