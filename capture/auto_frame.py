"""The paper's first picture: the camera's own choice, before the sweep, outside its count."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from capture.analysis import analyze
from capture.frames import Sweep, auto_frame
from capture.light_log import LightLog
from capture.provenance import load_stamper, versions
from capture.readiness import MANUAL
from capture.storing import store_light
from capture.sweep import devices, simulated
from rig.bench import Bench
from rig.errors import Abort, AskOperator, Retry
from rig.light_guard import Band, Judgement
from rig.protocols import Camera, LightMeter, OfferedSettings, Picture
from schemas.capture_store import add_event, end_run, put_lighting, start_run
from schemas.catalog import Catalog
from schemas.frame_store import add_frame, list_frames, remove_frame
from schemas.jpeg import JpegError
from schemas.plan import Lighting
from schemas.records import Frame, Outcome, RunStatus
from schemas.workspace import Workspace, write_atomically

_NOT_AUTOMATIC = (MANUAL, "Bulb", "")
#: An automatic mode may choose the longest exposure there is, and its noise reduction.
_TIMEOUT_S = 75.0


def require_absent(catalog: Catalog, scene: str, lighting: str) -> None:
    """Raise Abort if there is an auto frame already."""
    if find_auto_frame(catalog, scene, lighting) is not None:
        raise Abort(
            f"{scene} under {lighting} has its auto frame already",
            "take it again with --replace",
        )


def find_auto_frame(catalog: Catalog, scene: str, lighting: str) -> Frame | None:
    """The auto frame of a scene under a lighting; None if there is none, or it was damaged."""
    found = list_frames(
        catalog, scene=scene, lighting=lighting, kind="auto", outcome=Outcome.ACCEPTED
    )
    return next(found, None)


def take_auto_frame(
    workspace: Workspace,
    catalog: Catalog,
    bench: Bench,
    *,
    scene: str,
    lighting: Lighting,
    attempts: int = 3,
    make_light: Callable[[LightMeter, Band], LightLog] = LightLog,
) -> Frame:
    """Take the camera's own choice of settings as the auto frame, in place of an earlier one.

    The exposure value is that of the settings in the picture's Exif block. `make_light` is that
    of `capture.sweep.run_sweep`.

    Raises
    ------
    AskOperator
        If the mode dial is not on an automatic mode, the light is not the lighting's, or the
        flash fired.
    Retry
        If no attempt gave a picture that can be decoded.
    CatalogError
        If the frame to replace has answers.
    """
    mode = bench.camera.mode()
    if mode in _NOT_AUTOMATIC:
        raise AskOperator(
            f"the camera's mode dial is on {mode or 'an unknown mode'}: it would not choose",
            "turn the mode dial to P (or A+), run the command again, then turn it back to M",
        )
    put_lighting(catalog, lighting)
    run_id = start_run(
        catalog,
        scene=scene,
        lighting=lighting.name,
        plan=None,
        simulated=simulated(bench),
        devices=devices(bench),
        versions=versions(),
    )
    sweep = Sweep(run_id, scene, lighting, "", OfferedSettings((), (), ()))
    status, reason = RunStatus.FAILED, "stopped at once"
    light = make_light(bench.meter, Band.of(lighting))
    light.start()
    try:
        _require_light(light, lighting)
        picture = _shoot(bench.camera, catalog, run_id, attempts)
        _require_proof(light, lighting, picture)
        frame = _store(workspace, catalog, sweep, picture, light)
        status, reason = RunStatus.DONE, ""
    except Exception as error:
        reason = str(error)
        raise
    finally:
        light.stop()
        store_light(catalog, run_id, light)
        end_run(catalog, run_id, status, reason)
    return frame


def wait_for_manual(
    camera: Camera, sleep: Callable[[float], None] = time.sleep, interval_s: float = 0.5
) -> None:
    """Return when the mode dial is back on M, however long that takes."""
    while camera.mode() != MANUAL:
        sleep(interval_s)


def _require_light(light: LightLog, lighting: Lighting) -> None:
    """Raise AskOperator unless the light is that of the lighting now."""
    while light.starting:
        light.wait(0.2)
    _refuse(light.trouble, lighting)


def _require_proof(light: LightLog, lighting: Lighting, picture: Picture) -> None:
    """Raise AskOperator unless it was so around an exposure. Waits for the sample after it."""
    window_s = (picture.commanded_monotonic_s, picture.ended_monotonic_s)
    while (verdict := light.judge(*window_s)).judgement is Judgement.PENDING:
        light.wait(0.2)
    _refuse(verdict.reason, lighting)


def _refuse(trouble: str, lighting: Lighting) -> None:
    if trouble:
        raise AskOperator(
            f"the light is not that of {lighting.name}: {trouble}",
            f"set the panels to {lighting.lux:g} lux, check lamp and meter, then try again",
        )


def _shoot(camera: Camera, catalog: Catalog, run_id: int, attempts: int) -> Picture:
    last = ""
    for _ in range(attempts):
        try:
            picture = camera.shoot(_TIMEOUT_S)
            flash_fired = analyze(picture.data).exif.flash_fired
        except (Retry, JpegError) as error:
            kind, last = "retry" if isinstance(error, Retry) else "undecodable", str(error)
        else:
            if flash_fired:
                add_event(catalog, run_id, "flash_fired", "auto", "")
                raise AskOperator(
                    "the flash fired: this is not the light of the lamps",
                    "fold the flash in, turn the dial to P (A+ raises it by itself), try again",
                )
            return picture
        add_event(catalog, run_id, kind, "auto", last)
    raise Retry(
        f"no auto frame in {attempts} attempts: {last}", "check camera and lens, then try again"
    )


def _store(
    workspace: Workspace, catalog: Catalog, sweep: Sweep, picture: Picture, light: LightLog
) -> Frame:
    lit = light.window(picture.commanded_monotonic_s, picture.ended_monotonic_s)
    frame = auto_frame(sweep, picture, analyze(picture.data), lit)
    path = workspace.auto_frame_path(sweep.scene, sweep.lighting.name)
    earlier = find_auto_frame(catalog, sweep.scene, sweep.lighting.name)
    if earlier is not None and earlier.id is not None:
        # Row first: a crash in between leaves a file without a row, never a wrong row.
        remove_frame(catalog, earlier.id)
    frame, stamped = load_stamper(catalog, sweep.run_id)(frame, picture.data)
    write_atomically(path, stamped)
    frame = replace(frame, path=workspace.relative(path))
    return replace(frame, id=add_frame(catalog, frame))
