"""The verl backend: each GRPO stage is one run of verl's own trainer, on GPUs or on a CPU.

Read ``backend`` first, then ``configure`` (what verl is told) and ``trainer`` (what we do inside
its loop). Only the files that verl itself loads import verl: ``plugin``, ``platform_cpu``,
``rollout_cpu``, ``agent_loop``, ``rewards``, ``trainer``, ``queue`` and ``check``.
"""
