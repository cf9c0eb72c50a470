// kernel_facts.hpp - all that a program must know to launch an exported kernel: fatune.launch/1,
// and the sealed index of a folder of such facts, fatune.wisdom/1.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// A tensor of a custom operation, or of attention in a layout other than bhsd.
struct TensorFacts {
  std::string name;
  std::string type;                   ///< "f16", "bf16", "e4m3", "e5m2" or "f32"
  std::vector<std::int64_t> shape;    ///< the fastest dimension last
  std::vector<std::int64_t> strides;  ///< elements
  bool output = false;
};

/// Of a grid's blocks, of a block's threads.
inline std::int64_t product(const std::array<std::int64_t, 3>& extent) {
  return extent[0] * extent[1] * extent[2];
}

/// One launch. Arguments are passed in this order, each by name: q, k, v, out and lse, or the
/// tensors of a custom operation, are device pointers, lse being null when the problem has none; a
/// scratch's name is a device pointer; a tensor map's name is a CUtensorMap by value.
struct StageFacts {
  std::string entry;
  std::array<std::int64_t, 3> grid{1, 1, 1};     ///< blocks
  std::array<std::int64_t, 3> block{1, 1, 1};    ///< threads
  std::array<std::int64_t, 3> cluster{1, 1, 1};  ///< blocks; above 8 needs the non-portable size
  /// Dynamic; if there is any, the function also prefers the largest shared-memory carveout.
  std::int64_t shared_bytes = 0;
  std::int64_t static_shared_bytes = 0;
  bool dependent = false;  ///< programmatic stream serialization is allowed
  std::vector<std::string> arguments;
};

enum class MapElement { kF16, kBf16, kByte };
std::string_view name(MapElement element);  ///< "f16", "bf16", "byte"
FieldWord<MapElement> word_of(const MapElement*);

/// A tiled tensor map of rank 4, fastest dimension first: head_dim, sequence, heads, batch. Steps
/// are 1, no interleave, 256-byte L2 promotion, zeros outside.
struct TensorMapFacts {
  std::string name;
  std::string tensor;  ///< "q", "k", "v", "out" or a scratch's name
  MapElement element = MapElement::kF16;
  std::array<std::int64_t, 4> sizes{1, 1, 1, 1};       ///< elements
  std::array<std::int64_t, 3> strides_bytes{0, 0, 0};  ///< of dimensions 1 to 3
  std::array<std::int64_t, 4> box{1, 1, 1, 1};         ///< elements, at most 256 each
  int swizzle_bytes = 0;                               ///< 0, 32, 64 or 128
};
/// Of one of the problem's tensors where its layout puts it: element, sizes and strides.
TensorMapFacts map_of(const std::string& tensor, const Problem& problem);
/// Of a scratch that holds a contiguous tensor of those sizes, of the problem's dtype.
TensorMapFacts scratch_map_of(const std::string& scratch, const std::array<std::int64_t, 4>& sizes,
                              const Problem& problem);

/// Device memory of a launch: written before it is read, and not kept between launches. Aligned to
/// 256 bytes.
struct ScratchFacts {
  std::string name;
  std::int64_t bytes = 0;
};

/// The machine code beside the facts.
struct CubinFacts {
  std::string file;    ///< a name without folders
  std::string sha256;  ///< 64 lower-case hex digits
  std::int64_t bytes = 0;
};

/// Times and ratio from the final phase of the sweep.
struct MeasuredFacts {
  double hot_us = 0;
  std::optional<std::array<double, 2>> ci95_us;
  std::string baseline;         ///< empty: none was measured beside it
  std::optional<double> ratio;  ///< our time over the baseline's
  /// That the ratio is of, and by which the sweep ranked: "in_layer", "plain", "cold"; empty: hot.
  std::string time = {};
  std::optional<double> us = {};  ///< that time; empty: hot
};
/// Of kernels that compute the same, less is faster: those that were timed in a layer come first,
/// since that is what a program gets. Microseconds, infinite for one that was not measured.
std::pair<bool, double> speed_rank(const std::optional<MeasuredFacts>& measured);

struct KernelFacts {
  std::string kernel;
  std::string config;  ///< JSON on one line: {"BLOCK_M":128,...}
  std::string id;
  Problem problem;
  std::string arch;  ///< "sm_90a"
  int compute_major = 0, compute_minor = 0;
  bool exact_compute = true;  ///< runs on this compute capability alone, not on later minor ones
  CubinFacts cubin;
  std::vector<TensorFacts> tensors;  ///< in the operation's order; empty: contiguous attention's
  std::vector<StageFacts> stages;
  std::vector<TensorMapFacts> tensor_maps;
  std::vector<ScratchFacts> scratch;
  double scale = 0;       ///< of the scores before the softmax, compiled in; of attention only
  bool verified = false;  ///< this machine code passed every gate where it was measured
  std::optional<MeasuredFacts> measured;
  bool recorded = false;  ///< a recording stood in for the device
  std::string device_name, driver;
  std::int64_t sm_count = 0;  ///< compiled in; other counts are right, but not what was tuned
  std::string nvrtc;          ///< that compiled the machine code
  std::string fatune;         ///< version that exported it
  std::string command;        ///< that measured it; empty: unknown
};

/// Machine code runs on the same major version and the same or a later minor one, unless it uses
/// what only its own architecture has.
bool runs_on(const KernelFacts& facts, int major, int minor);

void fields(TensorFacts& x, FieldList& f);
void fields(StageFacts& x, FieldList& f);
void fields(TensorMapFacts& x, FieldList& f);
void fields(ScratchFacts& x, FieldList& f);
void fields(CubinFacts& x, FieldList& f);
void fields(MeasuredFacts& x, FieldList& f);
/// fatune.launch/1. Reading checks everything that a launch depends on: ranges, names of arguments,
/// sizes of maps against the problem.
void fields(KernelFacts& x, FieldList& f);

/// Of a folder of wisdom: the index, and the folder of the cubins that it names.
std::filesystem::path wisdom_index_path(const std::filesystem::path& folder);
std::filesystem::path wisdom_cubin_path(const std::filesystem::path& folder,
                                        const KernelFacts& facts);

/// fatune.wisdom/1
struct WisdomFile {
  std::string fatune, sha256;
  std::vector<KernelFacts> kernels;
};
void fields(WisdomFile& x, FieldList& f);

/// The text of an index. Its `sha256` is that of `kernels` written on one line, hence of all facts,
/// and through them of all cubins.
std::string write_wisdom_index(std::span<const KernelFacts> kernels, const std::string& fatune);

/// What libfatune_rt cannot do for such a kernel; empty: it can launch it.
std::string why_not_in_wisdom(const KernelFacts& facts);

struct WisdomIndex {
  bool intact = false;  ///< the facts are those that were exported; if not, they are not read
  std::vector<KernelFacts> kernels;
};
/// Text that is no JSON, cut short, or of another schema, and facts that no launch could rely on,
/// are errors that name `where`.
Result<WisdomIndex> read_wisdom_index(std::string_view text, const std::string& where);

}  // namespace fatune
