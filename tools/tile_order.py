#!/usr/bin/env python3
"""How evenly the orders of causal work tiles load the multiprocessors (kernels/fa_wgmma/tile_scheduler.cuh).

    tile_order.py

A tile takes its keys and OVERHEAD more. For problems of the suite fa3, over a perfect division: when the last tile ends if each goes to the multiprocessor
that is free first (`query`, `head`, and `l2_swizzle` by its L2_SECTION_MB), and the longest share of `static_persistent`, where CTAs take every 132nd tile, with
sections of 18 MB and every other wave backwards (`dealt`), or every 132nd pair of a long and a short tile (`paired`).
"""
import heapq
import math

SMS, OVERHEAD = 132, 120
SECTIONS_MB = (9, 18, 36, 72)
# batch, heads, length, head dim, rows of a tile
PROBLEMS = [(8, 8, 2048, 256, 128), (4, 8, 4096, 256, 128), (2, 8, 8192, 256, 128), (8, 16, 2048, 128, 192), (4, 16, 4096, 128, 192), (2, 16, 8192, 128, 192), (4, 32, 4096, 64, 192)]


def ordered(heads, tiles, section):
    """Tiles by length, longest first in each section of heads."""
    return [tile for first in range(0, heads, section) for tile in reversed(range(tiles)) for _ in range(min(section, heads - first))]


def as_they_come(costs):
    ends = [0.0] * SMS
    for cost in costs:
        heapq.heapreplace(ends, ends[0] + cost)
    return max(ends)


def dealt(costs):
    waves = [costs[i:i + SMS] for i in range(0, len(costs), SMS)]
    waves[1::2] = [wave[::-1] for wave in waves[1::2]]
    return max(sum(wave[i] for wave in waves if i < len(wave)) for i in range(SMS))


def paired(cost, heads):
    together = 1 + len(cost) % 2
    pairs = math.ceil(heads / together) * len(cost) * together // 2
    return math.ceil(pairs / SMS) * (min(cost) + max(cost))


def main():
    columns = ["problem, causal", "rows of a tile", "`query`", "`head`", *(f"{megabytes} MB" for megabytes in SECTIONS_MB), "dealt, 18 MB", "`paired`"]
    print("| " + " | ".join(columns) + " |\n|---|" + "---:|" * (len(columns) - 1))
    for batch, heads, length, dim, rows in PROBLEMS:
        all_heads, tiles = batch * heads, math.ceil(length / rows)
        cost = [min(length, (tile + 1) * rows) + OVERHEAD for tile in range(tiles)]
        perfect = all_heads * sum(cost) / SMS
        in_sections = {megabytes: math.ceil(all_heads / math.ceil(4 * all_heads * length * dim / (1e6 * megabytes))) for megabytes in SECTIONS_MB}
        costs = {section: [cost[tile] for tile in ordered(all_heads, tiles, section)] for section in (1, all_heads, *in_sections.values())}
        spans = [as_they_come(costs[section]) for section in (1, all_heads, *in_sections.values())]
        spans.append(dealt(costs[in_sections[18]]))
        spans.append(paired(cost, all_heads))
        print(f"| {batch},{heads},{length},{dim} | {rows} | " + " | ".join(f"{span / perfect:.3f}" for span in spans) + " |")


if __name__ == "__main__":
    main()
