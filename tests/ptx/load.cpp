// load.cpp: Executes ld, st, atom and red.
#include <cmath>

#include "ptx/access.hpp"
#include "ptx/handlers.hpp"

namespace fatune::ptx {
namespace {

using u64 = std::uint64_t;

struct MemoryType {
  std::size_t bytes = 4;
  char kind = 'b';  ///< b, u, s or f
};

std::optional<MemoryType> memory_type(const std::string& word) {
  for (const std::size_t bytes : {1U, 2U, 4U, 8U}) {
    if (word.size() >= 2 && word.substr(1) == std::to_string(8 * bytes) &&
        std::string_view("busf").find(word[0]) != std::string_view::npos)
      return MemoryType{bytes, word[0]};
  }
  return std::nullopt;
}

/// What a load or store does: space, bytes of an element, elements, sign.
struct Access {
  Space space = Space::kGeneric;
  std::uint8_t bytes = 4, count = 1;
  bool is_signed = false;
};

Step load(Turn& turn) {
  const Access access = turn.at.detail_as<Access>();
  const std::size_t count = access.count;
  const unsigned unused = static_cast<unsigned>(64 - 8 * access.bytes);
  bool failed = false;
  for_lanes(turn.mask, [&](int lane) {
    if (failed) return;
    const u64 address = address_of(turn, access.count, lane);
    const std::byte* from = locate(turn, access.space, address, access.bytes * count, lane);
    if (from == nullptr) {
      failed = true;
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      u64 bits = 0;
      std::memcpy(&bits, from + i * access.bytes, access.bytes);
      if (access.is_signed)
        bits = static_cast<u64>(static_cast<std::int64_t>(bits << unused) >> unused);
      if (!turn.at.refs[i].sink) turn.set(turn.at.refs[i], lane, bits);
    }
  });
  return failed ? Step::kFail : Step::kNext;
}

Step store(Turn& turn) {
  const Access access = turn.at.detail_as<Access>();
  const std::size_t count = access.count;
  bool failed = false;
  for_lanes(turn.mask, [&](int lane) {
    if (failed) return;
    const u64 address = address_of(turn, 0, lane);
    std::byte* to = locate(turn, access.space, address, access.bytes * count, lane);
    if (to == nullptr) {
      failed = true;
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const u64 bits = turn.bits_of(turn.at.refs[i + 1], lane);
      std::memcpy(to + i * access.bytes, &bits, access.bytes);
    }
  });
  ++turn.cluster.events;
  return failed ? Step::kFail : Step::kNext;
}

enum class Atomic : std::uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kExch, kCas, kInc, kDec };
constexpr std::string_view kAtomics[] = {"add", "min",  "max", "and", "or",
                                         "xor", "exch", "cas", "inc", "dec"};

template <typename T>
T combine(Atomic operation, T old, T b, T c) {
  switch (operation) {
    case Atomic::kAdd:
      return static_cast<T>(old + b);
    case Atomic::kMin:
      return std::min(old, b);
    case Atomic::kMax:
      return std::max(old, b);
    case Atomic::kCas:
      return old == b ? c : old;
    default:
      break;
  }
  if constexpr (!std::is_floating_point_v<T>) {
    switch (operation) {
      case Atomic::kAnd:
        return old & b;
      case Atomic::kOr:
        return old | b;
      case Atomic::kXor:
        return old ^ b;
      case Atomic::kInc:
        return old >= b ? T{0} : static_cast<T>(old + 1);
      case Atomic::kDec:
        return old == 0 || old > b ? b : static_cast<T>(old - 1);
      default:
        break;
    }
  }
  return b;
}

struct AtomicForm {
  Space space = Space::kGeneric;
  Atomic operation = Atomic::kAdd;
};

/// atom d, [a], b, c; red [a], b.
template <typename T, bool kReturns>
Step atomic(Turn& turn) {
  const auto form = turn.at.detail_as<AtomicForm>();
  constexpr int kAddress = kReturns ? 1 : 0;
  bool failed = false;
  for_lanes(turn.mask, [&](int lane) {
    if (failed) return;
    std::byte* at = locate(turn, form.space, address_of(turn, kAddress, lane), sizeof(T), lane);
    if (at == nullptr) {
      failed = true;
      return;
    }
    const auto operand = [&](int index) {
      T value{};
      const u64 bits = index < turn.at.count ? turn.bits_of(turn.at.refs[index], lane) : 0;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    };
    T old{};
    std::memcpy(&old, at, sizeof old);
    const T fresh = combine(form.operation, old, operand(kAddress + 1), operand(kAddress + 2));
    std::memcpy(at, &fresh, sizeof fresh);
    if (kReturns && !turn.at.refs[0].sink) turn.set(turn.at.refs[0], lane, Turn::widened(old));
  });
  ++turn.cluster.events;
  return failed ? Step::kFail : Step::kNext;
}

template <bool kReturns>
Handler atomic_handler(const MemoryType& type) {
  if (type.kind == 'f') {
    if (type.bytes == 4) return atomic<float, kReturns>;
    return type.bytes == 8 ? atomic<double, kReturns> : nullptr;
  }
  if (type.bytes == 4) {
    return type.kind == 's' ? Handler(atomic<std::int32_t, kReturns>)
                            : Handler(atomic<std::uint32_t, kReturns>);
  }
  if (type.bytes != 8) return nullptr;
  return type.kind == 's' ? Handler(atomic<std::int64_t, kReturns>)
                          : Handler(atomic<std::uint64_t, kReturns>);
}

bool changes_no_value(const std::string& part) {
  static constexpr std::string_view kKnown[] = {
      "relaxed", "acquire", "release", "acq_rel", "volatile", "weak", "cta", "cluster", "gpu",
      "sys",     "nc",      "ca",      "cg",      "cs",       "lu",   "cv",  "wb",      "wt"};
  return part.starts_with("L1::") || part.starts_with("L2::") ||
         std::find(std::begin(kKnown), std::end(kKnown), part) != std::end(kKnown);
}

}  // namespace

