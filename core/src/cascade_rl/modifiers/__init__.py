"""Reward modifiers that come with core; anybody's own are announced the same way."""
