"""The documented questions can be asked."""

import re
from pathlib import Path

import duckdb

from evaluate.bias.engines import run_serial
from evaluate.bias.scan import Collection, scan
from evaluate.bias.sources import find_units
from tests.evaluate import picture_headers as made

PAGE = Path(__file__).parents[2] / "docs" / "bias.md"


def test_documented_queries_run(tmp_path, monkeypatch):
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "a.jpg").write_bytes(made.jpeg(made.tiff()))
    (folder / "b.jpg").write_bytes(made.jpeg())
    monkeypatch.chdir(tmp_path)
    scan(find_units([folder]), Path("photos.parquet"), Collection("c"), run_serial)
    (block,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    decades, night, reasons = (duckdb.sql(query).fetchall() for query in block.split(";")[:-1])
    assert decades == [(2010, "manual", 1)]
    assert night == []
    assert sorted(reasons, key=str) == [("no_exif", 1), (None, 1)]
