#!/usr/bin/env python3
"""A proposer for `fatune evolve` that needs no model: it edits a parent's source by rules.

    fatune evolve --proposer examples/evolve/rules.py --kernel-dir examples/evolve/start --kernel poor_rows --shape 4,8,512,64

A rule is one lever: texts that it finds in the source, what stands there instead, and what the manifest then says.
It applies where each of its texts stands once. With nothing left to apply, a lever is taken back or a parameter is
given one value. Each request is a line of JSON on stdin, and is answered by a line on stdout.
"""
import copy
import json
import random
import sys

TWO_WALKS = """\
  for (i32 key = 0; key < needed; ++key) {
    const float score = score_of(query, k_head + static_cast<i64>(key) * KTensor::kRow);
    row_max = fmaxf(row_max, key < visible ? score : NEG_INF);
  }
  for (i32 key = 0; key < needed; ++key) {
    const float score = score_of(query, k_head + static_cast<i64>(key) * KTensor::kRow);
    const float p = key < visible ? exponential(score - row_max) : 0.0f;
    row_sum += p;
    add_row(acc, p, v_head + static_cast<i64>(key) * VTensor::kRow);
  }
"""
ONE_WALK_BODY = """\
    const float seen = score_of(query, k_head + static_cast<i64>(key) * KTensor::kRow);
    const float score = key < visible ? seen : NEG_INF;
    if (score > row_max) {
      const float rescale = exponential(row_max - score);
      row_sum *= rescale;
      for (int d = 0; d < kColumns; ++d) acc[d] *= rescale;
      row_max = score;
    }
    const float p = key < visible ? exponential(score - row_max) : 0.0f;
    row_sum += p;
    add_row(acc, p, v_head + static_cast<i64>(key) * VTensor::kRow);
  }
"""
KEY_LOOP = "  for (i32 key = 0; key < needed; ++key) {\n"
GROUP_LOOP = "  for (i32 first = 0; first < needed; first += kKeys) {\n"
GROUP_SCORE = """\
      const i64 key = min_of(first + j, SEQ_KV - 1);
      const float score = score_of(query, k_head + key * KTensor::kRow);
"""
GROUP_VALUE = """\
      const i64 key = min_of(first + j, SEQ_KV - 1);
      add_row(acc, p, v_head + key * VTensor::kRow);
"""
GROUP_BODY = f"""\
    float scores[kKeys];
    float new_max = row_max;
#pragma unroll
    for (int j = 0; j < kKeys; ++j) {{
{GROUP_SCORE}\
      scores[j] = first + j < visible ? score : NEG_INF;
      new_max = fmaxf(new_max, scores[j]);
    }}
    const float rescale = row_max == new_max ? 1.0f : exponential(row_max - new_max);
    row_sum *= rescale;
    for (int d = 0; d < kColumns; ++d) acc[d] *= rescale;
    row_max = new_max;
#pragma unroll
    for (int j = 0; j < kKeys; ++j) {{
      const float p = first + j < visible ? exponential(scores[j] - row_max) : 0.0f;
      row_sum += p;
{GROUP_VALUE}\
    }}
  }}
"""
BLOCKS = "constexpr int kBlocks = ceil_div(SEQ_Q, kRows);\n"
MAIN = 'extern "C" __global__'
STAGE_ROWS = """\
/// kKeys rows of a head to a shared tile, by all threads; rows behind the last one repeat it.
template <typename Tensor>
DEVICE void stage_rows(elem* tile, const elem* head, i32 first) {
  for (int at = static_cast<int>(threadIdx.x) * 8; at < kKeys * HEAD_DIM; at += kThreads * 8) {
    const i64 key = min_of(first + at / HEAD_DIM, SEQ_KV - 1);
    *reinterpret_cast<uint4*>(tile + at) =
        *reinterpret_cast<const uint4*>(head + key * Tensor::kRow + at % HEAD_DIM);
  }
}

"""
STAGE_TILES = """\
    __shared__ __align__(16) elem k_tile[kKeys * HEAD_DIM];
    __shared__ __align__(16) elem v_tile[kKeys * HEAD_DIM];
    __syncthreads();
    stage_rows<KTensor>(k_tile, k_head - column, first);
    stage_rows<VTensor>(v_tile, v_head - column, first);
    __syncthreads();
"""


