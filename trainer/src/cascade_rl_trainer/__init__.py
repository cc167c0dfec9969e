"""Trains cascades."""
