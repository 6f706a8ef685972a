"""Settings of the catalog's frames, for comparison with other collections."""

from __future__ import annotations

from schemas.catalog import Catalog

_SETTINGS = """
    SELECT shutter_s, f_number, iso FROM frames
    WHERE kind = 'manual' AND outcome = 'accepted' ORDER BY id
"""


def accepted_settings(catalog: Catalog) -> list[tuple[float, float, int]]:
    """Shutter speed in seconds, F-number and ISO of every accepted manual frame."""
    with catalog.read() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(_SETTINGS)]
