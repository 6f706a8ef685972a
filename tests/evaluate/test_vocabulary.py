import pytest
import timm.data
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluate.errors import EvaluateError
from evaluate.imagenet import class_name, class_names, find_classes
from evaluate.vocabulary import load_vocabulary

# snap-release.md section 5; the mug is what the released script meant to accept
SNAP = {
    "backpack": {414},
    "tie": {906},
    "water_bottle": {898},
    "cup": {968, 504},
    "laptop": {620, 681},
    "mouse": {673},
    "remote": {761},
    "keyboard": {508},
    "phone": {487},
    "comic_book": {917},
}


def test_class_names_are_those_of_timm():
    info = timm.data.ImageNetInfo()
    theirs = [info.index_to_description(i).split(", ") for i in range(info.num_classes())]
    assert [list(names) for names in class_names()] == theirs


@pytest.mark.parametrize(("category", "classes"), SNAP.items())
def test_snap_categories(category, classes):
    assert load_vocabulary().accepted_classes(category) == classes


def test_demo_categories():
    vocabulary = load_vocabulary()
    cats = {class_name(index) for index in vocabulary.accepted_classes("cat")}
    assert cats == {"tabby", "tiger cat", "Persian cat", "Siamese cat", "Egyptian cat"}
    assert vocabulary.accepted_classes("coffee_cup") == {967, 968, 504}


@pytest.mark.parametrize("spelling", ["espresso", "Espresso", "sports_car", "soup-bowl"])
def test_a_class_name_is_a_category(spelling):
    (index,) = load_vocabulary().accepted_classes(spelling)
    plain = spelling.lower().replace("_", " ").replace("-", " ")
    assert plain in [name.lower() for name in class_names()[index]]


@pytest.mark.parametrize("name", ["crane", "maillot", "missile"])
def test_a_name_of_two_classes_is_not_guessed(name):
    assert len(find_classes(name)) == 2
    with pytest.raises(EvaluateError, match="several ImageNet classes"):
        load_vocabulary().accepted_classes(name)


def test_an_unknown_category_says_what_to_add():
    with pytest.raises(EvaluateError, match=r"vocabulary\.toml.*category\.\"teapots, plural\""):
        load_vocabulary().accepted_classes("teapots, plural")


@settings(deadline=None)  # the first call reads the classes
@given(st.text(max_size=12))
def test_no_category_is_silently_empty(category):
    vocabulary = load_vocabulary()
    if category in vocabulary.entries or len(find_classes(category)) == 1:
        assert vocabulary.accepted_classes(category)
    else:
        with pytest.raises(EvaluateError, match=r"imagenet = \[INDEX"):
            vocabulary.accepted_classes(category)


def test_a_workspace_extends_and_replaces(tmp_path):
    (tmp_path / "vocabulary.toml").write_text(
        "[category.gizmo]\nimagenet = [1, 2]\n[category.cup]\nimagenet = [968]\n"
    )
    own = load_vocabulary(tmp_path)
    assert own.accepted_classes("gizmo") == {1, 2}
    assert own.accepted_classes("cup") == {968}
    assert own.accepted_classes("tie") == {906}
    assert own.digest != load_vocabulary().digest


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[category.gizmo]\nimagenet = [1000]\n", "less than or equal to 999"),
        ("[category.gizmo]\nclasses = [1]\n", "unknown key"),
        ("[category", "not valid TOML"),
    ],
)
def test_mistakes_in_a_workspace_file_are_named(tmp_path, text, says):
    (tmp_path / "vocabulary.toml").write_text(text)
    with pytest.raises(EvaluateError, match=says):
        load_vocabulary(tmp_path)
