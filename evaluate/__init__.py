"""Evaluation: models answer the catalog's stimuli, one scoring path, one report."""
