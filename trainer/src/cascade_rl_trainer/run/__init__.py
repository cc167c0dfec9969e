"""A whole run: which stage is next, what is recorded, when it may go on."""
