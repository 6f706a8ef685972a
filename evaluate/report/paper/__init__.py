"""The figures of the SNAP paper, drawn for whatever observers a catalog holds."""
