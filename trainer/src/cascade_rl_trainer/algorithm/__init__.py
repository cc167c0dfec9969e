"""The formulas of the recipe as pure functions: no model, no file, no clock."""
