"""Checkpoints of a few thousand random weights, made offline as their makers save the real ones."""
# ruff: noqa: S106 - a token here is a piece of text

from pathlib import Path

import numpy as np
import torch
import transformers as tf
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from evaluate.model import Asked
from evaluate.providers.coco_labels import COCO_80
from evaluate.zoo import ModelRow

#: As COCO numbers its classes up to 90: these numbers stand for none.
GAPS = (0, 12, 26, 29, 30, 45, 66, 68, 69, 71, 83)

SENTENCES = [
    "Objects of what class are in the image? Answer with the name of the class.",
    "How many objects are in the image? Answer with one number. A) 2 B) 3 C) 4 D) 5",
    "Select one of the following options: cup mouse laptop comic book water bottle other",
    *COCO_80,
]


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


def _save(network, folder: Path, *, seed: int = 0) -> Path:
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
    return _save(tf.DetrForObjectDetection(config), folder)


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
    return _save(network(config), folder)


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
        return _save(tf.Owlv2ForObjectDetection(config), folder)
    pictures = tf.OwlViTImageProcessor(
        size={"height": 64, "width": 64}, crop_size={"height": 64, "width": 64}
    )
    tf.OwlViTProcessor(image_processor=pictures, tokenizer=tokenizer).save_pretrained(folder)
    return _save(tf.OwlViTForObjectDetection(config), folder)


def _bert_tokenizer() -> tf.PreTrainedTokenizerFast:
    words = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    words.normalizer = normalizers.BertNormalizer(lowercase=True)
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=special)
    words.train_from_iterator([*COCO_80, "."], trainer)
    from tokenizers.processors import BertProcessing

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
    return _save(tf.GroundingDinoForObjectDetection(config), folder)


def byte_words(special: list[str]) -> Tokenizer:
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words.train_from_iterator(SENTENCES, trainer)
    return words


def _tokenizer(special: list[str], **tokens) -> tf.PreTrainedTokenizerFast:
    return tf.PreTrainedTokenizerFast(tokenizer_object=byte_words(special), **tokens)


def _begun(tokenizer: tf.PreTrainedTokenizerFast) -> tf.PreTrainedTokenizerFast:
    """As Llama's: it puts the beginning in front of whatever it is given."""
    from tokenizers.processors import TemplateProcessing

    begin = tokenizer.bos_token
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{begin} $A",
        pair=f"{begin} $A $B",
        special_tokens=[(begin, tokenizer.bos_token_id)],
    )
    return tokenizer


#: Text towers of one layer; half a thousand positions are a small context.
def _text(tokenizer, kind: str, **more) -> dict:
    return {
        "model_type": kind,
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 512,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        **more,
    }


def _vision(kind: str, size: int, **more) -> dict:
    return {
        "model_type": kind,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": size,
        "patch_size": 14,
        **more,
    }