class Rule:
    def __init__(self, lever, thought, edits, parameter=None, terms=None, constraints=()):
        self.lever, self.thought, self.edits = lever, thought, edits
        self.parameter, self.terms, self.constraints = parameter, terms or {}, list(constraints)

    def applies(self, source):
        """A text that a rule keeps, and only adds to, would be found again."""
        return all(source.count(find) == 1 for find, _ in self.edits) and not self.applied(source)

    def applied(self, source):
        return all(source.count(text) == 1 for _, text in self.edits)

    def apply_to(self, manifest):
        manifest = copy.deepcopy(manifest)
        if self.parameter:
            manifest["parameters"].append(self.parameter)
        for term in manifest["terms"]:
            term["value"] = self.terms.get(term["name"], term["value"])
        manifest["constraints"] += self.constraints
        return manifest

    def take_from(self, manifest, plain_terms):
        manifest = copy.deepcopy(manifest)
        name = (self.parameter or {}).get("name")
        manifest["parameters"] = [each for each in manifest["parameters"] if each["name"] != name]
        for term in manifest["terms"]:
            if term["name"] in self.terms:
                term["value"] = plain_terms[term["name"]]
        manifest["constraints"] = [each for each in manifest["constraints"] if each not in self.constraints]
        return manifest


def parameter(name, values, default, meaning):
    return {"name": name, "values": values, "default": default, "meaning": meaning}


PLAIN_TERMS = {"CTA_THREADS": "32", "ROW_LANES": "1", "TILE_BYTES": "0"}
RULES = [
    Rule("one_walk", "An online softmax needs each score once; two walks compute it twice.",
         [(TWO_WALKS, KEY_LOOP + ONE_WALK_BODY)]),
    Rule("keys_together", "Scores of several keys do not wait for one another, and the sums are rescaled once for all of them.",
         [(KEY_LOOP + ONE_WALK_BODY, GROUP_LOOP + GROUP_BODY), (BLOCKS, BLOCKS + "constexpr int kKeys = KEYS;  // between two rescalings\n")],
         parameter("KEYS", [2, 4, 8, 16], 4, "keys between two rescalings")),
    Rule("stage_shared", "A CTA fetches a tile of keys and values once; its threads read them from shared memory.",
         [(GROUP_LOOP, GROUP_LOOP + STAGE_TILES),
          (GROUP_SCORE, "      const float score = score_of(query, k_tile + j * HEAD_DIM + column);\n"),
          (GROUP_VALUE, "      add_row(acc, p, v_tile + j * HEAD_DIM + column);\n"),
          (MAIN, STAGE_ROWS + MAIN)],
         terms={"TILE_BYTES": "2 * KEYS * HEAD_DIM * DTYPE_BYTES"}),
    Rule("vector_loads", "Sixteen bytes a load in place of two: an eighth of the load instructions.",
         [("  for (int d = 0; d < kColumns; ++d) into[d] = to_float(from[d]);\n", """\
#pragma unroll
  for (int d = 0; d < kColumns; d += 8) {
    const uint4 word = *reinterpret_cast<const uint4*>(from + d);
    unpack2(word.x, into[d], into[d + 1]);
    unpack2(word.y, into[d + 2], into[d + 3]);
    unpack2(word.z, into[d + 4], into[d + 5]);
    unpack2(word.w, into[d + 6], into[d + 7]);
  }
""")]),
    Rule("vector_stores", "Sixteen bytes a store: a row's end is written in whole sectors.",
         [("  for (int d = 0; d < kColumns; ++d) to[d] = from_float(from[d] * factor);\n", """\
#pragma unroll
  for (int d = 0; d < kColumns; d += 8) {
    uint4 word;
    word.x = pack2(from[d] * factor, from[d + 1] * factor);
    word.y = pack2(from[d + 2] * factor, from[d + 3] * factor);
    word.z = pack2(from[d + 4] * factor, from[d + 5] * factor);
    word.w = pack2(from[d + 6] * factor, from[d + 7] * factor);
    *reinterpret_cast<uint4*>(to + d) = word;
  }
""")]),
    Rule("query_registers", "The query row is the same for every key: it stays in registers.",
         [("DEVICE float score_of(const elem* query, const elem* key) {\n  float a[kColumns], b[kColumns];\n  read_columns(query, a);\n",
           "DEVICE float score_of(const float (&a)[kColumns], const elem* key) {\n  float b[kColumns];\n"),
          ("  const elem* query = q + (QTensor::head(head) + readable_row * QTensor::kRow) + column;\n",
           "  float query[kColumns];\n  read_columns(q + (QTensor::head(head) + readable_row * QTensor::kRow) + column, query);\n")]),
    Rule("exp2", "Exponentials in base 2 are one instruction; log2(e) goes into the scale.",
         [("constexpr float kScale = SOFTMAX_SCALE;\n", "constexpr float kScale = SOFTMAX_SCALE_LOG2E;\n"), ("return expf(x);", "return fast_exp2(x);")]),
    Rule("chains", "Four sums side by side: an addition does not wait for the one before.",
         [("  float dot = 0.0f;\n  for (int d = 0; d < kColumns; ++d) dot += a[d] * b[d];\n", """\
  float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
  for (int d = 0; d < kColumns; ++d) sums[d % 4] += a[d] * b[d];
  const float dot = (sums[0] + sums[1]) + (sums[2] + sums[3]);
""")]),
    Rule("threads", "How many rows a CTA has decides how work spreads; the tuner finds it.",
         [("constexpr int kThreads = 32;", "constexpr int kThreads = THREADS;")],
         parameter("THREADS", [32, 64, 128, 256], 64, "threads of a CTA"), {"CTA_THREADS": "THREADS"}),
    Rule("lanes", "Several threads share a row: shorter sums, and more warps to hide latency.",
         [("constexpr int kLanes = 1; ", "constexpr int kLanes = LANES; "), ("return dot * kScale;", "return warp_sum<kLanes>(dot) * kScale;")],
         parameter("LANES", [1, 2, 4, 8], 4, "threads that share a row"), {"ROW_LANES": "LANES"},
         [{"require": "HEAD_DIM % (8 * LANES) == 0", "why": "a thread's columns begin at 16 bytes"}]),
    Rule("unroll_keys", "Four keys in flight: their loads are issued before the first is used.",
         [("  float row_max = NEG_INF, row_sum = 0.0f;\n\n  for (", "  float row_max = NEG_INF, row_sum = 0.0f;\n\n#pragma unroll 4\n  for (")]),
    Rule("last_first", "Causal rows at the end are the longest: they begin first.",
         [("  const i64 block = blockIdx.x;\n", "  const i64 block = gridDim.x - 1 - blockIdx.x;\n")]),
]
BY_LEVER = {rule.lever: rule for rule in RULES}


