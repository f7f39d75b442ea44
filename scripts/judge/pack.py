#!/usr/bin/env python3
"""Writes trained weights as the two files that the judge reads.

    python scripts/judge/pack.py --weights OUT/judge.pt --wheel WHEEL --table lyra-core/models/static-minilm-256.lyt \\
        lyra-core/judge/words/models/judge-minilm-1.lyj lyra-core/judge/models/judge-minilm-2.lyj

Words take half a byte per value, linear layers one byte. The word rows are in the order of the static table's
pieces, which the judge shares, then [UNK], [CLS] and [SEP]. `lyra-core/judge/src/weights.rs` describes the
format. The second file begins with the second layer: each file is in its own crate, which may have 10 MB.
"""

import argparse
import struct
from pathlib import Path

import numpy as np
import torch
from model import HEADS, HIDDEN, INNER, LAYERS, MAX_TOKENS, load_tokenizer

WORD_GROUP = 32
SPECIAL = ["[UNK]", "[CLS]", "[SEP]"]


def pieces_of(table):
    """The pieces of the static table, in the order of its rows."""
    data = Path(table).read_bytes()
    assert data[:8] == b"LYRATAB1"
    vocabulary = struct.unpack_from("<I", data, 20)[0]
    return data[32 : 32 + vocabulary].decode().split("\n")


def upper_halves(values):
    """Single precision reduced to its upper half, rounded to nearest."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def widened(halves):
    return (halves.astype(np.uint32) << 16).view(np.float32)


def half_bytes(rows):
    """Rows as (half bytes, scales, the values that these represent)."""
    grouped = rows.reshape(len(rows), -1, WORD_GROUP)
    # Each group takes the candidate scale with the smallest squared error.
    best = None
    for divisor in (7.0, 7.6, 8.2, 9.0):
        scales = upper_halves(np.maximum(np.abs(grouped).max(2) / divisor, 1e-8))
        wide = widened(scales)[:, :, None]
        codes = np.clip(np.rint(grouped / wide), -8, 7)
        error = ((codes * wide - grouped) ** 2).sum(2)
        if best is None:
            best = [error, scales, codes]
            continue
        better = error < best[0]
        best[0][better], best[1][better], best[2][better] = error[better], scales[better], codes[better]
    _, scales, codes = best
    values = (codes * widened(scales)[:, :, None]).reshape(rows.shape).astype(np.float32)
    unsigned = (codes + 8).astype(np.uint8).reshape(len(rows), -1, 2)
    return unsigned[:, :, 0] | unsigned[:, :, 1] << 4, scales, values


def signed_bytes(weight):
    """Weights `[outputs][inputs]` as bytes with a scale for each output."""
    scales = np.maximum(np.abs(weight).max(1) / 127.0, 1e-12).astype(np.float32)
    return np.clip(np.rint(weight / scales[:, None]), -127, 127), scales


def packed(codes):
    outputs, inputs = codes.shape
    lines = (codes + 128).astype(np.uint8).reshape(outputs // 16, 16, inputs // 4, 4)
    return lines.transpose(0, 2, 1, 3)


class File:
    def __init__(self):
        self.parts = []

    def add(self, array, kind=None):
        data = np.ascontiguousarray(array if kind is None else np.asarray(array, kind)).tobytes()
        self.parts.append(data + b"\0" * (-len(data) % 64))

    def linear(self, weight, bias, factor=None):
        if factor is not None:
            weight, bias = weight * factor[:, None], bias * factor
        codes, scales = signed_bytes(weight)
        self.add(packed(codes))
        self.add(scales, "<f4")
        self.add(bias, "<f4")


def word_rows(state, wheel, table):
    tokenizer = load_tokenizer(wheel)
    ids = [tokenizer.token_to_id(piece) for piece in [*pieces_of(table), *SPECIAL]]
    assert None not in ids
    return state["word.weight"][ids]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", required=True)
    parser.add_argument("--wheel", required=True)
    parser.add_argument("--table", required=True)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    options = parser.parse_args()
    state = {k: v.float().numpy() for k, v in torch.load(options.weights).items()}
    words = word_rows(state, options.wheel, options.table)
    file = File()
    codes, scales, _ = half_bytes(words)
    file.add(codes)
    file.add(scales, "<u2")
    file.add(upper_halves(state["position.weight"][:MAX_TOKENS]), "<u2")
    file.add(state["kind.weight"], "<f4")
    file.add(state["norm.weight"], "<f4")
    file.add(state["norm.bias"], "<f4")
    for i in range(LAYERS):
        part = lambda name: state[f"layers.{i}.{name}"]
        # The division of queries by the square root of the head width is folded into the weights
        # here, instead of at every pair.
        factor = np.ones(3 * HIDDEN, np.float32)
        factor[:HIDDEN] = (HIDDEN // HEADS) ** -0.5
        file.linear(part("qkv.weight"), part("qkv.bias"), factor)
        file.linear(part("out.weight"), part("out.bias"))
        file.add(part("norm1.weight"), "<f4")
        file.add(part("norm1.bias"), "<f4")
        file.linear(part("up.weight"), part("up.bias"))
        file.linear(part("down.weight"), part("down.bias"))
        file.add(part("norm2.weight"), "<f4")
        file.add(part("norm2.bias"), "<f4")
        if i == 0:
            of_first = len(file.parts)
    codes, scales = signed_bytes(state["pool.weight"])
    file.add(codes.T.astype(np.int8))
    file.add(scales, "<f4")
    file.add(state["pool.bias"], "<f4")
    file.add(state["classify.weight"], "<f4")
    file.add(state["classify.bias"], "<f4")
    file.add(state["reading.weight"], "<f4")
    file.add(state["reading.bias"], "<f4")
    sizes = (2, len(words), HIDDEN, HEADS, LAYERS, INNER, MAX_TOKENS)
    header = b"LYRAJDG1" + struct.pack(f"<{len(sizes)}I", *sizes)
    options.first.write_bytes(header.ljust(64, b"\0") + b"".join(file.parts[:of_first]))
    options.second.write_bytes(b"".join(file.parts[of_first:]))
    for path in (options.first, options.second):
        print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
