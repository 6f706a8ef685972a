"""The catalog's accepted frames as datasets that others can use."""
