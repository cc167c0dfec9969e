"""Stored rollouts, judged again: what other options, weights or versions would have changed."""
