"""The local backend: one process, torch and transformers, no server."""
