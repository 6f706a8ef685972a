"""Tiny vision-language models, made offline as their makers save the real ones."""
# ruff: noqa: S106 - a token here is a piece of text

from pathlib import Path

import transformers as tf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing

from evaluate.providers.coco_labels import COCO_80
from tests.evaluate.tiny_checkpoints import save

SENTENCES = [
    "Objects of what class are in the image? Answer with the name of the class.",
    "How many objects are in the image? Answer with one number. A) 2 B) 3 C) 4 D) 5",
    "Select one of the following options: cup mouse laptop comic book water bottle other",
    *COCO_80,
]


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
    return save(network, folder)


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
    return save(tf.PaliGemmaForConditionalGeneration(config), folder)


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
    return save(tf.LlavaNextForConditionalGeneration(config), folder)


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
        return save(tf.DeepseekVLHybridForConditionalGeneration(config), folder)
    pictures = tf.DeepseekVLImageProcessor(**sizes)
    tf.DeepseekVLProcessor(image_processor=pictures, **words).save_pretrained(folder)
    return save(tf.DeepseekVLForConditionalGeneration(tf.DeepseekVLConfig(**towers)), folder)


def deepseek_vl_hybrid(folder: Path) -> Path:
    return deepseek_vl(folder, hybrid=True)
