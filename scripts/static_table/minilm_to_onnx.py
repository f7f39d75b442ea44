"""Write all-MiniLM-L6-v2 as an ONNX graph (f32 and int8) from its safetensors weights.

The graph takes `ids` and `mask` (int64, [batch, length]) and returns `vector`: the mean of the
last hidden states over the mask, L2-normalised. No torch is needed. The result is compared with a
plain numpy forward pass before it is used for anything.

    python minilm_to_onnx.py MODEL_DIR WORK_DIR
"""
from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file
from scipy.special import erf
from tokenizers import Tokenizer

LAYERS, HEADS, HIDDEN, EPS = 6, 12, 384, 1e-12
HEAD = HIDDEN // HEADS


def build(w: dict[str, np.ndarray]) -> onnx.ModelProto:
    """Return the f32 graph for the BERT weights `w`."""
    nodes: list[onnx.NodeProto] = []
    inits: dict[str, onnx.TensorProto] = {}

    def const(name: str, value: np.ndarray) -> str:
        inits.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def op(kind: str, *inputs: str, **attrs: object) -> str:
        out = f"{kind}_{len(nodes)}"
        nodes.append(h.make_node(kind, list(inputs), [out], **attrs))
        return out

    def ints(name: str, *values: int) -> str:
        return const(name, np.array(values, np.int64))

    def linear(x: str, name: str) -> str:
        y = op("MatMul", x, const(f"{name}.w", w[f"{name}.weight"].T))
        return op("Add", y, const(f"{name}.b", w[f"{name}.bias"]))

    def norm(x: str, name: str) -> str:
        scale, bias = const(f"{name}.s", w[f"{name}.weight"]), const(f"{name}.o", w[f"{name}.bias"])
        return op("LayerNormalization", x, scale, bias, axis=-1, epsilon=EPS)

    emb = "embeddings."
    # The token type is always 0: its vector is folded into the position table.
    pos = w[emb + "position_embeddings.weight"] + w[emb + "token_type_embeddings.weight"][0]
    length = op("Slice", op("Shape", "ids"), ints("one", 1), ints("two", 2))
    pos_rows = op("Slice", const("pos", pos), ints("zero", 0), length, ints("zero", 0))
    words = op("Gather", const("words", w[emb + "word_embeddings.weight"]), "ids")
    x = norm(op("Add", words, pos_rows), emb + "LayerNorm")
    fmask = op("Cast", "mask", to=T.FLOAT)
    off = op("Sub", const("f1", np.float32(1)), op("Unsqueeze", fmask, ints("ax12", 1, 2)))
    bias = op("Mul", off, const("neg", np.float32(-1e4)))
    split, flat = ints("split", 0, 0, HEADS, HEAD), ints("flat", 0, 0, HIDDEN)
    for i in range(LAYERS):
        p = f"encoder.layer.{i}."

        def heads(name: str, perm: list[int]) -> str:
            y = op("Reshape", linear(x, p + "attention.self." + name), split)
            return op("Transpose", y, perm=perm)

        q, k = heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1])
        v = heads("value", [0, 2, 1, 3])
        scores = op("Mul", op("MatMul", q, k), const("rs", np.float32(HEAD**-0.5)))
        probs = op("Softmax", op("Add", scores, bias), axis=-1)
        ctx = op("Transpose", op("MatMul", probs, v), perm=[0, 2, 1, 3])
        y = linear(op("Reshape", ctx, flat), p + "attention.output.dense")
        x = norm(op("Add", y, x), p + "attention.output.LayerNorm")
        y = op("Gelu", linear(x, p + "intermediate.dense"))
        x = norm(op("Add", linear(y, p + "output.dense"), x), p + "output.LayerNorm")
    fm = op("Unsqueeze", fmask, ints("ax2", 2))
    total = op("ReduceSum", op("Mul", x, fm), ints("one", 1), keepdims=0)
    l2 = op("ReduceL2", total, ints("one", 1), keepdims=1)
    nodes.append(h.make_node("Div", [total, l2], ["vector"]))
    io = [h.make_tensor_value_info(n, T.INT64, ["batch", "length"]) for n in ("ids", "mask")]
    out = [h.make_tensor_value_info("vector", T.FLOAT, ["batch", HIDDEN])]
    graph = h.make_graph(nodes, "minilm", io, out, list(inits.values()))
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def forward(w: dict[str, np.ndarray], ids: np.ndarray) -> np.ndarray:
    """Plain numpy forward pass for one text (`ids` with [CLS] and [SEP])."""
    def ln(x: np.ndarray, n: str) -> np.ndarray:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS)
        return x * w[n + ".weight"] + w[n + ".bias"]

    def lin(x: np.ndarray, n: str) -> np.ndarray:
        return x @ w[n + ".weight"].T + w[n + ".bias"]

    e, n = "embeddings.", len(ids)
    x = w[e + "word_embeddings.weight"][ids] + w[e + "position_embeddings.weight"][:n]
    x = ln(x + w[e + "token_type_embeddings.weight"][0], e + "LayerNorm")
    for i in range(LAYERS):
        p = f"encoder.layer.{i}."
        q, k, v = (lin(x, p + f"attention.self.{s}").reshape(n, HEADS, HEAD).transpose(1, 0, 2)
                   for s in ("query", "key", "value"))
        a = q @ k.transpose(0, 2, 1) / np.sqrt(HEAD)
        a = np.exp(a - a.max(-1, keepdims=True))
        ctx = ((a / a.sum(-1, keepdims=True)) @ v).transpose(1, 0, 2).reshape(n, HIDDEN)
        x = ln(lin(ctx, p + "attention.output.dense") + x, p + "attention.output.LayerNorm")
        y = lin(x, p + "intermediate.dense")
        y = 0.5 * y * (1 + erf(y / np.sqrt(2)))
        x = ln(lin(y, p + "output.dense") + x, p + "output.LayerNorm")
    m = x.mean(0)
    return m / np.linalg.norm(m)


def main() -> None:
    """Export, quantise and check."""
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("model_dir", type=Path, help="folder with model.safetensors, tokenizer.json")
    ap.add_argument("work", type=Path)
    args = ap.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    w = load_file(args.model_dir / "model.safetensors")
    f32, int8 = args.work / "minilm.onnx", args.work / "minilm-int8.onnx"
    onnx.save(build(w), f32)
    quantize_dynamic(f32, int8, per_channel=True, weight_type=QuantType.QInt8,
                     op_types_to_quantize=["MatMul"])
    tok = Tokenizer.from_file(str(args.model_dir / "tokenizer.json"))
    tok.no_padding()
    tok.no_truncation()
    texts = ["Aspirin lowers the risk of heart attack.", "A cat.", "0.24 versus 1.15 microm2/ms",
             "Rust is a systems programming language. " * 20]
    want = [forward(w, np.array(tok.encode(t).ids)) for t in texts]
    for path in (f32, int8):
        run = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        cos = []
        for t, v in zip(texts, want):
            ids = np.array([tok.encode(t).ids], np.int64)
            cos.append(float(run.run(None, {"ids": ids, "mask": np.ones_like(ids)})[0][0] @ v))
        print(path.name, path.stat().st_size, "cosine to numpy:", [round(c, 6) for c in cos])
        assert min(cos) > (0.99999 if path is f32 else 0.95), cos


if __name__ == "__main__":
    main()
