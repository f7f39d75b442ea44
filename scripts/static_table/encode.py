"""Reference encoder of the static table: text to a unit vector, and the table's file format.

This file is the specification that the Rust encoder follows. Steps of `encode`:

1. NFKC, then lower-case (full Unicode lower-casing).
2. Each character is cleaned: tab, LF, CR and space separators (category Z*) become a space; U+FFFD
   and characters of category Cc, Cf, Cs and Co are dropped.
3. NFD; combining marks (category Mn) are dropped, **except** inside CJK runs (see `is_cjk`), which
   are cut out of the text before this step.
4. Non-CJK text is split at white space, and each punctuation character (category P*, or ASCII
   33-47, 58-64, 91-96, 123-126) is a word of its own.
5. Greedy longest-match WordPiece with the prefix "##" for continuations. A word of more than 100
   characters, or one that cannot be covered, is one unknown piece, which adds nothing.
6. At most `MAX_PIECES` pieces (unknown ones count) and `MAX_CJK` CJK terms are used, the first
   ones of each kind.
7. The vector is the sum over distinct pieces of `tf_weight(count) * row`, plus the sum over CJK
   terms of `tf_weight(count) * weight * direction`, L2-normalised. No terms: the zero vector.
"""
from __future__ import annotations

import argparse
import json
import struct
import sys
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

MAGIC, VERSION = b"LYRATAB1", 1
MAX_WORD, MAX_PIECES, MAX_CJK = 100, 512, 2048
MASK64 = (1 << 64) - 1
UNKNOWN = "[UNK]"

# Weights of hashed CJK terms, in units of `Table.cjk_unit`. A bigram's weight depends on how many
# of its two characters are Hiragana (0, 1, 2).
BIGRAM, SINGLE, SINGLE_KANA = (1.0, 0.2, 0.05), 0.7, 0.05


def is_cjk(c: str) -> bool:
    """Whether `c` belongs to a CJK run: Han, Hiragana, Katakana, Hangul, and their marks."""
    o = ord(c)
    return (0x3005 <= o <= 0x3007 or 0x3041 <= o <= 0x3096 or 0x309D <= o <= 0x309F
            or 0x30A1 <= o <= 0x30FA or 0x30FC <= o <= 0x30FF or 0x1100 <= o <= 0x11FF
            or 0x3131 <= o <= 0x318E or 0x31F0 <= o <= 0x31FF or 0x3400 <= o <= 0x4DBF
            or 0x4E00 <= o <= 0x9FFF or 0xA960 <= o <= 0xA97C or 0xAC00 <= o <= 0xD7FB
            or 0xF900 <= o <= 0xFAFF or 0x20000 <= o <= 0x323AF)


def is_hiragana(c: str) -> bool:
    """Whether `c` is a Hiragana letter or iteration mark."""
    return 0x3041 <= ord(c) <= 0x3096 or 0x309D <= ord(c) <= 0x309F


def is_katakana(c: str) -> bool:
    """Whether `c` is a Katakana letter or mark (full width)."""
    o = ord(c)
    return 0x30A1 <= o <= 0x30FA or 0x30FC <= o <= 0x30FF or 0x31F0 <= o <= 0x31FF


def is_punctuation(c: str) -> bool:
    """BERT's notion of punctuation."""
    o = ord(c)
    ascii_mark = 33 <= o <= 47 or 58 <= o <= 64 or 91 <= o <= 96 or 123 <= o <= 126
    return ascii_mark or unicodedata.category(c).startswith("P")


def runs(text: str) -> list[tuple[bool, str]]:
    """Steps 1 and 2: the cleaned text as runs of (is CJK, characters)."""
    out: list[tuple[bool, list[str]]] = []
    for c in unicodedata.normalize("NFKC", text).lower():
        kind = unicodedata.category(c)
        if c in "\t\n\r" or kind.startswith("Z"):
            c = " "
        elif c == "\ufffd" or kind in ("Cc", "Cf", "Cs", "Co"):
            continue
        cjk = is_cjk(c)
        if not out or out[-1][0] != cjk:
            out.append((cjk, []))
        out[-1][1].append(c)
    return [(cjk, "".join(chars)) for cjk, chars in out]


def words(run: str) -> list[str]:
    """Steps 3 and 4 for a run that is not CJK."""
    out: list[str] = []
    fresh = True
    for c in unicodedata.normalize("NFD", run):
        if unicodedata.category(c) == "Mn":
            continue
        if c == " ":
            fresh = True
        elif is_punctuation(c):
            out.append(c)
            fresh = True
        elif fresh:
            out.append(c)
            fresh = False
        else:
            out[-1] += c
    return out


def wordpiece(word: str, vocab: dict[str, int]) -> list[str]:
    """Step 5."""
    if len(word) > MAX_WORD:
        return [UNKNOWN]
    out: list[str] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocab:
                out.append(piece)
                start = end
                break
        else:
            return [UNKNOWN]
    return out


def cjk_terms(run: str) -> list[tuple[str, float]]:
    """The hashed terms of a CJK run with their weights: for each character itself, then its bigram
    with the next one."""
    out: list[tuple[str, float]] = []
    for i, c in enumerate(run):
        out.append((c, SINGLE_KANA if is_hiragana(c) or is_katakana(c) else SINGLE))
        if i + 1 < len(run):
            hiragana = is_hiragana(c) + is_hiragana(run[i + 1])
            out.append((run[i:i + 2], BIGRAM[hiragana]))
    return out