QWEN_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% for c in m['content'] %}{% if c['type'] == 'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ c['text'] }}{% endif %}{% endfor %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def qwen2_vl(folder: Path) -> Path:
    tokenizer = _tokenizer(
        [
            "<|endoftext|>",
            "<|im_start|>",
            "<|im_end|>",
            "<|vision_start|>",
            "<|vision_end|>",
            "<|image_pad|>",
            "<|video_pad|>",
        ],
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        extra_special_tokens={
            "image_token": "<|image_pad|>",
            "video_token": "<|video_pad|>",
            "vision_bos_token": "<|vision_start|>",
            "vision_eos_token": "<|vision_end|>",
        },
    )
    config = tf.Qwen2VLConfig(
        text_config={
            **_text(tokenizer, "qwen2_vl_text"),
            "rope_parameters": {
                "rope_type": "default",
                "mrope_section": [2, 3, 3],
                "rope_theta": 10000.0,
            },
        },
        vision_config={
            "depth": 1,
            "embed_dim": 32,
            "hidden_size": 32,
            "num_heads": 2,
            "mlp_ratio": 2,
            "patch_size": 14,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<|image_pad|>"),
        video_token_id=tokenizer.convert_tokens_to_ids("<|video_pad|>"),
        vision_start_token_id=tokenizer.convert_tokens_to_ids("<|vision_start|>"),
        vision_end_token_id=tokenizer.convert_tokens_to_ids("<|vision_end|>"),
    )
    tf.Qwen2VLProcessor(
        image_processor=tf.Qwen2VLImageProcessor(
            size={"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 16}
        ),
        tokenizer=tokenizer,
        video_processor=tf.Qwen2VLVideoProcessor(),
        chat_template=QWEN_TEMPLATE,
    ).save_pretrained(folder)
    network = tf.Qwen2VLForConditionalGeneration(config)
    # as the published checkpoint: settings for sampling
    network.generation_config = tf.GenerationConfig(
        do_sample=True,
        temperature=5.0,
        top_k=50,
        eos_token_id=[tokenizer.eos_token_id, tokenizer.pad_token_id],
        pad_token_id=tokenizer.pad_token_id,
    )
    return _save(network, folder)


def paligemma(folder: Path) -> Path:
    tokenizer = _begun(
        _tokenizer(
            ["<pad>", "<eos>", "<bos>", "<unk>", "<image>"],
            pad_token="<pad>",
            eos_token="<eos>",
            bos_token="<bos>",
            unk_token="<unk>",
            extra_special_tokens={"image_token": "<image>"},
        )
    )
    pictures = tf.SiglipImageProcessor(size={"height": 28, "width": 28})
    pictures.image_seq_length = 4
    processor = tf.PaliGemmaProcessor(image_processor=pictures, tokenizer=tokenizer)
    image = tokenizer.convert_tokens_to_ids("<image>")
    config = tf.PaliGemmaConfig(
        text_config=_text(tokenizer, "gemma", head_dim=16),
        vision_config=_vision("siglip_vision_model", 28, projection_dim=32),
        projection_dim=32,
        hidden_size=32,
        image_token_index=image,
        image_token_id=image,
        pad_token_id=tokenizer.pad_token_id,
    )
    processor.save_pretrained(folder)
    return _save(tf.PaliGemmaForConditionalGeneration(config), folder)


LLAVA_TEMPLATE = (
    "A chat. {% for m in messages %}{{ m['role'].upper() }}: "
    "{% for c in m['content'] %}{% if c['type'] == 'image' %}<image>\n"
    "{% else %}{{ c['text'] }}{% endif %}{% endfor %} {% endfor %}"
    "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)


def llava_next(folder: Path) -> Path:
    tokenizer = _begun(
        _tokenizer(
            ["<unk>", "<s>", "</s>", "<pad>", "<image>"],
            unk_token="<unk>",
            bos_token="<s>",
            eos_token="</s>",
            pad_token="<pad>",
            extra_special_tokens={"image_token": "<image>"},
        )
    )
    grid = [[28, 56], [56, 28], [56, 56]]
    config = tf.LlavaNextConfig(
        text_config=_text(tokenizer, "llama"),
        vision_config=_vision("clip_vision_model", 28, projection_dim=32, num_hidden_layers=2),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_grid_pinpoints=grid,
        image_seq_length=4,
    )
    # as older files: without patch size and strategy
    tf.LlavaNextProcessor(
        image_processor=tf.LlavaNextImageProcessor(
            size={"shortest_edge": 28},
            crop_size={"height": 28, "width": 28},
            image_grid_pinpoints=grid,
        ),
        tokenizer=tokenizer,
        num_additional_image_tokens=1,
        chat_template=LLAVA_TEMPLATE,
    ).save_pretrained(folder)
    return _save(tf.LlavaNextForConditionalGeneration(config), folder)


DEEPSEEK_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{{ m['role'].capitalize() }}: "
    "{% for c in m['content'] %}{% if c['type'] == 'image' %}<image_placeholder>"
    "{% else %}{{ c['text'] }}{% endif %}{% endfor %}\n\n{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}"
)


def deepseek_vl(folder: Path, *, hybrid: bool = False) -> Path:
    tokenizer = _begun(
        _tokenizer(
            ["<begin>", "<end>", "<pad>", "<image_placeholder>"],
            bos_token="<begin>",
            eos_token="<end>",
            pad_token="<pad>",
            extra_special_tokens={"image_token": "<image_placeholder>"},
        )
    )
    towers = {
        "text_config": _text(tokenizer, "llama"),
        "vision_config": _vision("siglip_vision_model", 28),
        "image_token_id": tokenizer.convert_tokens_to_ids("<image_placeholder>"),
    }
    sizes = {"size": {"height": 28, "width": 28}}
    words = {
        "tokenizer": tokenizer,
        "num_image_tokens": 4,
        "chat_template": DEEPSEEK_TEMPLATE,
    }
    if hybrid:
        # a second tower that sees the picture larger
        towers["high_res_vision_config"] = {
            "model_type": "sam_vision_model",
            "hidden_size": 32,
            "output_channels": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 64,
            "patch_size": 16,
            "window_size": 2,
            "global_attn_indexes": [1],
            "mlp_dim": 32,
        }
        pictures = tf.DeepseekVLHybridImageProcessor(
            **sizes, high_res_size={"height": 64, "width": 64}
        )
        tf.DeepseekVLHybridProcessor(image_processor=pictures, **words).save_pretrained(folder)
        config = tf.DeepseekVLHybridConfig(**towers)
        return _save(tf.DeepseekVLHybridForConditionalGeneration(config), folder)
    pictures = tf.DeepseekVLImageProcessor(**sizes)
    tf.DeepseekVLProcessor(image_processor=pictures, **words).save_pretrained(folder)
    return _save(tf.DeepseekVLForConditionalGeneration(tf.DeepseekVLConfig(**towers)), folder)


def deepseek_vl_hybrid(folder: Path) -> Path:
    return deepseek_vl(folder, hybrid=True)
