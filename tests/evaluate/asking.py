"""Ask a model object of a test, through the engine."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from evaluate.engine.run import ModelRun, Orders, run_models
from evaluate.engine.work import Settings
from evaluate.engine.worker import Worker
from evaluate.model import Model
from evaluate.zoo import ModelRow
from schemas.catalog import Catalog
from schemas.workspace import Workspace

ORDERS = Orders()


def row_named(name: str) -> ModelRow:
    """A row for a model that the test builds itself."""
    return ModelRow(name=name, task="classification", provider="external", id=name)


def ask_all(
    catalog: Catalog,
    workspace: Workspace,
    models: Mapping[str, Model],
    *,
    orders: Orders = ORDERS,
    batch_size: int | None = 16,
    stop: Callable[[], bool] = lambda: False,
    watch: Callable[[ModelRun], None] = lambda _run: None,
    **settings: Any,
) -> list[ModelRun]:
    """Ask several models together; what each of them did."""
    made = Settings(workspace.root, batch_size=batch_size, **settings)
    made = replace(made, load=lambda row, _options: models[row.name])
    rows = [row_named(name) for name in models]
    return run_models(
        catalog, rows, orders, lambda group: Worker(group, made), stop=stop, watch=watch
    ).models


def ask(
    catalog: Catalog, workspace: Workspace, name: str, model: Model, **options: Any
) -> ModelRun:
    """Ask one model about all frames that it has not seen; what it did."""
    (run,) = ask_all(catalog, workspace, {name: model}, **options)
    return run
