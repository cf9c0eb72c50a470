#!/usr/bin/env python3
"""How evenly the orders of causal work tiles load the multiprocessors (kernels/fa_wgmma/tile_scheduler.cuh).

    tile_order.py

A tile takes its keys and OVERHEAD more. For problems of the suite fa3, over a perfect division: when the last tile ends if each goes to the multiprocessor
that is free first (`query`, `head`, `l2_swizzle`), and the longest share if CTAs take every 132nd tile, every other wave backwards (`static_persistent`, with
the sections of `l2_swizzle`).
"""
import heapq
import math

SMS, OVERHEAD, SECTION_BYTES = 132, 120, 36e6
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


def main():
    print("| problem, causal | rows of a tile | sections | heads | `query` | `head` | `l2_swizzle` | dealt |\n|---|---:|---:|---:|---:|---:|---:|---:|")
    for batch, heads, length, dim, rows in PROBLEMS:
        all_heads, tiles = batch * heads, math.ceil(length / rows)
        sections = math.ceil(4 * all_heads * length * dim / SECTION_BYTES)
        section = math.ceil(all_heads / sections)
        cost = [min(length, (tile + 1) * rows) + OVERHEAD for tile in range(tiles)]
        perfect = all_heads * sum(cost) / SMS
        spans = [as_they_come([cost[tile] for tile in ordered(all_heads, tiles, of)]) for of in (1, all_heads, section)]
        spans.append(dealt([cost[tile] for tile in ordered(all_heads, tiles, section)]))
        print(f"| {batch},{heads},{length},{dim} | {rows} | {sections} | {section} | " + " | ".join(f"{span / perfect:.3f}" for span in spans) + " |")


if __name__ == "__main__":
    main()
