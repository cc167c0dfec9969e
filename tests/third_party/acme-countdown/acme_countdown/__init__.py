"""The numbers game: reach the target with the given numbers, each used once."""
