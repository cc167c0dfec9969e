"""A group hook that gives 0 to what was never judged."""

from good_pack import *


@hookimpl
def reward_group(rewards):
    return [Reward(score=r.score or 0.0) for r in rewards]