def move(rule, parent):
    return {"edits": [{"find": find, "replace": text} for find, text in rule.edits], "manifest": rule.apply_to(parent["manifest"]),
            "lever": rule.lever, "thought": rule.thought}


def without(rule, parent):
    return {"edits": [{"find": text, "replace": find} for find, text in rule.edits],
            "manifest": rule.take_from(parent["manifest"], PLAIN_TERMS),
            "lever": f"no_{rule.lever}", "thought": f"Is it as fast without? {rule.thought}"}


def pinned(parent, draw):
    """A parameter at one value: fewer configs, each tried for sure."""
    free = [each for each in parent["manifest"]["parameters"] if len(each["values"]) > 1]
    if not free:
        return None
    chosen = draw.choice(free)["name"]
    manifest = copy.deepcopy(parent["manifest"])
    for each in manifest["parameters"]:
        if each["name"] == chosen:
            each["default"] = draw.choice(each["values"])
            each["values"] = [each["default"]]
            lever = f"{chosen}.{each['default']}"
    return {"manifest": manifest, "lever": lever, "thought": "With one value fixed the tuner sees more of the others."}


def moves_from(parent, draw):
    """In random order: rules that apply, then levers taken back, then parameters pinned."""
    source = parent["source"]
    first = [move(rule, parent) for rule in RULES if rule.applies(source)]
    back = [without(rule, parent) for rule in RULES if rule.applied(source)]
    back += [each for each in (pinned(parent, draw) for _ in range(4)) if each]
    draw.shuffle(first)
    draw.shuffle(back)
    return first + back


def crossed(request):
    """Moves that the second parent has and the first lacks."""
    if len(request["parents"]) < 2:
        return []
    one, other = request["parents"][:2]
    return [move(rule, one) for rule in RULES if rule.applies(one["source"]) and rule.applied(other["source"])]


def poor_levers(request):
    """Levers that insights say brought nothing, and those that were tried on this parent."""
    poor = {each.get("lever") for each in request.get("insights", []) if each.get("gain", 0) < 1.0}
    parent = request["parents"][0]["id"]
    return poor | {each.get("lever") for each in request.get("history", []) if each.get("parents", [None])[0] == parent}


def propose(request):
    draw = random.Random(request.get("seed", 0))
    parent = request["parents"][0]
    moves = crossed(request) + moves_from(parent, draw)
    poor = poor_levers(request)
    moves.sort(key=lambda each: each["lever"] in poor)  # the order stays otherwise
    chosen = moves[:request["wanted"]]
    for each in chosen:
        each["parents"] = [parent["id"]] + [other["id"] for other in request["parents"][1:]]
    insight = f"{chosen[0]['lever']}: {chosen[0]['thought']}" if chosen else ""
    return {"candidates": chosen, "insight": insight, "usage": {"prompt_tokens": 0, "completion_tokens": 0, "cost": 0}}


if __name__ == "__main__":
    print(json.dumps(propose(json.loads(sys.stdin.readline()))))
