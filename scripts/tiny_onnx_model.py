#!/usr/bin/env python3
"""Writes a tiny sentence encoder (random weights from a fixed seed) as a sentence-transformers folder:
model.onnx, tokenizer.json, config.json, modules.json, 1_Pooling/, sentence_bert_config.json.

    pip install onnx numpy tokenizers onnxruntime
    python3 scripts/tiny_onnx_model.py FOLDER [--pooling cls] [--no-token-types] [--reference texts.json]

With --reference, FOLDER/reference.json contains the vectors that Python computes for a JSON array of texts
with `onnxruntime` and `tokenizers`, one text at a time; any other reader of the folder must agree with them.
The model has no meaning; it is for tests of code that reads such folders.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from bert_onnx import encoder  # noqa: E402
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors  # noqa: E402

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
CONFIG = {
    "model_type": "bert",
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}
POOLING = {
    "cls": "pooling_mode_cls_token",
    "mean": "pooling_mode_mean_tokens",
    "max": "pooling_mode_max_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}


def tokenizer(max_tokens, pairs=False):
    """WordPiece over single characters: every text has tokens, and long words have many. With `pairs`, two
    texts can be joined."""
    characters = [chr(c) for c in range(0x21, 0x7F)] + list("éïüöñ血糖値薬剤転倒患者心不全")
    vocabulary = SPECIAL + characters + [f"##{c}" for c in characters] + ["the", "risk", "of", "drug", "falls", "##ing"]
    vocabulary = {token: i for i, token in enumerate(dict.fromkeys(vocabulary))}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    template = {"single": "[CLS] $A [SEP]"} | ({"pair": "[CLS] $A [SEP] $B:1 [SEP]:1"} if pairs else {})
    made.post_processor = processors.TemplateProcessing(
        **template, special_tokens=[(t, vocabulary[t]) for t in ("[CLS]", "[SEP]")]
    )
    # Exported tokenizers contain settings that these models do not use; readers must ignore them.
    made.enable_truncation(max_length=max(4, max_tokens // 2))
    made.enable_padding(length=max_tokens * 2)
    return made, len(vocabulary)


def weights(config):
    """Random weights under BertModel's names; the same for the same configuration."""
    random = np.random.default_rng(20_240_501)
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    made = {}

    def matrix(name, *shape):
        made[name] = (random.standard_normal(shape) * 0.2).astype(np.float32)

    def norm(name):
        made[f"{name}.weight"] = (1 + 0.1 * random.standard_normal(hidden)).astype(np.float32)
        made[f"{name}.bias"] = (0.1 * random.standard_normal(hidden)).astype(np.float32)

    matrix("embeddings.word_embeddings.weight", config["vocab_size"], hidden)
    matrix("embeddings.position_embeddings.weight", config["max_position_embeddings"], hidden)
    matrix("embeddings.token_type_embeddings.weight", config["type_vocab_size"], hidden)
    norm("embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        for part, rows, columns in [
            ("attention.self.query", hidden, hidden),
            ("attention.self.key", hidden, hidden),
            ("attention.self.value", hidden, hidden),
            ("attention.output.dense", hidden, hidden),
            ("intermediate.dense", inner, hidden),
            ("output.dense", hidden, inner),
        ]:
            matrix(f"{name}.{part}.weight", rows, columns)
            matrix(f"{name}.{part}.bias", rows)
        norm(f"{name}.attention.output.LayerNorm")
        norm(f"{name}.output.LayerNorm")
    return made


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_model(folder, options):
    """Writes the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    words, size = tokenizer(options.max_tokens)
    config = CONFIG | {"vocab_size": size}
    model = encoder(weights(config), config, options.token_types, options.sentence_output)
    onnx.save(model, folder / "model.onnx")
    if options.int8:
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantize_dynamic(folder / "model.onnx", folder / "model_int8.onnx", weight_type=QuantType.QInt8, per_channel=True)
    words.save(str(folder / "tokenizer.json"))
    write_json(folder / "config.json", config)
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    entries = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(modules)
    ]
    write_json(folder / "modules.json", entries)
    pooling = {flag: name == options.pooling for name, flag in POOLING.items()}
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": config["hidden_size"]} | pooling)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": options.max_tokens, "do_lower_case": False})
    prompts = {"query": options.query_prompt, "passage": options.passage_prompt}
    prompts = {name: text for name, text in prompts.items() if text}
    write_json(folder / "config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": None})


def pooled(hidden, mode):
    """Combines the token vectors of one text, without padding, into one vector."""
    return {"mean": hidden.mean(axis=0), "cls": hidden[0], "max": hidden.max(axis=0), "lasttoken": hidden[-1]}[mode]


def reference(folder, texts, prompt, model="model.onnx"):
    """Unit vectors of the texts, computed in Python, one text at a time."""
    import onnxruntime

    threads = onnxruntime.SessionOptions()
    threads.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / model, threads, providers=["CPUExecutionProvider"])
    inputs = [i.name for i in session.get_inputs()]
    words = Tokenizer.from_file(str(folder / "tokenizer.json"))
    words.no_padding()
    words.enable_truncation(json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"])
    flags = json.loads((folder / "1_Pooling" / "config.json").read_text())
    mode = next(name for name, flag in POOLING.items() if flags.get(flag))
    vectors = []
    for text in texts:
        ids = np.array([words.encode(prompt + text.strip()).ids], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        (output,) = session.run(None, {name: feed[name] for name in inputs})
        vector = output[0] if output.ndim == 2 else pooled(output[0], mode)
        vectors.append(vector / np.linalg.norm(vector))
    return np.array(vectors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pooling", choices=POOLING, default="mean")
    parser.add_argument("--no-token-types", dest="token_types", action="store_false")
    parser.add_argument("--sentence-output", action="store_true", help="the graph includes mean pooling")
    parser.add_argument("--int8", action="store_true", help="also write model_int8.onnx")
    parser.add_argument("--max-tokens", type=int, default=48)
    parser.add_argument("--query-prompt", default="")
    parser.add_argument("--passage-prompt", default="")
    parser.add_argument("--reference", type=Path, help="a JSON array of texts")
    parser.add_argument("--only-reference", metavar="MODEL", help="use this graph of an existing folder")
    options = parser.parse_args()
    if not options.only_reference:
        write_model(options.folder, options)
    if options.reference:
        texts = json.loads(options.reference.read_text(encoding="utf-8"))
        model = options.only_reference or "model.onnx"
        for role, prompt in [("document", options.passage_prompt), ("query", options.query_prompt)]:
            vectors = reference(options.folder, texts, prompt, model)
            write_json(options.folder / f"reference_{role}.json", vectors.tolist())


if __name__ == "__main__":
    main()
