#!/usr/bin/env python3
"""Writes a tiny cross-encoder for natural language inference (random weights from a fixed seed) in the layout
of exported Hugging Face models: model.onnx, tokenizer.json, tokenizer_config.json, config.json.

    pip install onnx numpy tokenizers onnxruntime
    python3 scripts/tiny_onnx_judge.py FOLDER [--labels neutral,ENTAILMENT,contradiction] [--reference pairs.json]

With --reference, FOLDER/reference.json contains the probability of each class that Python computes for a JSON
array of pairs ([premise, hypothesis]) with `onnxruntime` and `tokenizers`, one pair at a time; any other
reader of the folder must agree with it. If a pair is too long, the end of the premise is truncated down to a
quarter of the space, and only then the hypothesis. The model has no meaning; it is for tests of code that
reads such folders.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from bert_onnx import classifier  # noqa: E402
from tiny_onnx_model import CONFIG, tokenizer, weights, write_json  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402


def with_head(made, hidden, classes):
    """The encoder's weights and those of a pooler and a classifier. The seed was chosen so that every class
    wins for some texts."""
    random = np.random.default_rng(20_240_527)

    def matrix(scale, *shape):
        return (random.standard_normal(shape) * scale).astype(np.float32)

    head = {
        "pooler.dense.weight": matrix(0.4, hidden, hidden),
        "pooler.dense.bias": matrix(0.1, hidden),
        "classifier.weight": matrix(1.0, classes, hidden),
        "classifier.bias": matrix(0.1, classes),
    }
    return made | head


def write_model(folder, options):
    """Writes the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    words, size = tokenizer(options.max_tokens, pairs=True)
    config = CONFIG | {"vocab_size": size}
    parameters = with_head(weights(config), config["hidden_size"], len(options.labels))
    onnx.save(classifier(parameters, config, options.token_types, options.output), folder / "model.onnx")
    if options.int8:
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantize_dynamic(folder / "model.onnx", folder / "model_int8.onnx", weight_type=QuantType.QInt8, per_channel=True)
    words.save(str(folder / "tokenizer.json"))
    labels = {str(i): label for i, label in enumerate(options.labels)}
    write_json(folder / "config.json", config | {"architectures": ["BertForSequenceClassification"], "id2label": labels})
    write_json(folder / "tokenizer_config.json", {"model_max_length": options.max_tokens})


def cut(premise, hypothesis, room):
    """The ids of both texts that are kept."""
    premise, hypothesis = list(premise), list(hypothesis)
    while len(premise) + len(hypothesis) > room:
        (premise if len(premise) > room // 4 else hypothesis).pop()
    return premise, hypothesis


def reference(folder, pairs, model="model.onnx"):
    """The probability of each class by name, one pair at a time."""
    import onnxruntime

    threads = onnxruntime.SessionOptions()
    threads.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / model, threads, providers=["CPUExecutionProvider"])
    inputs = [i.name for i in session.get_inputs()]
    words = Tokenizer.from_file(str(folder / "tokenizer.json"))
    words.no_padding()
    words.no_truncation()
    begin, end = words.token_to_id("[CLS]"), words.token_to_id("[SEP]")
    limit = json.loads((folder / "tokenizer_config.json").read_text())["model_max_length"]
    labels = json.loads((folder / "config.json").read_text())["id2label"]
    found = []
    for premise, hypothesis in pairs:
        parts = [words.encode(text.strip(), add_special_tokens=False).ids for text in (premise, hypothesis)]
        premise_ids, hypothesis_ids = cut(*parts, limit - 3)
        row = [begin, *premise_ids, end, *hypothesis_ids, end]
        if len(row) == sum(map(len, parts)) + 3:
            assert row == words.encode(premise.strip(), hypothesis.strip()).ids, "the template joins them like this"
        ids = np.array([row], dtype=np.int64)
        types = np.array([[0] * (len(premise_ids) + 2) + [1] * (len(hypothesis_ids) + 1)], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
        (scores,) = session.run(None, {name: feed[name] for name in inputs})
        odds = np.exp(scores[0].astype(np.float64) - scores[0].max())
        found.append({labels[str(i)]: float(p) for i, p in enumerate(odds / odds.sum())})
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labels", type=lambda text: text.split(","), default="neutral,ENTAILMENT,contradiction")
    parser.add_argument("--no-token-types", dest="token_types", action="store_false")
    parser.add_argument("--output", default="logits", help="the name of the graph's output")
    parser.add_argument("--int8", action="store_true", help="also write model_int8.onnx")
    parser.add_argument("--max-tokens", type=int, default=48)
    parser.add_argument("--reference", type=Path, help="a JSON array of pairs")
    parser.add_argument("--only-reference", metavar="MODEL", help="use this graph of an existing folder")
    options = parser.parse_args()
    if not options.only_reference:
        write_model(options.folder, options)
    if options.reference:
        pairs = json.loads(options.reference.read_text(encoding="utf-8"))
        model = options.only_reference or "model.onnx"
        write_json(options.folder / "reference.json", reference(options.folder, pairs, model))


if __name__ == "__main__":
    main()
