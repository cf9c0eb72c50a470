#!/usr/bin/env python3
"""What ways to quantize attention to fp8 cost, on inputs that are easy and on inputs that are not.

    fp8_methods.py

Relative 2-norm of the output's error against fp64 attention of the f16 inputs. Sums are exact: what is shown is
rounding of q, k, v and P alone, the least that a kernel of that method can be off by. Prints the table of docs/fp8.md.
Needs numpy.
"""
import numpy as np

HEADS, ROWS, KEYS, DIM = 4, 256, 1024, 128
BLOCK = 128  # tokens that share a factor
SHIFT = 256.0  # of P, into the range of e4m3
E4M3 = (3, -6, 448.0)  # bits of the mantissa, least exponent of a normal number, largest number
E5M2 = (2, -14, 57344.0)


def rounded(values, number_format):
    """To nearest even, saturating."""
    mantissa, least, largest = number_format
    values = np.clip(values, -largest, largest)
    exponent = np.maximum(np.frexp(values)[1] - 1, least)
    step = np.ldexp(1.0, exponent - mantissa)
    return np.rint(values / step) * step


def quantized(values, number_format, tokens=None):
    """(heads, tokens, dim): elements times factor, of a head or of `tokens` neighbouring tokens of it."""
    heads, length, dim = values.shape
    parts = values.reshape(-1, min(tokens or length, length), dim)
    largest = np.abs(parts).max(axis=(1, 2), keepdims=True)
    factor = np.where(largest > 0, largest / number_format[2], 1.0)
    return (rounded(parts / factor, number_format) * factor).reshape(values.shape)


def rotation(dim, columns, rng):
    """A Hadamard matrix over its root for each `columns` neighbours of `dim`, signs of columns drawn: orthogonal, so
    that scores stay."""
    matrix = np.ones((1, 1))
    while matrix.shape[0] < columns:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return np.kron(np.eye(dim // columns), matrix / np.sqrt(columns)) * rng.choice([-1.0, 1.0], dim)


def attention(q, k, v, round_p=lambda p: p):
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return round_p(p) @ v / p.sum(axis=-1, keepdims=True)


def e4m3_p(p):
    return rounded(p * SHIFT, E4M3) / SHIFT


def f16_p(p):
    return p.astype(np.float16).astype(np.float64)


def method(q, k, v, number_format=E4M3, tokens=None, smooth=False, rotate=0, round_p=e4m3_p):
    if smooth:
        k = k - k.mean(axis=1, keepdims=True)
    if rotate:
        turn = rotation(q.shape[-1], rotate, np.random.default_rng(1))
        q, k = q @ turn.T, k @ turn.T
    q, k, v = (quantized(each, number_format, tokens) for each in (q, k, v))
    return attention(q, k, v, round_p)


METHODS = {
    "head": {},
    "head, e5m2": {"number_format": E5M2},
    "head, P f16": {"round_p": f16_p},
    "block": {"tokens": BLOCK},
    "head, smooth": {"smooth": True},
    "head, rotate 64": {"rotate": 64},
    "head, rotate 128": {"rotate": 128},
    "head, smooth, rotate 64": {"smooth": True, "rotate": 64},
    "block, smooth, rotate 128": {"tokens": BLOCK, "smooth": True, "rotate": 128},
}


def inputs(keys=KEYS, rows=ROWS, heads=HEADS):
    """N(0,1), as f16 holds it."""
    rng = np.random.default_rng(0)
    draw = lambda length: rng.standard_normal((heads, length, DIM)).astype(np.float16).astype(np.float64)
    return draw(rows), draw(keys), draw(keys)


def normal():
    return inputs()


def constants():
    q, k, v = inputs()
    return np.ones_like(q), np.ones_like(k), np.ones_like(v)


def one_hot():
    q, k, v = inputs()
    hot = lambda x: np.where(np.arange(DIM) == np.arange(x.shape[1])[:, None] % DIM, 8.0, 0.0) * np.ones((HEADS, 1, 1))
    return hot(q), hot(k), v


def channel():
    q, k, v = inputs()
    k[:, :, 7] *= 100
    q[:, :, 7] /= 100  # the scores are as before; what is lost is the other channels of k
    return q, k, v


def offset():
    q, k, v = inputs()
    return q, k + 20 * np.random.default_rng(2).standard_normal((HEADS, 1, DIM)), v


def peaks():
    rng = np.random.default_rng(3)
    return tuple(x + np.where(rng.random(x.shape) < 1 / 1024, 10 * rng.standard_normal(x.shape), 0) for x in inputs())


def unlike_blocks():
    """Neighbouring tokens of one magnitude, blocks of them of others."""
    return tuple(x / (1 + np.arange(x.shape[1]) // BLOCK % 4)[:, None] for x in inputs())


def zero_head():
    q, k, v = inputs()
    k[0] = 0
    return q, k, v


def needle():
    """One key of 65536 that a query means: its value is the answer, among noise."""
    q, k, v = inputs(keys=65536, rows=8, heads=2)
    for row in range(8):
        k[:, 8191 * row + 5] = q[:, row] * 1.3
    return q, k, v


CASES = {
    "N(0,1)": normal,
    "constants": constants,
    "one-hot rows": one_hot,
    "a channel of k times 100, of q over 100": channel,
    "k with an offset of N(0,20) a channel": offset,
    "peaks: N(0,100) added to one of 1024": peaks,
    "blocks of 128 tokens times 1, 1/2, 1/3, 1/4": unlike_blocks,
    "a head of k is zero": zero_head,
    "65536 keys, one of them meant": needle,
}


def main():
    print("| inputs | " + " | ".join(METHODS) + " |")
    print("|---|" + "---:|" * len(METHODS))
    for name, make in CASES.items():
        q, k, v = (x.astype(np.float16).astype(np.float64) for x in make())
        right = attention(q, k, v)
        errors = []
        for options in METHODS.values():
            error = method(q, k, v, **options) - right
            errors.append(f"{np.linalg.norm(error) / np.linalg.norm(right):.4f}")
        print(f"| {name} | " + " | ".join(errors) + " |")


if __name__ == "__main__":
    main()
