"""The checks of the kit, a file for each kind of claim."""
