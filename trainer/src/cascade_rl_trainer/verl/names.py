"""Names that our configuration and what verl loads must agree on."""

from __future__ import annotations

#: ``trainer.v1.trainer_mode``, and the section below ``trainer.v1`` that points at the job.
TRAINER_MODE = "cascade_rl"
#: ``actor_rollout_ref.rollout.agent.default_agent_loop``.
AGENT_LOOP = "cascade_rl"
#: ``actor_rollout_ref.rollout.name`` on a CPU.
ROLLOUT = "cascade_rl_cpu"
#: The variable ``VERL_PLATFORM`` on a CPU.
PLATFORM = "cascade_rl_cpu"
#: What each process of verl imports first (``VERL_USE_EXTERNAL_MODULES``).
PLUGIN = "cascade_rl_trainer.verl.plugin"
#: The driver ends when the process with this id does.
PARENT_VARIABLE = "CASCADE_RL_PARENT"
#: Where the reward service's bearer token is looked for.
TOKEN_VARIABLE = "CASCADE_REWARD_TOKEN"  # noqa: S105 - the variable's name
