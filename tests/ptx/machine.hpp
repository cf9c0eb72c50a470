// machine.hpp: Defines the state of a running grid, as handlers see it: memory, clusters, CTAs,
// warps.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ptx/program.hpp"

namespace fatune::ptx {

/// A tensor as a tensor map describes it, fastest dimension first.
struct TensorMap {
  std::uint64_t address = 0;
  int rank = 4;
  std::size_t element_bytes = 2;
  std::array<std::int64_t, 5> sizes{1, 1, 1, 1, 1};    ///< elements
  std::array<std::int64_t, 5> strides{0, 0, 0, 0, 0};  ///< bytes
  std::array<std::int64_t, 5> box{1, 1, 1, 1, 1};      ///< elements
  int swizzle = 0;                                     ///< bytes: 0, 32, 64 or 128
};

/// Device memory: buffers far from each other.
class Memory {
 public:
  /// Its address, a multiple of 256. The bytes stay the caller's.
  std::uint64_t add(std::string name, std::span<std::byte> bytes);
  /// Null when the bytes are not all within a buffer.
  std::byte* find(std::uint64_t address, std::size_t bytes) const;
  /// "out + 512", or the address where no buffer is near.
  std::string describe(std::uint64_t address) const;

 private:
  struct Buffer {
    std::string name;
    std::span<std::byte> bytes;
  };
  static constexpr int kBufferShift = 40;
  std::vector<Buffer> buffers_;
};

/// Work of cp.async or of a bulk store, of one thread and one of its groups.
struct PendingCopy {
  int lane = 0;
  std::uint32_t group = 0;
  std::uint64_t to = 0, from = 0;  ///< one of them in shared memory
  std::size_t bytes = 0, source_bytes = 0;
  std::size_t instruction = 0;     ///< that began it
  const TensorMap* map = nullptr;  ///< of a tensor store
  std::array<std::int64_t, 5> start{};
};

struct PendingMma {
  std::uint32_t group = 0;
  std::size_t instruction = 0;
  std::uint64_t a = 0, b = 0;  ///< descriptors
  bool add = false;
};

/// A tensor load or st.async on its way to shared memory of the cluster.
struct PendingLoad {
  std::uint64_t barrier = 0, to = 0;
  std::size_t bytes = 0, instruction = 0;
  const TensorMap* map = nullptr;  ///< null: st.async
  std::array<std::int64_t, 5> start{};
  std::array<std::byte, 16> values{};  ///< of st.async
};

struct Warp {
  enum class State { kReady, kBarrier, kCluster, kDone };
  State state = State::kReady;
  int index = 0;  ///< in its CTA
  Mask live = 0, parked = 0, yielded = 0;
  std::array<std::uint32_t, kLanes> pc{};
  std::vector<std::uint32_t> registers;
  std::vector<std::byte> local;
  std::vector<PendingCopy> copies, stores;
  std::array<std::uint32_t, kLanes> copy_group{}, store_group{};
  std::vector<PendingMma> products;
  std::size_t products_begun = 0;
  std::uint32_t product_group = 0;
  std::vector<bool> in_flight;      ///< units that pending products write
  std::uint32_t cluster_phase = 0;  ///< of the cluster's barrier when the warp arrived there
};

/// A named barrier of a CTA, while warps wait for it.
struct Barrier {
  std::uint32_t arrived = 0, expected = 0;  ///< threads; 0: all that have not exited
  bool any = false;                         ///< of the predicates of bar.red.or
  struct Waiting {
    int warp = 0;
    Ref result;  ///< of bar.red; else a sink
  };
  std::vector<Waiting> waiting;
};

struct Cta {
  int rank = 0;  ///< in its cluster
  std::array<std::uint32_t, 3> id{};
  std::vector<std::byte> shared;
  std::vector<Warp> warps;
  std::array<Barrier, 16> barriers;
  std::map<int, std::vector<PendingMma>> products;  ///< of a warpgroup, as the first of its warps
};

struct Cluster {
  std::vector<Cta> ctas;
  std::vector<PendingLoad> loads;
  std::uint32_t arrived = 0;  ///< warps at the cluster's barrier
  std::uint32_t phase = 0;    ///< of that barrier
  std::uint64_t events = 0;   ///< changes that somebody may wait for
};

struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::size_t shared_bytes = 0;  ///< dynamic
  std::vector<std::byte> parameters;
  std::map<std::size_t, TensorMap> maps;  ///< by offset in the parameters
};