def terms(text: str, vocab: dict[str, int]) -> tuple[list[str], list[tuple[str, float]]]:
    """The pieces (unknown ones included) and the weighted CJK terms of `text`."""
    found: list[str] = []
    hashed: list[tuple[str, float]] = []
    for cjk, run in runs(text):
        if cjk and len(hashed) < MAX_CJK:
            hashed += cjk_terms(run)
        elif not cjk and len(found) < MAX_PIECES:
            for word in words(run):
                found += wordpiece(word, vocab)
    return found[:MAX_PIECES], hashed[:MAX_CJK]


def pieces(text: str, vocab: dict[str, int]) -> list[str]:
    """The WordPiece pieces of `text`, without CJK terms."""
    return terms(text, vocab)[0]


def parts(text: str) -> list[str]:
    """The features of a text that the table does not cover: words, pairs of characters, and the characters of
    the shortest words."""
    folded = "".join(c.lower() for c in unicodedata.normalize("NFKC", text))
    found: list[str] = []
    for word in folded.split():
        found.append(word)
        found += [a + b for a, b in zip(word, word[1:])]
        if len(word) <= 2:
            found += list(word)
    return found


@lru_cache(maxsize=1 << 18)
def direction(term: str, dim: int) -> np.ndarray:
    """The pseudo-random direction of a hashed term: +-1/sqrt(dim) from FNV-1a 64 and splitmix64."""
    state = 0xCBF29CE484222325
    for byte in term.encode("utf-8"):
        state = ((state ^ byte) * 0x100000001B3) & MASK64
    signs: list[int] = []
    while len(signs) < dim:
        state = (state + 0x9E3779B97F4A7C15) & MASK64
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
        z ^= z >> 31
        signs += [1 if z >> bit & 1 else -1 for bit in range(64)]
    return np.array(signs[:dim], np.float32) / np.float32(np.sqrt(dim))


def tf_weight(count: np.ndarray | int, tf_power: float) -> np.ndarray:
    """The weight of a term that occurs `count` times."""
    return np.asarray(count, np.float32) ** np.float32(tf_power)


def load_vocab(path: Path) -> dict[str, int]:
    """A vocab.txt as piece -> id."""
    return {p: i for i, p in enumerate(path.read_text(encoding="utf-8").split("\n")) if p}


@dataclass
class Table:
    """The static table: `rows[i] * scale[i]` is the weighted vector of piece i."""

    pieces: list[str]
    scale: np.ndarray
    rows: np.ndarray
    tf_power: float
    cjk_unit: float

    def __post_init__(self) -> None:
        self.vocab = {p: i for i, p in enumerate(self.pieces)}

    @property
    def dim(self) -> int:
        """The number of dimensions."""
        return self.rows.shape[1]

    def encode(self, text: str) -> np.ndarray:
        """The unit vector of `text` (f32), or zeros when it is empty."""
        found, hashed = terms(text, self.vocab)
        total = np.zeros(self.dim, np.float32)
        for piece, count in Counter(p for p in found if p != UNKNOWN).items():
            i = self.vocab[piece]
            total += tf_weight(count, self.tf_power) * self.scale[i] * self.rows[i]
        for (term, weight), count in Counter(hashed).items():
            factor = tf_weight(count, self.tf_power) * np.float32(weight * self.cjk_unit)
            total += factor * direction(term, self.dim)
        if not total.any():
            for part, count in Counter(parts(text)).items():
                total += tf_weight(count, self.tf_power) * direction(part, self.dim)
        norm = np.linalg.norm(total)
        return total / norm if norm > 0 else total

    def save(self, path: Path) -> None:
        """Write the file: header, vocabulary, scales, rows; all little-endian."""
        vocab = "\n".join(self.pieces).encode("utf-8")
        head = MAGIC + struct.pack("<4I2f", VERSION, len(self.pieces), self.dim, len(vocab),
                                   self.tf_power, self.cjk_unit)
        body = self.scale.astype("<f4").tobytes() + self.rows.astype(np.int8).tobytes()
        path.write_bytes(head + vocab + body)

    @classmethod
    def load(cls, path: Path) -> Table:
        """Read a file written by `save`."""
        data = path.read_bytes()
        if data[:8] != MAGIC:
            raise ValueError("not a Lyra table")
        version, n, dim, size, tf_power, unit = struct.unpack_from("<4I2f", data, 8)
        if version != VERSION or len(data) != 32 + size + 4 * n + n * dim:
            raise ValueError("unknown version or wrong size")
        names = data[32:32 + size].decode("utf-8").split("\n")
        scale = np.frombuffer(data, "<f4", n, 32 + size)
        rows = np.frombuffer(data, np.int8, n * dim, 32 + size + 4 * n).reshape(n, dim)
        return cls(names, scale, rows, tf_power, unit)


def main() -> None:
    """Print the vectors of the texts on standard input, one JSON array per line."""
    ap = argparse.ArgumentParser(description="Encode the lines of standard input.")
    ap.add_argument("table", type=Path)
    table = Table.load(ap.parse_args().table)
    for line in sys.stdin:
        print(json.dumps([round(float(x), 6) for x in table.encode(line)]))


if __name__ == "__main__":
    main()
