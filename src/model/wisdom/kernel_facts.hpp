// kernel_facts.hpp: Describes all facts needed to launch an exported kernel (fatune.launch/1). A
// sealed index lists the facts of a folder (fatune.wisdom/1).
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
#include "model/results/time.hpp"

namespace fatune {

/// A tensor of a custom operation, or of attention with optional tensors or in a layout other than
/// bhsd.
struct TensorFacts {
  std::string name;
  std::string type;                   ///< name of a Dtype or PlainType: "f16", "bool"
  std::vector<std::int64_t> shape;    ///< the fastest dimension last
  std::vector<std::int64_t> strides;  ///< elements
  bool output = false;
  bool filled = false;                    ///< an output that is read, too
  std::vector<std::string> extents = {};  ///< shape over run-time sizes; empty: fixed
};

/// Extents in x, y, z: blocks of a grid or threads of a block.
inline std::int64_t product(const std::array<std::int64_t, 3>& extent) {
  return extent[0] * extent[1] * extent[2];
}

/// One launch. Arguments are passed by name in this order. The tensors q, k, v, out and lse, or a
/// custom operation's, are device pointers; lse is null if the problem has none. A scratch is a
/// device pointer; a tensor map is a CUtensorMap by value. A custom operation also has numbers by
/// value: "i32 1024" (scalar.hpp), or an expression over run-time sizes: "i32 n / 2".
struct StageFacts {
  std::string entry;
  std::array<std::int64_t, 3> grid{1, 1, 1};     ///< blocks; of the tuned problem
  std::array<std::int64_t, 3> block{1, 1, 1};    ///< threads
  std::array<std::int64_t, 3> cluster{1, 1, 1};  ///< blocks; above 8 needs the non-portable size
  /// Dynamic shared memory in bytes; if not 0, the function also prefers the largest carveout.
  std::int64_t shared_bytes = 0;
  std::int64_t static_shared_bytes = 0;
  bool dependent = false;  ///< programmatic stream serialization is allowed
  std::vector<std::string> arguments;
  std::vector<std::string> extents = {};  ///< grid over run-time sizes; empty: fixed
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
/// Map over one of the problem's tensors: element type, sizes and strides follow its layout.
TensorMapFacts map_of(const std::string& tensor, const Attention& problem);
/// Map over a scratch that holds a contiguous tensor of these sizes.
TensorMapFacts scratch_map_of(const std::string& scratch, const std::array<std::int64_t, 4>& sizes,
                              Dtype dtype);

/// Device memory of a launch: written before it is read, not kept between launches, aligned to 256
/// bytes.
struct ScratchFacts {
  std::string name;
  std::int64_t bytes = 0;   ///< of the tuned problem
  std::string extent = {};  ///< bytes over run-time sizes; empty: fixed
};

/// A __constant__ variable that a copy of a tensor fills before the launches.
struct ConstantFacts {
  std::string symbol;  ///< in the machine code; in a LaunchPlan, the C++ name
  std::string tensor;  ///< an input
  std::int64_t bytes = 0;
};

/// The machine code that accompanies the facts.
struct CubinFacts {
  std::string file;    ///< a file name without folders
  std::string sha256;  ///< 64 lower-case hex digits
  std::int64_t bytes = 0;
};

/// Times and ratio from the final phase of the sweep.
struct MeasuredFacts {
  double hot_us = 0;
  std::optional<std::array<double, 2>> ci95_us;
  std::string baseline;         ///< empty: no baseline was measured
  std::optional<double> ratio;  ///< our time over the baseline's
  /// Time of the ratio and of the sweep's ranking; empty: hot.
  std::optional<Time> time = {};
  std::optional<double> us = {};  ///< time that `time` names; empty: hot
};
/// Ranks kernels of one problem, less is faster: kernels with a time in a layer come first, since a
/// program gets this time. Microseconds; infinite for a kernel without a measurement.
std::pair<bool, double> speed_rank(const std::optional<MeasuredFacts>& measured);

struct KernelFacts {
  std::string kernel;
  std::string config;  ///< JSON on one line: {"BLOCK_M":128,...}
  std::string id;
  Problem problem;
  std::string arch;  ///< "sm_90a"
  int compute_major = 0, compute_minor = 0;
  bool exact_compute = true;  ///< runs on this compute capability only, not on later minor versions
  CubinFacts cubin;
  /// Sizes that a launch takes; `problem` has those that were tuned and verified. Expressions over
  /// run-time sizes have + - * /, parentheses, ceil_div, floor_div, round_up, min and max.
  std::vector<std::string> runtime_sizes;
  std::vector<TensorFacts> tensors;  ///< in the operation's order; empty: contiguous attention
  std::vector<StageFacts> stages;
  std::vector<TensorMapFacts> tensor_maps;
  std::vector<ScratchFacts> scratch;
  std::vector<ConstantFacts> constants;  ///< of a custom operation
  double scale = 0;                      ///< softmax scale, compiled in; attention only
  bool verified = false;  ///< this machine code passed every gate on the measuring device
  /// Right outputs were the default config's, as there is no reference.
  bool own_yardstick = false;
  std::optional<MeasuredFacts> measured;
  bool recorded = false;  ///< a recording replaced the device
  bool ours = true;       ///< has text of fatune's kernels; for comments, not serialized
  std::string device_name, driver;
  std::int64_t sm_count = 0;  ///< compiled in; other counts are correct but not tuned
  std::string nvrtc;          ///< of the machine code
  std::string fatune;         ///< version that exported the kernel
  std::string command;        ///< command of the measurement; empty: unknown
};

/// Machine code runs on its major version with an equal or later minor version, unless it uses
/// architecture-specific features.
bool runs_on(const KernelFacts& facts, int major, int minor);

void fields(TensorFacts& x, FieldList& f);
void fields(StageFacts& x, FieldList& f);
void fields(TensorMapFacts& x, FieldList& f);
void fields(ScratchFacts& x, FieldList& f);
void fields(ConstantFacts& x, FieldList& f);
void fields(CubinFacts& x, FieldList& f);
void fields(MeasuredFacts& x, FieldList& f);
/// Lists fatune.launch/1. Reading checks everything that a launch depends on: ranges, names of
/// arguments, sizes of maps against the problem.
void fields(KernelFacts& x, FieldList& f);

/// A folder of wisdom: the index, and the folder of its cubins.
std::filesystem::path wisdom_index_path(const std::filesystem::path& folder);
std::filesystem::path wisdom_cubin_path(const std::filesystem::path& folder,
                                        const KernelFacts& facts);

/// Content of fatune.wisdom/1.
struct WisdomFile {
  std::string fatune, sha256;
  std::vector<KernelFacts> kernels;
};
void fields(WisdomFile& x, FieldList& f);

/// Returns the text of an index. Its `sha256` is the hash of `kernels` written on one line, and
/// therefore covers all facts and their cubins.
std::string write_wisdom_index(std::span<const KernelFacts> kernels, const std::string& fatune);

/// Names what libfatune_rt cannot do for this kernel; empty if it can launch the kernel.
std::string why_not_in_wisdom(const KernelFacts& facts);

struct WisdomIndex {
  bool intact = false;  ///< the facts are unchanged since export; otherwise they are not read
  std::vector<KernelFacts> kernels;
};
/// Errors name `where`: invalid JSON, a cut file, another schema, or facts that no launch can rely
/// on.
Result<WisdomIndex> read_wisdom_index(std::string_view text, const std::string& where);

}  // namespace fatune
