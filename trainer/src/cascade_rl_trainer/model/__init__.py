"""Policies: built from nothing, loaded from a folder or a GGUF file, saved as a folder."""