/// Asynchronous work is carried out as late as the rules allow, when a wait asks for it, or at
/// once. A kernel is right either way.
enum class Asynchrony { kLate, kEarly };

/// The state that all threads of the grid share.
struct Machine {
  const Program& program;
  const Launch& launch;
  Memory& memory;
  Asynchrony asynchrony = Asynchrony::kLate;
  std::string problem;  ///< of the first instruction that failed
  std::uint64_t steps = 0, clock = 0;
  std::uint64_t products = 0;  ///< multiplications of tensor cores
};

template <typename T>
using Row = std::array<T, kLanes>;

/// An instruction and the lanes that carry it out.
struct Turn {
  Machine& machine;
  Cluster& cluster;
  Cta& cta;
  Warp& warp;
  Mask mask = 0;
  std::size_t index = 0;  ///< of the instruction
  const Instruction& at;

  const std::uint32_t* row(const Ref& ref) const {
    if (ref.slot >= 0) return &warp.registers[static_cast<std::size_t>(ref.slot) * kLanes];
    const auto& constant = machine.program.constants[static_cast<std::size_t>(~ref.slot)];
    return reinterpret_cast<const std::uint32_t*>(constant.data());
  }
  std::uint32_t* room(const Ref& ref) const {
    return &warp.registers[static_cast<std::size_t>(ref.slot) * kLanes];
  }

  /// The operand in every lane: its low bits.
  template <typename T>
  Row<T> read(const Ref& ref) const {
    Row<T> values;
    if constexpr (sizeof(T) == 4) {
      if (ref.bits <= 32) {
        std::memcpy(values.data(), row(ref), sizeof values);
        return values;
      }
    }
    if constexpr (sizeof(T) == 8) {
      if (ref.bits == 64) {
        std::memcpy(values.data(), row(ref), sizeof values);
        return values;
      }
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t bits = bits_of(ref, lane);
      std::memcpy(&values[static_cast<std::size_t>(lane)], &bits, sizeof(T));
    }
    return values;
  }
  template <typename T>
  Row<T> in(int operand) const {
    return read<T>(at.refs[operand]);
  }

  std::uint64_t bits_of(const Ref& ref, int lane) const {
    const std::uint32_t* words = row(ref);
    if (ref.bits != 64) return words[lane];
    std::uint64_t bits = 0;
    std::memcpy(&bits, words + std::ptrdiff_t{2} * lane, sizeof bits);
    return bits;
  }

  /// To the lanes of the mask; a narrow value fills a wider register with zeros, or its sign.
  template <typename T>
  void write(const Ref& ref, const Row<T>& values) const {
    if (ref.sink) return;
    if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
      if (mask == kAllLanes && ref.bits == 8 * sizeof(T)) {
        std::memcpy(room(ref), values.data(), sizeof values);
        return;
      }
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane & 1U) != 0) set(ref, lane, widened(values[static_cast<std::size_t>(lane)]));
    }
  }
  template <typename T>
  void out(int operand, const Row<T>& values) const {
    write(at.refs[operand], values);
  }
  void set(const Ref& ref, int lane, std::uint64_t bits) const {
    std::uint32_t* words = room(ref);
    if (ref.bits == 64) {
      std::memcpy(words + std::ptrdiff_t{2} * lane, &bits, sizeof bits);
    } else {
      words[lane] = static_cast<std::uint32_t>(ref.bits == 16 ? bits & 0xffffU : bits);
    }
  }

  Mask predicate(const Ref& ref) const {
    const Mask value = row(ref)[0];
    return ref.negated ? ~value : value;
  }
  Mask predicate(int operand) const { return predicate(at.refs[operand]); }
  void set_predicate(const Ref& ref, Mask value) const {
    if (ref.sink) return;
    std::uint32_t* word = room(ref);
    *word = (*word & ~mask) | (value & mask);
  }

  Step fail(const std::string& why) const {
    if (machine.problem.empty()) machine.problem = machine.program.place(index) + ": " + why;
    return Step::kFail;
  }

  template <typename T>
  static std::uint64_t widened(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
      return std::bit_cast<Bits>(value);
    } else {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    }
  }
};

/// Calls with each lane of a mask.
template <typename Work>
void for_lanes(Mask mask, const Work& work) {
  for (; mask != 0; mask &= mask - 1) work(std::countr_zero(mask));
}

}  // namespace fatune::ptx
