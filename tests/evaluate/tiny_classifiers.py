"""Classifiers of a few thousand random weights, saved offline as each library saves its own."""

import json
from pathlib import Path

import timm
import timm.models
import torch
import transformers as tf
from open_clip import CLIP
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from evaluate.imagenet import class_names

_START, _END = "<|startoftext|>", "<|endoftext|>"

PROMPT = ["a photo of a {}."]

OPEN_CLIP = {
    "embed_dim": 16,
    "vision_cfg": {
        "image_size": 32,
        "layers": 1,
        "width": 32,
        "patch_size": 16,
        "head_width": 16,
    },
    "text_cfg": {
        "context_length": 77,
        "vocab_size": 49408,
        "width": 16,
        "heads": 2,
        "layers": 1,
    },
}

_TOWER = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}


def timm_folder(folder: Path, classes: int = 1000) -> Path:
    torch.manual_seed(0)
    network = timm.create_model("test_vit", num_classes=classes)
    timm.models.save_for_hf(network, folder, safe_serialization=True)
    return folder


def open_clip_tensors() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return {key: one.contiguous() for key, one in CLIP(**OPEN_CLIP).state_dict().items()}


def open_clip_folder(folder: Path) -> Path:
    folder.mkdir()
    save_file(open_clip_tensors(), folder / "open_clip_model.safetensors")
    pictures = {"mean": [0.5] * 3, "std": [0.5] * 3}
    pictures |= {"interpolation": "bicubic", "resize_mode": "shortest"}
    config = {"model_cfg": OPEN_CLIP, "preprocess_cfg": pictures}
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    return folder


def vit_folder(folder: Path, names: list[str] | None = None) -> Path:
    torch.manual_seed(0)
    found = [", ".join(one) for one in class_names()] if names is None else names
    config = tf.ViTConfig(**_TOWER, image_size=32, patch_size=16, id2label=dict(enumerate(found)))
    tf.ViTForImageClassification(config).save_pretrained(folder)
    tf.ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


def clip_folder(folder: Path) -> Path:
    torch.manual_seed(0)
    words = _words()
    text = {**_TOWER, "vocab_size": len(words), "max_position_embeddings": 16}
    text |= {"bos_token_id": words.bos_token_id, "eos_token_id": words.eos_token_id}
    vision = {**_TOWER, "image_size": 32, "patch_size": 16}
    network = tf.CLIPModel(tf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16))
    network.save_pretrained(folder)
    pictures = tf.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=32)
    tf.CLIPProcessor(pictures, words).save_pretrained(folder)
    return folder


def siglip_folder(folder: Path) -> Path:
    torch.manual_seed(0)
    words = _words()
    text = {**_TOWER, "vocab_size": len(words), "max_position_embeddings": 16}
    vision = {**_TOWER, "image_size": 32, "patch_size": 16}
    network = tf.SiglipModel(tf.SiglipConfig(text_config=text, vision_config=vision))
    network.save_pretrained(folder)
    pictures = tf.SiglipImageProcessor(size={"height": 32, "width": 32})
    tf.SiglipProcessor(pictures, words).save_pretrained(folder)
    return folder


def _words() -> tf.PreTrainedTokenizerFast:
    words = Tokenizer(models.BPE(unk_token=_END, end_of_word_suffix="</w>"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    special = [_START, _END]
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, end_of_word_suffix="</w>", show_progress=False
    )
    words.train_from_iterator([*(one[0] for one in class_names()), *PROMPT], trainer)
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=words,
        bos_token=_START,
        eos_token=_END,
        pad_token=_END,
        model_max_length=16,
    )
