"""The systemd unit of a daemon, ready to be saved."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from capture.recovery import deadline_s
from rig.config import CameraConfig

#: For opening devices, and the back-offs of a rescue.
_MARGIN_S = 60.0

_UNIT = """\
# snaprig: capture daemon of {root}
#   snaprig -w {shown} daemon --print-unit > ~/.config/systemd/user/snaprig.service
#   systemctl --user daemon-reload && systemctl --user enable --now snaprig
[Unit]
Description=snaprig capture daemon ({root})
After=network.target

[Service]
# Ready when what a crash left has been looked at; alive while web loop and engine both move.
Type=notify
NotifyAccess=main
ExecStart={command}
# Longer than the longest exposure, its noise reduction, and all that wakes a camera.
WatchdogSec={watchdog_s}
# The frame at hand is finished and the camera put back: never less than that takes.
TimeoutStopSec={stop_s}
KillMode=mixed
# A daemon that comes back says what was interrupted and resumes it on request only.
Restart=on-failure
RestartSec=5
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


def longest_silence_s(camera: CameraConfig) -> float:
    """How long an engine may give no sign: two long exposures, and all that wakes a camera."""
    rescue_s = camera.power_cycle_timeout_s + camera.boot_s
    return deadline_s(30.0, camera.margin_s) + rescue_s + _MARGIN_S


def unit(root: Path, options: Sequence[str], silence_s: float) -> str:
    """The text of a unit that runs this interpreter's snaprig over a workspace."""
    folder = str(root.resolve())
    words = [sys.executable, "-m", "rig", "-w", folder, "daemon", *options]
    return _UNIT.format(
        root=folder.replace("%", "%%"),
        shown=folder.replace("%", "%%"),
        command=" ".join(map(_quoted, words)),
        watchdog_s=round(silence_s + _MARGIN_S),
        stop_s=round(silence_s),
    )


def _quoted(word: str) -> str:
    """A word of ExecStart: systemd's quotes, no expansion."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    safe = word and plain == word and not any(c.isspace() or c in "';" for c in word)
    return word if safe else f'"{plain}"'
