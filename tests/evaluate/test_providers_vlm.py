"""Vision-language models of five families, from checkpoints made here, asked as people are."""

import json
import shutil
from dataclasses import replace

import pytest
import torch

from evaluate.errors import EvaluateError
from evaluate.providers import LoadOptions, load_model
from evaluate.providers.vlm import MAX_NEW_TOKENS, greedy
from schemas.questions import TASKS, question_text
from tests.evaluate import tiny_checkpoints as tiny
from tests.evaluate import tiny_vlms

# transformers' own conversion of token lists, in the processor of PaliGemma
pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

CPU = LoadOptions(device="cpu", offline=True)
FAMILIES = ("qwen2_vl", "paligemma", "llava_next", "deepseek_vl", "deepseek_vl_hybrid")
OPTIONS = {"q3": ("laptop", "cup", "comic book", "other"), "q4": ("A) 4", "B) 2", "C) 5", "D) 3")}

_Q1 = "Objects of what class are in the image? Answer with the name of the class."
_Q4 = (
    "How many objects are in the image? Select one of the following options: "
    "A) 4    B) 2    C) 5    D) 3"
)

#: What the models read, to the letter, pictures in place: 96 x 64 pixels.
READ = {
    "qwen2_vl": "<|im_start|>user\n<|vision_start|>{image}<|vision_end|>{question}<|im_end|>\n"
    "<|im_start|>assistant\n",
    "paligemma": "{image}<bos>answer en {question}\n",
    "llava_next": "<s>A chat. USER: {image}\n{question} ASSISTANT:",
    "deepseek_vl": "<begin>User: {image}{question}\nAssistant:",
    "deepseek_vl_hybrid": "<begin>User: {image}{question}\nAssistant:",
}
IMAGE = {
    "qwen2_vl": "<|image_pad|>" * 6,
    "paligemma": "<image>" * 4,
    "llava_next": "<image>" * 14,
    "deepseek_vl": "<image_placeholder>" * 4,
    "deepseek_vl_hybrid": "<image_placeholder>" * 4,
}
BEGIN = {"paligemma": "<bos>", "llava_next": "<s>", "deepseek_vl": "<begin>"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("vlm")
    return {name: getattr(tiny_vlms, name)(root / name) for name in FAMILIES}


def open_vlm(folder, options=CPU):
    return load_model(tiny.row("transformers-vlm", folder, "vqa"), options)


@pytest.fixture(scope="module")
def models(folders):
    return {name: open_vlm(folder) for name, folder in folders.items()}


def ask_all(model, size=(96, 64)):
    return [
        tiny.ask(model, tiny.pixels(seed, size), task, OPTIONS.get(task, ()))
        for seed, task in enumerate(TASKS)
    ]


def read_by(model, asked):
    """The tokens of the first question as text, padding left out."""
    words = model._tokens([asked])
    tokens = words["input_ids"][0][words["attention_mask"][0].bool()]
    return model.checkpoint.processor.tokenizer.decode(tokens)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_question_gets_its_raw_text(models, name):
    answers = models[name].answer(ask_all(models[name]))
    assert len(answers) == 4
    for given in answers:
        assert isinstance(given.text, str)
        assert given.text
        assert given.payload == {"finish": given.payload["finish"], "batch": 4}
        assert given.payload["finish"] in ("stop", "length")


@pytest.mark.parametrize("name", FAMILIES)
def test_a_model_reads_what_people_read_to_the_letter(models, name):
    model = models[name]
    for task, options, question in (("q1", (), _Q1), ("q4", OPTIONS["q4"], _Q4)):
        assert question == question_text(task, options)
        asked = tiny.ask(model, tiny.pixels(), task, options)
        expected = READ[name].format(image=IMAGE[name], question=question)
        assert read_by(model, asked) == expected


@pytest.mark.parametrize("name", BEGIN)
def test_a_prompt_begins_once(models, name):
    for asked in ask_all(models[name]):
        assert read_by(models[name], asked).count(BEGIN[name]) == 1


@pytest.mark.parametrize("name", FAMILIES)
def test_the_order_of_the_options_is_that_of_the_stimulus(models, name):
    shown = models[name].prompt("q3", OPTIONS["q3"])
    turned = models[name].prompt("q3", OPTIONS["q3"][::-1])
    assert "laptop, cup, comic book, other" in shown
    assert "other, comic book, cup, laptop" in turned


@pytest.mark.parametrize("name", FAMILIES)
def test_questions_of_unequal_length_do_not_change_each_other(models, name):
    model = models[name]
    asked = ask_all(model)
    words = model._tokens(asked)
    assert bool(words["attention_mask"][:, -1].all())
    assert not bool(words["attention_mask"].all())
    together = [given.text for given in model.answer(asked)]
    assert together == [model.answer([one])[0].text for one in asked]


def test_pictures_of_unequal_size_do_not_change_each_other(models):
    for name in ("qwen2_vl", "llava_next"):
        model = models[name]
        asked = [
            tiny.ask(model, tiny.pixels(seed, size), "q1")
            for seed, size in enumerate(((96, 64), (64, 128), (200, 40)))
        ]
        together = [given.text for given in model.answer(asked)]
        assert together == [model.answer([one])[0].text for one in asked]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_picture_reaches_the_network(models, name):
    model = models[name]
    dark, bright = (
        model._tokens([tiny.ask(model, tiny.pixels() // divisor, "q1")]) for divisor in (8, 1)
    )
    with torch.inference_mode():
        first, second = (model.checkpoint.network(**words).logits for words in (dark, bright))
    assert torch.equal(dark["input_ids"], bright["input_ids"])
    assert not torch.allclose(first[:, -1], second[:, -1])


@pytest.mark.parametrize("name", FAMILIES)
def test_two_runs_say_the_same(models, name):
    """Qwen2-VL's checkpoint brings settings for sampling, as the published one does."""
    asked = ask_all(models[name])
    assert models[name].answer(asked) == models[name].answer(asked)


def test_sampling_settings_of_a_checkpoint_do_not_decide(folders):
    own = json.loads((folders["qwen2_vl"] / "generation_config.json").read_text())
    assert own["do_sample"] is True
    settings = open_vlm(folders["qwen2_vl"]).generation
    assert (settings.do_sample, settings.num_beams, settings.temperature) == (False, 1, None)
    assert set(own["eos_token_id"]) == set(settings.eos_token_id)


def test_what_is_no_sampling_stays_as_the_checkpoint_has_it():
    from transformers import GenerationConfig

    own = GenerationConfig(repetition_penalty=1.05, temperature=0.01, do_sample=True, top_k=1)
    assert greedy(own).repetition_penalty == 1.05
    assert greedy(own).top_k is None


class _Says:
    """A network that says given tokens after whatever it reads."""

    dtype = torch.float32

    def __init__(self, network, tokens):
        self.config = network.config
        self.tokens = tokens

    def generate(self, input_ids, **_):
        said = torch.tensor([self.tokens] * len(input_ids))
        return torch.cat([input_ids, said], dim=1)


def saying(model, text):
    tokenizer = model.checkpoint.processor.tokenizer
    tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
    network = _Says(model.checkpoint.network, tokens)
    return replace(model, checkpoint=replace(model.checkpoint, network=network))


def test_neither_prompt_nor_end_mark_is_part_of_the_answer(models):
    model = saying(models["qwen2_vl"], " A) cup\nbecause I see it. <|im_end|><|endoftext|>")
    (given,) = model.answer([tiny.ask(model, tiny.pixels(), "q1")])
    assert given.text == " A) cup\nbecause I see it. "
    assert given.payload["finish"] == "stop"


def test_an_answer_that_was_cut_says_so(models):
    model = saying(models["qwen2_vl"], "The image shows")
    (given,) = model.answer([tiny.ask(model, tiny.pixels(), "q1")])
    assert given == ("The image shows", {"finish": "length", "batch": 1})


def test_too_many_tokens_fail_the_item_and_are_never_cut(folders, tmp_path):
    folder = shutil.copytree(folders["qwen2_vl"], tmp_path / "short")
    config = json.loads((folder / "config.json").read_text())
    config["text_config"]["max_position_embeddings"] = MAX_NEW_TOKENS + 40
    (folder / "config.json").write_text(json.dumps(config))
    model = open_vlm(folder)
    with pytest.raises(EvaluateError, match=r"make \d+ tokens; the model reads 168"):
        model.answer([tiny.ask(model, tiny.pixels(), "q1")])


@pytest.mark.parametrize("size", [(2100, 10), (10, 2100)])
def test_a_picture_that_a_processor_refuses_fails_alone(models, size):
    model = models["qwen2_vl"]
    with pytest.raises(EvaluateError, match="refuses the picture"):
        model.answer([tiny.ask(model, tiny.pixels(0, size), "q1")])


@pytest.mark.parametrize("name", FAMILIES)
def test_odd_sizes_are_answered(models, name):
    model = models[name]
    (given,) = model.answer([tiny.ask(model, tiny.pixels(0, (337, 211)), "q2")])
    assert given.text


def test_the_pixel_budget_of_the_checkpoint_is_obeyed(models):
    model = models["qwen2_vl"]
    words = model._tokens([tiny.ask(model, tiny.pixels(0, (960, 640)), "q1")])
    assert words["image_grid_thw"].prod().item() * 14 * 14 <= 28 * 28 * 16


def test_what_an_older_processor_lacks_comes_from_the_model(folders, models):
    saved = json.loads((folders["llava_next"] / "processor_config.json").read_text())
    assert saved["patch_size"] is None
    processor = models["llava_next"].checkpoint.processor
    config = models["llava_next"].checkpoint.network.config
    assert processor.patch_size == config.vision_config.patch_size == 14
    assert processor.vision_feature_select_strategy == config.vision_feature_select_strategy


def test_a_model_without_a_template_is_refused(folders, tmp_path):
    folder = shutil.copytree(folders["qwen2_vl"], tmp_path / "silent")
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(EvaluateError, match="no chat template"):
        open_vlm(folder)


@pytest.mark.parametrize("name", FAMILIES)
def test_template_decoding_and_dtype_stand_in_the_specification(models, folders, name):
    spec = models[name].spec
    assert json.loads(json.dumps(spec)) == spec
    assert spec["decoding"]["do_sample"] is False
    assert spec["decoding"]["max_new_tokens"] == MAX_NEW_TOKENS
    assert spec["dtype"] == "float32"
    assert question_text("q1") in spec["prompt"]
    assert open_vlm(folders[name]).spec == spec


def test_another_template_is_another_observer(folders, models, tmp_path):
    folder = shutil.copytree(folders["qwen2_vl"], tmp_path / "qwen2_vl")
    template = (folder / "chat_template.jinja").read_text()
    (folder / "chat_template.jinja").write_text(f"You see a picture. {template}")
    other, own = open_vlm(folder).spec, models["qwen2_vl"].spec
    assert other["prompts_sha256"] != own["prompts_sha256"]
    assert other["weights"] == own["weights"]


def test_the_dtype_asked_for_is_that_of_the_weights(folders):
    model = open_vlm(folders["qwen2_vl"], replace(CPU, dtype="bfloat16"))
    assert model.spec["dtype"] == "bfloat16"
    (given,) = model.answer([tiny.ask(model, tiny.pixels(), "q1")])
    assert given.text is not None
