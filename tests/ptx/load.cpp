// load.cpp: Executes ld and st.
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

/// A load or store: space, bytes of an element, elements, sign.
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

}  // namespace fatune::ptx
