"""Vision-language models of transformers: Q1 to Q4 in people's words, answered greedily."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor, GenerationConfig

from evaluate.errors import EvaluateError
from evaluate.model import Asked, Given, Pixels
from evaluate.providers import LoadOptions
from evaluate.providers.checkpoints import Checkpoint, load_checkpoint, text_digest
from evaluate.zoo import ModelRow
from schemas.questions import TASKS, question_text

#: An answer is a word or a number; a model that talks is let talk, and cut here.
MAX_NEW_TOKENS = 128

#: Questions whose prompts stand for all in the specification: another template is another digest.
_SAMPLES = (
    ("q1", ()),
    ("q2", ()),
    ("q3", ("cup", "laptop", "other")),
    ("q4", ("A) 4", "B) 2", "C) 5", "D) 3")),
)

#: PaliGemma has no chat template; its model cards prompt a question so.
_PALIGEMMA_PROMPT = "<image>answer en {}"

#: Settings of a checkpoint that only sampling reads; greedy decoding would warn of them.
_SAMPLING = ("temperature", "top_p", "top_k", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff")


@dataclass(frozen=True)
class ChatModel:
    """A model that is shown a picture and asked a question in its own chat template."""

    checkpoint: Checkpoint
    generation: GenerationConfig

    tasks = TASKS

    #: Pictures become tokens together with the words: there is nothing to share.
    transform_key = None

    @cached_property
    def spec(self) -> dict[str, Any]:
        """What makes its answers reproducible, the template and the way of decoding included."""
        return self.checkpoint.describe(
            task="vqa",
            prompts_sha256=text_digest(self.prompt(*sample) for sample in _SAMPLES),
            prompt=self.prompt(*_SAMPLES[0]),
            decoding={
                "do_sample": False,
                "max_new_tokens": MAX_NEW_TOKENS,
                "repetition_penalty": self.generation.repetition_penalty,
            },
        )

    @property
    def device(self) -> str:
        """Where it computes."""
        return str(self.checkpoint.device)

    def prepare(self, pixels: Pixels) -> Pixels:
        """The frame as it is: the processor sees it together with the question."""
        return pixels

    def prompt(self, task: str, options: Sequence[str] = ()) -> str:
        """A question as the model reads it, before pictures take their places."""
        question = question_text(task, options)
        if _is_paligemma(self.checkpoint):
            return _PALIGEMMA_PROMPT.format(question)
        content = [{"type": "image"}, {"type": "text", "text": question}]
        rendered = self.checkpoint.processor.apply_chat_template(
            [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
        )
        return str(rendered)

    def answer(self, batch: Sequence[Asked]) -> list[Given]:
        """What it says, whole; the payload tells whether it ended or was cut.

        Raises
        ------
        EvaluateError
            For a picture that the processor refuses, or that makes more tokens than the model
            reads: cut, it would be another picture.
        """
        if not batch:
            return []
        words = self._tokens(batch)
        read = words["input_ids"].shape[1]
        with torch.inference_mode():
            said = self.checkpoint.network.generate(**words)
        # the prompt comes back in front because it was passed as tokens
        return [self._given(one, len(batch)) for one in said[:, read:].tolist()]

    def _tokens(self, batch: Sequence[Asked]) -> Mapping[str, torch.Tensor]:
        prompts = [self.prompt(one.task, one.options) for one in batch]
        pictures = [[Image.fromarray(one.prepared)] for one in batch]
        begin = self.checkpoint.processor.tokenizer.bos_token
        # a template that writes the beginning leaves none for the tokenizer to add
        more = {} if begin is None or not prompts[0].startswith(begin) else _NOTHING_ADDED
        try:
            words = self.checkpoint.processor(
                text=prompts,
                images=pictures,
                padding=True,
                padding_side="left",
                return_tensors="pt",
                **more,
            )
        except (ValueError, RuntimeError, IndexError) as error:
            reason = " ".join(str(error).split())[:200]
            raise EvaluateError(f"the processor refuses the picture: {reason}") from error
        if not bool(words["attention_mask"][:, -1].all()):
            raise EvaluateError("the processor pads on the right: shorter questions would change")
        length, longest = words["input_ids"].shape[1], _context_length(self.checkpoint)
        if length + MAX_NEW_TOKENS > longest:
            raise EvaluateError(
                f"picture and question make {length} tokens; the model reads {longest}, "
                f"{MAX_NEW_TOKENS} of them kept for the answer"
            )
        placed: Mapping[str, torch.Tensor] = words.to(
            self.checkpoint.device, self.checkpoint.network.dtype
        )
        return {name: value for name, value in placed.items() if name != "labels"}

    def _given(self, tokens: list[int], together: int) -> Given:
        ends = self.generation.eos_token_id
        stops = set(ends if isinstance(ends, list) else [ends])
        stopped = any(token in stops for token in tokens)
        text = self.checkpoint.processor.tokenizer.decode(tokens, skip_special_tokens=True)
        # in half precision the batch may decide between two words of equal likelihood
        return Given(text, {"finish": "stop" if stopped else "length", "batch": together})


_NOTHING_ADDED = {"add_special_tokens": False}


def load(row: ModelRow, options: LoadOptions) -> ChatModel:
    """Open a model that has a chat template, or whose prompt is known here.

    Raises
    ------
    EvaluateError
        If it cannot be loaded whole, or nobody knows how to ask it.
    """
    checkpoint = load_checkpoint(row, options, AutoModelForImageTextToText, AutoProcessor)
    if not _is_paligemma(checkpoint) and not getattr(checkpoint.processor, "chat_template", None):
        raise EvaluateError(
            f"{row.id} has no chat template: put its makers' chat_template.jinja into its folder"
        )
    _match_processor(checkpoint)
    # set, not passed: what is passed is filled up from what is set, sampling included
    settings = greedy(checkpoint.network.generation_config)
    checkpoint.network.generation_config = settings
    return ChatModel(checkpoint, settings)


def greedy(own: GenerationConfig) -> GenerationConfig:
    """A checkpoint's own settings with the likeliest word taken each time.

    Checkpoints bring settings for sampling; under them, five runs give five answers.
    """
    settings = own.to_dict()
    for name in (*_SAMPLING, "transformers_version", "max_length", "_from_model_config"):
        settings.pop(name, None)
    fixed = {"do_sample": False, "num_beams": 1, "max_new_tokens": MAX_NEW_TOKENS}
    return GenerationConfig(**{**settings, **fixed})  # type: ignore[no-untyped-call]


def _is_paligemma(checkpoint: Checkpoint) -> bool:
    return str(checkpoint.network.config.model_type).startswith("paligemma")


def _match_processor(checkpoint: Checkpoint) -> None:
    """Give a processor what its model knows: older files lack it, and the answer is gibberish."""
    config, processor = checkpoint.network.config, checkpoint.processor
    if getattr(processor, "patch_size", 0) is None:
        processor.patch_size = config.vision_config.patch_size
    if getattr(processor, "vision_feature_select_strategy", "") is None:
        processor.vision_feature_select_strategy = config.vision_feature_select_strategy


def _context_length(checkpoint: Checkpoint) -> int:
    config = checkpoint.network.config.get_text_config()
    return int(getattr(config, "max_position_embeddings", None) or 2**31)
