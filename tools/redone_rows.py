#!/usr/bin/env python3
"""How often rows of short fp8 attention are redone (kernels/fa_wgmma/notes.md, "What binds 4,8,512,64").

    redone_rows.py [PROBLEMS]      400 of 32 heads, 512 queries and 512 keys, head dim 64; needs numpy

q and k are N(0,1), sums exact. Prints of how many problems one row or more would be redone, by rule: one key has 0.4 of row_sum; a key has on average less than a
part of what the largest of the first 128 keys has; that one's exponent is beyond 64 powers of two.
"""
import sys

import numpy as np

HEADS, TOKENS, DIM, FIRST_KEYS = 32, 512, 64, 128
LOG2E = 1.4426950408889634
RULES = {
    "a key has 0.4 of row_sum": lambda weights, sums, row_max: weights.max(2) >= 0.4 * sums,
    "a key has less than 1/256 on average": lambda weights, sums, row_max: sums < TOKENS / 256,
    "a key has less than 1/128 on average": lambda weights, sums, row_max: sums < TOKENS / 128,
    "row_max is beyond 64 powers of two": lambda weights, sums, row_max: np.abs(row_max) > 64,
}


def main():
    problems = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    random = np.random.default_rng(1)
    redone = dict.fromkeys(RULES, 0)
    for _ in range(problems):
        q, k = random.standard_normal((2, HEADS, TOKENS, DIM), dtype=np.float32)
        scores = q @ k.transpose(0, 2, 1) * np.float32(LOG2E / DIM**0.5)
        row_max = scores[:, :, :FIRST_KEYS].max(2)
        weights = np.exp2(scores - row_max[:, :, None])
        for name, rule in RULES.items():
            redone[name] += bool(rule(weights, weights.sum(2), row_max).any())
    for name, count in redone.items():
        print(f"{name}: {count} of {problems} problems")


if __name__ == "__main__":
    main()
