"""`snaprig color`: groups, label, report. Heavy libraries load inside the commands."""

from __future__ import annotations

import json

import click

from evaluate.color.groups import COMPARED, SRGB, Color, Group, all_pairs


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def groups(as_json: bool) -> None:
    """List the 36 pairs of colors with contrast ratio and color discrimination group.

    A pair is unordered. Hard: both colors are the same; Easy: their contrast ratio is above 4.5
    (WCAG 2.1, text at level AA); Medium: between; Others: one of the two is no color of the list.

    \b
    Examples:
      snaprig color groups
      snaprig color groups --json
    """  # noqa: D301
    pairs = all_pairs()
    if as_json:
        rows = [
            {
                "background": str(one.background),
                "foreground": str(one.foreground),
                "ratio": None if one.ratio is None else round(one.ratio, 4),
                "group": str(one.group),
            }
            for one in pairs
        ]
        click.echo(json.dumps({"pairs": rows}, indent=2))
        return
    for one in pairs:
        ratio = "  n/a" if one.ratio is None else f"{one.ratio:5.2f}"
        click.echo(f"{one.background:<7}{one.foreground:<7}{ratio}  {one.group}")
    sizes = ", ".join(
        f"{sum(one.group is group for one in pairs)} {group}" for group in (*COMPARED, Group.OTHERS)
    )
    srgb = ", ".join(f"{name} #{r:02X}{g:02X}{b:02X}" for name, (r, g, b) in SRGB.items())
    click.echo(f"{sizes}; sRGB of the colors: {srgb}; {Color.OTHERS} has none")
