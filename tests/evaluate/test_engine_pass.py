"""A pass with several models: what they share, and how they fail without the others."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from evaluate.engine import worker
from evaluate.engine.run import Orders, run_models
from evaluate.engine.stimuli import choice_options
from evaluate.engine.work import Settings
from evaluate.errors import EvaluateError
from evaluate.model import Given, Label, top5_payload
from evaluate.question_judges import OTHER
from evaluate.questions import make_questions
from evaluate.release.rules import CLASSES
from schemas.answer_store import add_responses, list_observers, list_responses
from schemas.ask_store import Shard, Wanted, count_pending, iter_pending
from schemas.exposure import Exposure
from schemas.frame_store import list_frames
from schemas.records import Outcome, Response
from tests.evaluate import asking
from tests.evaluate.conftest import jpeg

F_NUMBERS = (3.5, 4.0, 4.5, 5.0, 5.6, 6.3, 7.1, 8.0, 9.0, 10.0)


@dataclass
class Thumb:
    """Looks at every eighth pixel."""

    transform_key: str | None
    tasks: tuple[str, ...] = ("classification",)
    name: str = "thumb"
    prepared: int = 0
    asked: list = field(default_factory=list)
    device: str = "cpu"

    @property
    def spec(self):
        return {"name": self.name}

    def prepare(self, pixels):
        self.prepared += 1
        return np.ascontiguousarray(pixels[::8, ::8])

    def answer(self, batch):
        self.asked += batch
        return [
            Given(one.options[0], {"scores": {one.options[0]: 1.0}})
            if one.options
            else Given("2", {})
            if one.task != "classification"
            else Given(None, top5_payload([Label(int(one.prepared[0, 0, 0]), "red", 0.5)]))
            for one in batch
        ]


def put_frames(lab, count, category="cup"):
    for number in range(count):
        exposure = Exposure(1 / 2000, 100 * 2 ** (number % 6), F_NUMBERS[number // 6])
        lab.frame("mugs", "bright", exposure, jpeg(number), category=category)
    return list(list_frames(lab.catalog, outcome=Outcome.ACCEPTED))


def ask(lab, models, **options):
    return asking.ask_all(lab.catalog, lab.workspace, models, **options)


def answers(lab):
    return {
        o.name: {r.stimulus_id: (r.text, r.payload) for r in list_responses(lab.catalog, o.id)}
        for o in list_observers(lab.catalog)
    }


@pytest.fixture
def decoded(monkeypatch):
    """Paths of the frames that are decoded."""
    seen = []
    read = worker.read_pixels

    def counted(path, sha256):
        seen.append(path.name)
        return read(path, sha256)

    monkeypatch.setattr(worker, "read_pixels", counted)
    return seen


def test_a_frame_is_decoded_once_and_prepared_once_for_each_transform(lab, decoded):
    put_frames(lab, 20)
    models = {"a": Thumb("k"), "b": Thumb("k"), "c": Thumb("other"), "d": Thumb(None)}
    for name, model in models.items():
        model.name = name
    runs = ask(lab, models, batch_size=3)
    assert [(run.responses, run.failed, run.problem) for run in runs] == [(20, 0, "")] * 4
    assert len(decoded) == len(set(decoded)) == 20
    assert [model.prepared for model in models.values()] == [20, 0, 20, 20]
    told = answers(lab)
    assert told["a"] == told["b"] == told["c"] == told["d"]


def test_together_or_one_by_one_the_answers_are_the_same(make_lab, decoded):
    told = []
    for together in (1, 3):
        lab = make_lab(f"lab{together}")
        put_frames(lab, 6)
        ask(
            lab,
            {name: Thumb("k", name=name) for name in "abc"},
            orders=Orders(together=together),
        )
        told.append(answers(lab))
    assert told[0] == told[1]
    assert len(decoded) == 3 * 6 + 6


def test_a_warm_cache_needs_no_frame(lab, decoded, tmp_path):
    put_frames(lab, 5)
    cached = {"cache": tmp_path / "cache", "cache_bytes": 10**7}
    ask(lab, {"cold": Thumb("k", name="cold")}, **cached)
    warm, other = Thumb("k", name="warm"), Thumb("other", name="other")
    ask(lab, {"warm": warm}, **cached)
    assert len(decoded) == 5
    assert warm.prepared == 0
    assert {one.size_px for one in warm.asked} == {(96, 64)}
    ask(lab, {"other": other}, **cached)
    assert len(decoded) == 10
    told = answers(lab)
    assert told["cold"] == told["warm"] == told["other"]


def test_prefetch_is_bounded(lab):
    put_frames(lab, 60)

    class Watching(Thumb):
        ahead = 0

        def answer(self, batch):
            given = super().answer(batch)
            self.ahead = max(self.ahead, self.prepared - len(self.asked))
            return given

    model = Watching(None)
    ask(lab, {"thumb": model}, batch_size=4)
    assert model.ahead <= worker.AHEAD + 4 + 4  # and what the readers are at


def test_models_that_cannot_be_asked_are_named_and_the_others_go_on(lab, monkeypatch):
    put_frames(lab, 10)

    class Cracks(Thumb):
        def answer(self, batch):
            if len(self.asked) >= 4:
                raise ValueError("shapes do not match\nat some place")
            return super().answer(batch)

    class Odd(Thumb):
        def prepare(self, pixels):
            raise KeyError("pixel_values")

    class Missing(dict):
        def __getitem__(self, name):
            if name == "gone":
                raise EvaluateError("gone cannot run here: no weights")
            if name == "wild":
                raise OSError("corrupt header")
            return super().__getitem__(name)

    models = Missing(
        good=Thumb("k", name="good"),
        gone=None,
        wild=None,
        cracks=Cracks("k", name="cracks"),
        odd=Odd(None, name="odd"),
        also=Thumb("k", name="also"),
    )
    runs = {run.name: run for run in ask(lab, models, batch_size=2, orders=Orders(together=6))}
    assert (runs["good"].responses, runs["also"].responses) == (10, 10)
    assert runs["gone"].problem == "gone cannot run here: no weights"
    assert runs["wild"].problem == "OSError: corrupt header"
    assert (runs["cracks"].responses, runs["cracks"].problem) == (
        4,
        "ValueError: shapes do not match",
    )
    assert runs["odd"].problem.startswith("KeyError")
    # what a broken model was asked is no failure of the frames: it stays pending
    assert {name: len(given) for name, given in answers(lab).items()} == {
        "good": 10,
        "also": 10,
        "cracks": 4,
        "odd": 0,
    }
    assert ask(lab, {"cracks": Thumb("k", name="cracks")})[0].responses == 6


def test_a_model_without_room_beside_the_others_gets_its_turn(lab):
    put_frames(lab, 3)
    loaded = []

    class Room(dict):
        def __getitem__(self, name):
            if name == "large" and "small" in loaded and len(loaded) < 2:
                loaded.append("refused")
                raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
            loaded.append(name)
            return super().__getitem__(name)

    runs = ask(lab, Room(small=Thumb("k", name="s"), large=Thumb("k", name="l")))
    assert loaded == ["small", "refused", "large"]
    assert [(run.name, run.responses, run.problem) for run in runs] == [
        ("small", 3, ""),
        ("large", 3, ""),
    ]


def test_items_that_a_model_refuses_are_failures_and_asked_again_on_request(lab):
    frames = put_frames(lab, 6)

    class Picky(Thumb):
        patient = False

        def answer(self, batch):
            if not self.patient and any(one.prepared[0, 0, 0] % 2 for one in batch):
                raise EvaluateError("an odd frame")
            return super().answer(batch)

    model = Picky(None)
    (run,) = ask(lab, {"picky": model})
    assert run.responses + run.failed == len(frames)
    assert 0 < run.failed < len(frames)
    (observer,) = list_observers(lab.catalog)
    failed = [r for r in list_responses(lab.catalog, observer.id) if r.error]
    assert all((r.error, r.frame_sha256) == ("an odd frame", "") for r in failed)
    model.patient = True
    assert ask(lab, {"picky": model})[0].asked == 0
    (again,) = ask(lab, {"picky": model}, orders=Orders(retry_failed=True))
    assert (again.responses, again.failed) == (run.failed, 0)


def test_shards_part_the_frames(lab):
    frames = put_frames(lab, 40)
    total = 0
    for number in (3, 1, 2):
        (run,) = ask(lab, {"thumb": Thumb("k")}, orders=Orders(shard=Shard(number, 3)))
        assert run.asked == run.responses > 0
        total += run.responses
    assert total == len(frames)
    assert ask(lab, {"thumb": Thumb("k")})[0].asked == 0
    # a part follows from the bytes alone: another machine finds the same
    assert all(sum(Shard(n, 3).holds(f.sha256) for n in (1, 2, 3)) == 1 for f in frames)


def test_two_runs_at_once_answer_once(lab):
    put_frames(lab, 8)

    class Slow(Thumb):
        def answer(self, batch):
            (observer,) = list_observers(lab.catalog)
            pending = list(iter_pending(lab.catalog, [Wanted(observer.id, self.tasks)]))
            if pending:
                stimulus = pending[0].asks[0].stimulus_id
                add_responses(lab.catalog, [Response(stimulus, observer.id, text="the other run")])
            return super().answer(batch)

    (run,) = ask(lab, {"thumb": Slow("k")}, batch_size=2)
    assert run.problem == ""
    (observer,) = list_observers(lab.catalog)
    given = list(list_responses(lab.catalog, observer.id))
    assert len(given) == len({r.stimulus_id for r in given}) == 8
    assert sum(r.text == "the other run" for r in given) == 4


def test_questions_are_asked_as_people_get_them(lab):
    put_frames(lab, 4)
    make_questions(lab.catalog, 7)
    model = Thumb("k", tasks=("q1", "q2", "q3"))
    (run,) = ask(lab, {"vlm": model}, batch_size=5)
    assert (run.asked, run.responses, model.prepared) == (12, 12, 4)
    assert {one.task for one in model.asked} == {"q1", "q2", "q3"}
    for one in model.asked:
        assert bool(one.options) == (one.task == "q3")
        assert not one.options or (len(one.options), one.options[-1]) == (11, OTHER)
    orders = {one.options for one in model.asked if one.options}
    assert len(orders) > 1
    (observer,) = list_observers(lab.catalog)
    told = [r.text for r in list_responses(lab.catalog, observer.id, "q3")]
    assert sorted(told) == sorted(one.options[0] for one in model.asked if one.options)


def test_a_choice_offers_the_categories(lab):
    put_frames(lab, 3)
    model = Thumb("k", tasks=("classification", "choice"))
    (run,) = ask(lab, {"clip": model}, orders=Orders(tasks=("choice",)))
    assert run.responses == 3
    assert {one.options for one in model.asked} == {tuple(sorted(CLASSES))}
    (refused,) = ask(lab, {"clip": model}, orders=Orders(tasks=("detection",)))
    assert "cannot be asked detection" in refused.problem


def test_other_categories_are_offered_as_they_are(lab):
    put_frames(lab, 2, category="espresso")
    assert choice_options(lab.catalog) == ("espresso",)


def test_pending_blocks_miss_nothing(lab, monkeypatch):
    put_frames(lab, 11)
    ask(lab, {"thumb": Thumb("k")}, orders=Orders(shard=Shard(1, 2)))
    (observer,) = list_observers(lab.catalog)
    wanted = Wanted(observer.id, ("classification",))
    whole = list(iter_pending(lab.catalog, [wanted]))
    monkeypatch.setattr("schemas.ask_store.BLOCK", 2)
    assert list(iter_pending(lab.catalog, [wanted])) == whole
    assert count_pending(lab.catalog, wanted) == len(whole) > 0


def test_the_batch_is_recorded(lab):
    put_frames(lab, 5)
    ask(lab, {"thumb": Thumb("k")}, batch_size=3)
    (observer,) = list_observers(lab.catalog)
    batches = [r.timing for r in list_responses(lab.catalog, observer.id)]
    assert batches == [{"batch": 3}] * 3 + [{"batch": 2}] * 2


class TestViews:
    def test_a_view_is_asked_and_scored_apart(self, lab):
        put_frames(lab, 4)
        model = Thumb("key")
        models = {"thumb": model}
        ask_all = asking.ask_all
        (plain,) = ask_all(lab.catalog, lab.workspace, models)
        orders = Orders(views=("grayscale",))
        (gray,) = ask_all(lab.catalog, lab.workspace, models, orders=orders)
        assert (plain.responses, gray.responses, gray.view) == (4, 4, "grayscale")
        assert gray.as_json()["view"] == "grayscale"
        seen = [one.prepared for one in model.asked]
        assert all(len(set(pixel)) == 1 for image in seen[4:] for pixel in image.reshape(-1, 3))
        (again,) = ask_all(lab.catalog, lab.workspace, models, orders=orders)
        assert again.asked == 0
        (observer,) = list_observers(lab.catalog)
        assert len(list(list_responses(lab.catalog, observer.id, "classification"))) == 4
        assert len(list(list_responses(lab.catalog, observer.id))) == 8

    def test_the_cache_keeps_views_apart(self, lab, tmp_path):
        put_frames(lab, 2)
        model = Thumb("key")
        for view in ("original", "grayscale"):
            asking.ask_all(
                lab.catalog,
                lab.workspace,
                {"thumb": model},
                orders=Orders(views=(view,)),
                cache=tmp_path / "cache",
                cache_bytes=10**9,
            )
        assert model.prepared == 4

    def test_questions_are_asked_of_the_original_only(self, lab):
        put_frames(lab, 1)
        (run,) = asking.ask_all(
            lab.catalog,
            lab.workspace,
            {"vlm": Thumb("key", tasks=("q1",), name="vlm")},
            orders=Orders(views=("low:16",)),
        )
        assert "asked nothing about frames seen as low:16" in run.problem

    def test_models_stay_loaded_from_view_to_view(self, lab):
        put_frames(lab, 4)
        loaded = []

        def load(row, _options):
            loaded.append(row.name)
            return Thumb("key", name=row.name)

        settings = Settings(lab.workspace.root, batch_size=2, load=load)
        rows = [asking.row_named(name) for name in ("one", "two", "three")]
        orders = Orders(views=("original", "grayscale", "low:16"), together=2)
        totals = run_models(lab.catalog, rows, orders, lambda group: worker.Worker(group, settings))
        assert loaded == ["one", "two", "three"]
        views = ("original", "grayscale", "low:16")
        assert [(run.name, run.view, run.responses) for run in totals.models] == [
            *((name, view, 4) for view in views for name in ("one", "two")),
            *(("three", view, 4) for view in views),
        ]

    def test_a_stop_between_views_leaves_the_rest_to_be_asked(self, lab):
        put_frames(lab, 4)
        orders = Orders(views=("original", "grayscale"))
        done = []
        (first,) = asking.ask_all(
            lab.catalog,
            lab.workspace,
            {"thumb": Thumb("key")},
            orders=orders,
            watch=done.append,
            stop=lambda: bool(done) and done[-1].done == 4,
        )
        assert (first.view, first.responses) == ("original", 4)
        plain, gray = ask(lab, {"thumb": Thumb("key")}, orders=orders)
        assert (plain.asked, gray.responses) == (0, 4)

    def test_a_model_that_breaks_down_says_so_in_each_view(self, lab):
        put_frames(lab, 4)

        class Broken(Thumb):
            def answer(self, batch):
                raise ZeroDivisionError("a defect")

        runs = ask(
            lab,
            {"broken": Broken("k"), "whole": Thumb("k")},
            orders=Orders(views=("original", "grayscale")),
        )
        problems = [run.problem for run in runs if run.name == "broken"]
        assert problems == ["ZeroDivisionError: a defect"] * 2
        assert [run.responses for run in runs if run.name == "whole"] == [4, 4]

    def test_failures_are_forgotten_once_for_all_views(self, lab):
        put_frames(lab, 4)
        orders = Orders(views=("original", "grayscale"))

        class Refusing(Thumb):
            def answer(self, batch):
                raise EvaluateError("not today")

        assert [run.failed for run in ask(lab, {"t": Refusing("k")}, orders=orders)] == [4, 4]
        again = ask(lab, {"t": Refusing("k")}, orders=replace(orders, retry_failed=True))
        assert [run.failed for run in again] == [4, 4]
        (observer,) = list_observers(lab.catalog)
        assert len(list(list_responses(lab.catalog, observer.id))) == 8
