"""Checkpoints of a few thousand random weights, made offline as their makers save the real ones."""
# ruff: noqa: S106 - a token here is a piece of text

from pathlib import Path

import numpy as np
import torch
import transformers as tf
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import BertProcessing

from evaluate.model import Asked
from evaluate.providers.coco_labels import COCO_80
from evaluate.zoo import ModelRow

#: As COCO numbers its classes up to 90: these numbers stand for none.
GAPS = (0, 12, 26, 29, 30, 45, 66, 68, 69, 71, 83)


def names_of_91() -> dict[int, str]:
    names = iter(COCO_80)
    return {key: "N/A" if key in GAPS else next(names) for key in range(91)}


def row(provider: str, folder: Path, task: str = "detection", **more) -> ModelRow:
    return ModelRow(
        name=folder.name, task=task, provider=provider, id=folder.name, folder=folder, **more
    )


def pixels(seed: int = 0, size: tuple[int, int] = (96, 64)) -> np.ndarray:
    """A picture as the engine hands it out: nobody may write to it."""
    made = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), np.uint8)
    made.setflags(write=False)
    return made


def ask(model, picture, task: str = "detection", options: tuple[str, ...] = ()) -> Asked:
    height, width = picture.shape[:2]
    return Asked(model.prepare(picture), task, options, (width, height))


def _backbone(config, stages):
    return config(
        embedding_size=8,
        hidden_sizes=[8, 8, 16, 16],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=stages,
    )


def save(network, folder: Path, *, seed: int = 0) -> Path:
    # weights as large as trained ones, or all boxes and words would be alike
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.2, generator=generator)
    network.save_pretrained(folder)
    return folder


def detr(folder: Path, *, timm_backbone: str = "") -> Path:
    backbone = (
        {"use_timm_backbone": True, "backbone": timm_backbone}
        if timm_backbone
        else {
            "use_timm_backbone": False,
            "backbone": None,
            "backbone_config": _backbone(tf.ResNetConfig, ["stage4"]),
        }
    )
    config = tf.DetrConfig(
        use_pretrained_backbone=False,
        **backbone,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        num_queries=10,
        id2label=names_of_91(),
    )
    tf.DetrImageProcessor(size={"shortest_edge": 64, "longest_edge": 96}).save_pretrained(folder)
    return save(tf.DetrForObjectDetection(config), folder)


def rt_detr(folder: Path, *, second: bool = False) -> Path:
    kind = tf.RTDetrV2Config if second else tf.RTDetrConfig
    network = tf.RTDetrV2ForObjectDetection if second else tf.RTDetrForObjectDetection
    config = kind(
        backbone_config=_backbone(tf.RTDetrResNetConfig, ["stage2", "stage3", "stage4"]),
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        encoder_hidden_dim=32,
        encoder_in_channels=[8, 16, 16],
        encoder_layers=1,
        encoder_ffn_dim=32,
        encoder_attention_heads=2,
        d_model=32,
        num_queries=20,
        decoder_in_channels=[32, 32, 32],
        decoder_ffn_dim=32,
        decoder_layers=2,
        decoder_attention_heads=2,
        num_denoising=0,
        # as the published checkpoints spell them
        id2label={
            key: {"motorcycle": "motorbike", "tv": "tvmonitor"}.get(name, name)
            for key, name in enumerate(COCO_80)
        },
    )
    tf.RTDetrImageProcessor(size={"height": 64, "width": 64}).save_pretrained(folder)
    return save(network(config), folder)


def _clip_tokenizer() -> tf.CLIPTokenizerFast:
    words = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|startoftext|>", "<|endoftext|>"],
        end_of_word_suffix="</w>",
    )
    words.train_from_iterator([*COCO_80, "a photo of a"], trainer)
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=words,
        bos_token="<|startoftext|>",
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
        model_max_length=16,
    )


def owl_vit(folder: Path, *, second: bool = False) -> Path:
    tokenizer = _clip_tokenizer()
    config = (tf.Owlv2Config if second else tf.OwlViTConfig)(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "bos_token_id": 0,
            "eos_token_id": 1,
            "pad_token_id": 1,
        },
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": 64,
            "patch_size": 16,
        },
        projection_dim=32,
    )
    if second:
        pictures = tf.Owlv2ImageProcessor(size={"height": 64, "width": 64})
        tf.Owlv2Processor(image_processor=pictures, tokenizer=tokenizer).save_pretrained(folder)
        return save(tf.Owlv2ForObjectDetection(config), folder)
    pictures = tf.OwlViTImageProcessor(
        size={"height": 64, "width": 64}, crop_size={"height": 64, "width": 64}
    )
    tf.OwlViTProcessor(image_processor=pictures, tokenizer=tokenizer).save_pretrained(folder)
    return save(tf.OwlViTForObjectDetection(config), folder)


def _bert_tokenizer() -> tf.PreTrainedTokenizerFast:
    words = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    words.normalizer = normalizers.BertNormalizer(lowercase=True)
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=special)
    words.train_from_iterator([*COCO_80, "."], trainer)
    words.post_processor = BertProcessing(
        ("[SEP]", words.token_to_id("[SEP]")), ("[CLS]", words.token_to_id("[CLS]"))
    )
    return tf.BertTokenizerFast(
        tokenizer_object=words,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def grounding_dino(folder: Path) -> Path:
    tokenizer = _bert_tokenizer()
    config = tf.GroundingDinoConfig(
        backbone_config=tf.SwinConfig(
            image_size=64,
            embed_dim=8,
            depths=[1, 1, 1, 1],
            num_heads=[1, 1, 2, 2],
            window_size=2,
            out_features=["stage2", "stage3", "stage4"],
        ),
        text_config={
            "model_type": "bert",
            "vocab_size": len(tokenizer),
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "max_position_embeddings": 512,
        },
        num_queries=12,
        encoder_layers=1,
        encoder_ffn_dim=32,
        encoder_attention_heads=2,
        decoder_layers=2,
        decoder_ffn_dim=32,
        decoder_attention_heads=2,
        d_model=32,
        max_text_len=400,
        decoder_n_points=2,
        encoder_n_points=2,
        num_feature_levels=4,
    )
    tf.GroundingDinoProcessor(
        image_processor=tf.GroundingDinoImageProcessor(
            size={"shortest_edge": 64, "longest_edge": 96}
        ),
        tokenizer=tokenizer,
    ).save_pretrained(folder)
    return save(tf.GroundingDinoForObjectDetection(config), folder)
