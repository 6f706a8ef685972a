"""`snaprig evaluate run`: ask models about the frames of a catalog."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any

import click

from evaluate.errors import EvaluateError
from schemas.answer_store import CHOICE, CLASSIFICATION, DETECTION
from schemas.ask_store import Shard
from schemas.questions import TASKS as QUESTIONS
from schemas.workspace import Workspace

#: What `--task` names: a family of tasks, or one of them.
_TASKS = {
    CLASSIFICATION: (CLASSIFICATION,),
    CHOICE: (CHOICE,),
    DETECTION: (DETECTION,),
    "vqa": tuple(QUESTIONS),
    **{task: (task,) for task in QUESTIONS},
}

#: What rows of the zoo are for, by what is asked.
_ROW_TASKS = {CHOICE: CLASSIFICATION, **dict.fromkeys(QUESTIONS, "vqa")}


class Stopped(click.ClickException):
    """Stopped on purpose and resumable: exit status 3."""

    exit_code = 3


class ShardType(click.ParamType[Shard]):
    """``2/4``: the second of four parts."""

    name = "K/N"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Shard:
        """Read a part; usage error for anything else."""
        if isinstance(value, Shard):
            return value
        number, _, total = str(value).partition("/")
        if not (number.isdecimal() and total.isdecimal() and 1 <= int(number) <= int(total)):
            self.fail(f"{value!r} is no part such as 1/4", param, ctx)
        return Shard(int(number), int(total))


@click.command()
@click.option(
    "--model",
    "names",
    multiple=True,
    help="Name from the zoo, timm:NAME, hf:ID, or a folder with a checkpoint; repeat.",
)
@click.option("--zoo", "zoos", multiple=True, help="All models of a set: snap, colorsense, all.")
@click.option(
    "--task",
    type=click.Choice(list(_TASKS)),
    help="Only this task, and only models of `--zoo` that do it.",
)
@click.option("--shard", type=ShardType(), default="1/1", help="Only this part of the frames: 2/4.")
@click.option(
    "--device", default="auto", show_default=True, help="auto (a GPU if any), cpu, cuda, cuda:1, …"
)
@click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16", "float16"]),
    default="float32",
    show_default=True,
    help="Of weights and arithmetic; part of what the observer is.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(1),
    help="Stimuli asked at once (default: found for each model, within the GPU's memory).",
)
@click.option(
    "--together",
    type=click.IntRange(1),
    default=4,
    show_default=True,
    help="Models in memory at once; they share each decoded frame.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Processes, or actors with `--engine ray` (default: one for each GPU).",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="This machine, or a Ray cluster.",
)
@click.option(
    "--address",
    default="auto",
    show_default=True,
    help="With `--engine ray`: auto (the cluster of this machine), local (start one), HOST:PORT.",
)
@click.option(
    "--cache",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep prepared frames in this folder: later passes need not decode.",
)
@click.option(
    "--cache-gb",
    type=click.FloatRange(0, min_open=True),
    default=20.0,
    show_default=True,
    help="Bound of that folder.",
)
@click.option("--offline", is_flag=True, help="No network: only weights that lie on this machine.")
@click.option(
    "--trust-remote-code",
    is_flag=True,
    help="Run code that comes with a checkpoint. Read it first.",
)
@click.option(
    "--view",
    "views",
    multiple=True,
    default=("original",),
    show_default=True,
    help="How frames are seen: original, grayscale, low:RADIUS, high:RADIUS, "
    "corruption:NAME:SEVERITY; repeat.",
)
@click.option("--as", "alias", help="Name of the observer in the catalog (default: the model's).")
@click.option("--retry-failed", is_flag=True, help="Ask again about frames that failed before.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def run(
    root: Path,
    *,
    names: tuple[str, ...],
    zoos: tuple[str, ...],
    task: str | None,
    shard: Shard,
    device: str,
    dtype: str,
    batch_size: int | None,
    together: int,
    workers: int | None,
    engine: str,
    address: str,
    cache: Path | None,
    cache_gb: float,
    offline: bool,
    trust_remote_code: bool,
    views: tuple[str, ...],
    alias: str | None,
    retry_failed: bool,
    as_json: bool,
) -> None:
    """Ask models about all accepted frames that they have not seen yet.

    Resumable: what is in the catalog is not asked again. Ctrl-C finishes the batch at hand, a
    second one stops at once; both lose nothing. A model that cannot load or breaks down is
    named, the others go on, and the exit status is 1.

    \b
    Examples:
      snaprig -w lab evaluate run --model tf_efficientnet_lite2
      snaprig -w lab evaluate run --zoo snap --task detection --device cuda --dtype bfloat16
      snaprig -w lab evaluate run --model timm:resnet50 --model ./my-detector --cache lab/cache
      snaprig -w lab evaluate run --zoo snap --shard 1/4 --json
      snaprig -w lab evaluate run --model tf_efficientnet_lite2 --view grayscale --view low:16
      snaprig -w lab evaluate run --zoo snap --engine ray --address auto
    """  # noqa: D301
    if not names and not zoos:
        raise click.UsageError("name models with --model or --zoo; `snaprig evaluate models` lists")
    if alias is not None and (zoos or len(names) != 1):
        raise click.UsageError("--as names one observer: give one --model with it")
    try:
        from evaluate.zoo import find_models

        workspace = Workspace.open(root)
        _require(engine)
        rows = find_models(names, (), root, offline=offline)
        chosen = {row.name for row in rows}
        rows += [
            row
            for row in find_models((), zoos, root, offline=offline)
            if row.name not in chosen and (task is None or row.task == _ROW_TASKS.get(task, task))
        ]
        from evaluate.engine.crews import local_crews, ray_crews
        from evaluate.engine.progress import bars
        from evaluate.engine.run import Orders, run_models
        from evaluate.engine.work import Settings
        from evaluate.providers import LoadOptions
        from evaluate.views import find_view

        options = LoadOptions(device, dtype, offline, trust_remote_code)
        settings = Settings(
            workspace.root,
            options,
            batch_size,
            cache=cache,
            cache_bytes=round(cache_gb * 1e9),
        )
        orders = Orders(
            tasks=None if task is None else _TASKS[task],
            shard=shard,
            views=tuple(dict.fromkeys(find_view(view).name for view in views)),
            together=together,
            alias=alias,
            retry_failed=retry_failed,
        )
        crews = (
            ray_crews(settings, address, workers)
            if engine == "ray"
            else local_crews(settings, workers)
        )
        with (
            workspace.catalog() as catalog,
            interruptible() as stop,
            crews as hire,
            bars() as watch,
        ):
            totals = run_models(catalog, rows, orders, hire, stop=stop.is_set, watch=watch)
    except EvaluateError as error:
        raise click.ClickException(str(error)) from error
    for note in totals.notes:
        click.echo(note, err=True)
    if as_json:
        click.echo(json.dumps(totals.as_json(), indent=2))
    else:
        for one in totals.models:
            click.echo(one.sentence())
        gpu = f", {totals.gpu_memory_bytes / 1e9:.1f} GB on the GPU"
        click.echo(
            f"peak memory {totals.memory_bytes / 1e9:.1f} GB" + gpu * bool(totals.gpu_memory_bytes)
        )
    if stop.is_set() and (
        len(totals.models) < len(rows) * len(orders.views)
        or any(r.interrupted for r in totals.models)
    ):
        raise Stopped("interrupted; run the same command again to go on")
    problems = [one for one in totals.models if one.problem]
    if problems:
        named = "; ".join(f"{one.name}: {one.problem}" for one in problems)
        raise click.ClickException(
            f"{len(problems)} of {len(totals.models)} models did not finish: {named}"
        )


def _require(engine: str) -> None:
    extras = {"evaluate": ("torch", "timm"), "cluster": ("ray",) if engine == "ray" else ()}
    for extra, modules in extras.items():
        missing = [module for module in modules if find_spec(module) is None]
        if missing:
            raise EvaluateError(
                f"{', '.join(missing)} not installed; this command needs the extra `{extra}`: "
                f"pip install 'snaprig[{extra}]'"
            )


@contextmanager
def interruptible() -> Iterator[Event]:
    """An event that the first Ctrl-C sets; the second one interrupts at once."""
    stop = Event()

    def on_interrupt(_number: int, _frame: Any) -> None:  # noqa: ANN401 - a frame object
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        click.echo("\nfinishing the batch at hand; Ctrl-C again stops at once", err=True)

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
