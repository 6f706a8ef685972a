"""How each value of `published.toml` is computed anew: small functions by name.

They take the verdicts on the release's answers (`Evidence`) and a row of the file, and give a
number, or say what is missing from the catalog (`MissingError`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from evaluate.metrics.groups import exposure_range
from evaluate.paper_models import PaperModel, find_paper_model
from evaluate.question_judges import BOTH, FAITHFULNESS
from evaluate.report.effects import top_mistake
from evaluate.report.evidence import (
    PEOPLE,
    Evidence,
    MissingError,
    by_offset,
    chosen,
    imagenet_top1,
    macro,
    parameter_sensitivity,
    top1,
)
from evaluate.report.observed import Conditions, Observed, share_of
from evaluate.report.published_rows import PublishedValue
from schemas.answer_store import CLASSIFICATION
from schemas.said_store import FrameSetting

Measure = Callable[[Evidence, PublishedValue], float]


def measure(evidence: Evidence, value: PublishedValue) -> float:
    """Compute a value. Raises MissingError where the catalog cannot give it."""
    found = MEASURES[value.measure](evidence, value)
    if math.isnan(found):
        raise MissingError("the catalog has no such answers")
    return found


# ---- one observer ----


def _share(column: str) -> Measure:
    def compute(evidence: Evidence, value: PublishedValue) -> float:
        return macro(chosen(evidence.find(str(value.observer)), value), column)

    return compute


def _top5(evidence: Evidence, value: PublishedValue) -> float:
    found = chosen(evidence.find(str(value.observer)), value).task_of(CLASSIFICATION)
    return float((~np.isnan(found.place)).mean()) if len(found) else math.nan


def _peak(column: str, *, place: bool = False) -> Measure:
    def compute(evidence: Evidence, value: PublishedValue) -> float:
        means = by_offset(chosen(evidence.find(str(value.observer)), value), column)
        best = max(means, key=lambda offset: (means[offset], -offset), default=math.nan)
        return best if place else means.get(best, math.nan)

    return compute


def _ps(column: str) -> Measure:
    def compute(evidence: Evidence, value: PublishedValue) -> float:
        return parameter_sensitivity(chosen(evidence.find(str(value.observer)), value), column)

    return compute


def _unfaithful(evidence: Evidence, value: PublishedValue) -> float:
    found = chosen(evidence.find(str(value.observer)), value)
    return float(np.isin(found.error_kind.astype(str), (FAITHFULNESS, BOTH)).mean())


def _rank(evidence: Evidence, value: PublishedValue) -> float:
    evidence.find(str(value.observer))
    return 1 + [one.name for one in evidence.classifiers].index(str(value.observer))


def _ps_rank(evidence: Evidence, value: PublishedValue) -> float:
    evidence.find(str(value.observer))
    found = {one.name: parameter_sensitivity(chosen(one, value), "hard") for one in evidence.vlms}
    return 1 + sorted(found, key=lambda name: (found[name], name)).index(str(value.observer))


def _detector(name: str) -> Measure:
    def compute(evidence: Evidence, value: PublishedValue) -> float:
        if value.observer not in evidence.detectors:
            evidence.find(str(value.observer))
        return evidence.detectors[str(value.observer)].get(name, math.nan)

    return compute


# ---- people ----


def _people(count: Callable[[Observed], float]) -> Measure:
    return lambda evidence, _value: count(evidence.find(PEOPLE))


def _fewest_trials(people: Observed) -> float:
    return float(np.unique(people.person, return_counts=True)[1].min())


def _unique_images(people: Observed) -> float:
    return float(len(np.unique(people.of("frame_id"))))


# ---- all classifiers, all VLMs, all detectors ----


def _some(observers: Iterable[Observed], what: str) -> list[Observed]:
    found = list(observers)
    if not found:
        raise MissingError(f"the catalog holds no answers of the release's {what}")
    return found


def _classifiers(statistic: Callable[[list[Observed]], float]) -> Measure:
    return lambda evidence, _value: statistic(
        _some(evidence.classifiers, "image classifiers")
    )  # fmt: skip


def _near_imagenet(found: list[Observed]) -> float:
    return sum(top1(one) > imagenet_top1(one) - 0.10 for one in found)


def _best(size: Callable[[PaperModel], float | None]) -> Callable[[list[Observed]], float]:
    def compute(found: list[Observed]) -> float:
        sizes = [size(find_paper_model(one.name)) for one in found if top1(one) > 0.80]
        return min((one for one in sizes if one is not None), default=math.nan)

    return compute


def _peaks_outside(found: list[Observed]) -> float:
    curves = [by_offset(one.task_of(CLASSIFICATION), "soft") for one in found]
    return sum(not -2 <= max(curve, key=lambda at: curve[at]) <= 2 for curve in curves)


def _by_exposure(observed: Observed, exposure: str) -> float:
    labels = observed.evaluated().task_of(CLASSIFICATION)
    return share_of(labels.where(exposure_range(labels.of("ev_offset")) == exposure).soft)


def _well_at_imagenet(found: list[Observed]) -> float:
    return sum(_by_exposure(one, "well") >= imagenet_top1(one) for one in found[:10])


def _under_above_over(found: list[Observed]) -> float:
    return sum(_by_exposure(one, "under") >= _by_exposure(one, "over") for one in found)


def _lowest_on_phones(found: list[Observed]) -> float:
    tuned = [
        one for one in found if "ImageNet" in find_paper_model(one.name).training.words
    ]  # fmt: skip
    on_phones = [labels.where(labels.of("category") == "phone") for labels in
                 (one.counted().task_of(CLASSIFICATION) for one in tuned)]  # fmt: skip
    return min((share_of(some.soft) for some in on_phones), default=math.nan)


def _highest_ps(found: list[Observed]) -> float:
    return max(parameter_sensitivity(one) for one in found)


def _ps_of_best_five(found: list[Observed]) -> float:
    return float(np.mean([parameter_sensitivity(one) for one in found[:5]]))


def _phones_not_ipods(evidence: Evidence, _value: PublishedValue) -> float:
    found = _some(evidence.classifiers, "image classifiers")
    return sum(top_mistake(evidence, one, "phone") != "iPod" for one in found)


def _vlms_at_people(evidence: Evidence, _value: PublishedValue) -> float:
    people = round(macro(evidence.find(PEOPLE).counted(), "soft"), 2)
    found = _some(evidence.vlms, "VLMs")
    return sum(round(macro(one.counted(), "hard"), 2) >= people for one in found)


def _vlms_above_people_peak(evidence: Evidence, value: PublishedValue) -> float:
    def peak(observed: Observed, column: str) -> float:
        return max(by_offset(chosen(observed, value), column).values(), default=math.nan)

    people = peak(evidence.find(PEOPLE), "soft")
    return sum(peak(one, "hard") > people for one in _some(evidence.vlms, "VLMs"))


def _ap_below_coco(evidence: Evidence, _value: PublishedValue) -> float:
    gaps = []
    for name, metrics in evidence.detectors.items():
        accuracy = find_paper_model(name).accuracy
        if accuracy is not None:
            gaps.append(accuracy.percent / 100 - metrics["ap"])
    if not gaps:
        raise MissingError("the catalog holds no detections of the release")
    return float(np.mean(gaps))


def _highest_fn_ps(evidence: Evidence, _value: PublishedValue) -> float:
    found = [one["fn_ps"] for one in evidence.detectors.values() if "fn_ps" in one]
    if not found:
        raise MissingError("the catalog holds no detections of the release")
    return max(found)


def _absent(_evidence: Evidence, _value: PublishedValue) -> float:
    raise MissingError("nothing that the release holds tells it")


# ---- the data ----


def _data(count: Callable[[Conditions, tuple[FrameSetting, ...]], float]) -> Measure:
    def compute(evidence: Evidence, _value: PublishedValue) -> float:
        if not evidence.frames:
            raise MissingError("the catalog holds no frames of the release")
        return count(evidence.conditions, evidence.frames)

    return compute


def _scenes(conditions: Conditions) -> dict[str, tuple[str, int]]:
    asked = conditions.asked
    ours = asked.imported & (asked.frame_kind != "picture")
    return {
        str(name): (str(category), int(count))
        for name, category, count in zip(
            asked.scene[ours], asked.category[ours], asked.count[ours], strict=True
        )
    }


def _scenes_per_category(conditions: Conditions, _frames: tuple[FrameSetting, ...]) -> float:
    categories = [category for category, _ in _scenes(conditions).values()]
    return min(categories.count(one) for one in set(categories))


def _different(names: tuple[str, ...]) -> Measure:
    return _data(
        lambda _conditions, frames: len(
            {
                tuple(getattr(frame, name) for name in names)
                for frame in frames
                if frame.kind == "manual"
            }
        )
    )


def _auto_ev(lux: float) -> Measure:
    def compute(_conditions: Conditions, frames: tuple[FrameSetting, ...]) -> float:
        found = [one.ev for one in frames if one.kind == "auto" and one.lux == lux]
        known = [ev for ev in found if ev is not None]
        return float(np.median(known)) if known else math.nan

    return _data(compute)


MEASURES: dict[str, Measure] = {
    "frames": _data(lambda _conditions, frames: len(frames)),
    "scenes": _data(lambda conditions, _frames: len(_scenes(conditions))),
    "categories": _data(
        lambda conditions, _: len({one for one, _ in _scenes(conditions).values()})
    ),
    "scenes_per_category": _data(_scenes_per_category),
    "fewest_objects": _data(lambda conditions, _: min(n for _, n in _scenes(conditions).values())),
    "most_objects": _data(lambda conditions, _: max(n for _, n in _scenes(conditions).values())),
    "combinations": _different(("lux", "shutter_s", "iso", "f_number")),
    "shutter_speeds": _different(("shutter_s",)),
    "iso_values": _different(("iso",)),
    "f_numbers": _different(("f_number",)),
    "auto_ev_1000_lux": _auto_ev(1000),
    "auto_ev_10_lux": _auto_ev(10),
    "subjects": _people(lambda people: len(np.unique(people.person))),
    "trials": _people(len),
    "trials_per_subject": _people(_fewest_trials),
    "unique_images": _people(_unique_images),
    "not_in_the_catalog": _absent,
    "top1": _share("soft"),
    "top5": _top5,
    "soft": _share("soft"),
    "hard": _share("hard"),
    "peak_soft": _peak("soft"),
    "peak_hard": _peak("hard"),
    "peak_offset": _peak("soft", place=True),
    "ps": _ps("soft"),
    "ps_hard": _ps("hard"),
    "unfaithful": _unfaithful,
    "rank": _rank,
    "ps_rank": _ps_rank,
    "ap": _detector("ap"),
    "olrp": _detector("olrp"),
    "olrp_loc": _detector("olrp_loc"),
    "olrp_fp": _detector("olrp_fp"),
    "near_imagenet": _classifiers(_near_imagenet),
    "best_parameters": _classifiers(
        _best(lambda model: None if model.parameters is None else model.parameters.millions)
    ),
    "best_training": _classifiers(_best(lambda model: model.training.millions)),
    "peaks_outside": _classifiers(_peaks_outside),
    "well_exposed_at_imagenet": _classifiers(_well_at_imagenet),
    "under_above_over": _classifiers(_under_above_over),
    "lowest_on_phones": _classifiers(_lowest_on_phones),
    "highest_ps": _classifiers(_highest_ps),
    "ps_of_best_five": _classifiers(_ps_of_best_five),
    "phones_not_ipods": _phones_not_ipods,
    "vlms_at_people": _vlms_at_people,
    "vlms_above_people_peak": _vlms_above_people_peak,
    "ap_below_coco": _ap_below_coco,
    "highest_fn_ps": _highest_fn_ps,
}
