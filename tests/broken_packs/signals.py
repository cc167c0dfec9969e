"""A deadline by alarm, which exists on the main thread only."""

import signal

from good_pack import *


@hookimpl
def reward(prompt, completion):
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(5)
    verdict = judge(prompt, completion.answer)
    signal.alarm(0)
    return verdict