std::optional<Meaning> load_meaning(const Parts& parts) {
  if (parts[0] != "ld" && parts[0] != "st") return std::nullopt;
  const auto type = memory_type(parts.back());
  if (!type) return std::nullopt;
  Access access{Space::kGeneric, static_cast<std::uint8_t>(type->bytes), 1, type->kind == 's'};
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    if (const auto space = space_of(parts[i])) {
      access.space = *space;
    } else if (parts[i] == "v2" || parts[i] == "v4") {
      access.count = static_cast<std::uint8_t>(parts[i][1] - '0');
    } else if (!changes_no_value(parts[i])) {
      return std::nullopt;
    }
  }
  return Meaning{parts[0] == "ld" ? load : store, Collective::kNone, 0, detail(access)};
}

std::optional<Meaning> atomic_meaning(const Parts& parts) {
  if (parts[0] != "atom" && parts[0] != "red") return std::nullopt;
  const auto type = memory_type(parts.back());
  if (!type) return std::nullopt;
  AtomicForm form;
  bool known = false;
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    const auto* found = std::find(std::begin(kAtomics), std::end(kAtomics), parts[i]);
    if (const auto named = space_of(parts[i])) {
      form.space = *named;
    } else if (found != std::end(kAtomics)) {
      form.operation = static_cast<Atomic>(found - std::begin(kAtomics));
      known = true;
    } else if (!changes_no_value(parts[i])) {
      return std::nullopt;
    }
  }
  const Handler handler =
      parts[0] == "atom" ? atomic_handler<true>(*type) : atomic_handler<false>(*type);
  if (!known || handler == nullptr) return std::nullopt;
  return Meaning{handler, Collective::kNone, 0, detail(form)};
}

}  // namespace fatune::ptx
