"""Exposure arithmetic, plans, records and the catalog: what every other package shares."""
