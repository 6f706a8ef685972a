"""Metrics: pure functions of verdicts, each with its formula, shapes and source."""
