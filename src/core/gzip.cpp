// gzip.cpp: Compresses and decompresses with zlib in chunks.
#include "core/gzip.hpp"

#define ZLIB_CONST  // makes zlib's input const
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <zlib.h>

namespace fatune {
namespace {

// zlib's window size plus 16 selects the gzip format.
constexpr int kGzip = MAX_WBITS + 16;
/// Highest ratio of sizes, against decompression bombs. Journals shrink by 10 to 25 times. Chosen.
constexpr std::size_t kLargestRatio = 100;
constexpr std::size_t kChunk = std::size_t{1} << 16U;

/// Gives zlib, which counts in 32 bits, the next part of `bytes` when its input is used up.
void feed(z_stream& stream, std::string_view& bytes) {
  if (stream.avail_in > 0) return;
  const std::string_view part = bytes.substr(0, 1U << 30U);
  stream.next_in = reinterpret_cast<const Bytef*>(part.data());
  stream.avail_in = static_cast<uInt>(part.size());
  bytes.remove_prefix(part.size());
}

/// Adds zlib's output to `out` and returns zlib's state.
int step(z_stream& stream, std::string& out, int (*run)(z_stream*, int), int flush) {
  std::array<unsigned char, kChunk> chunk;
  stream.next_out = chunk.data();
  stream.avail_out = static_cast<uInt>(chunk.size());
  const int state = run(&stream, flush);
  out.append(reinterpret_cast<const char*>(chunk.data()), chunk.size() - stream.avail_out);
  return state;
}

}  // namespace

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  const int ready = deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, MAX_MEM_LEVEL,
                                 Z_DEFAULT_STRATEGY);
  FATUNE_CHECK(ready == Z_OK, "zlib accepts these constants");
  std::string out;
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    feed(stream, bytes);
    state = step(stream, out, deflate, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
  }
  deflateEnd(&stream);
  return out;
}

Result<std::string> gunzip(std::string_view bytes, const std::string& where, std::size_t limit) {
  if (!bytes.starts_with("\x1f\x8b")) return std::string(bytes);
  const std::size_t plausible = std::max(kUsualFile, kLargestRatio * bytes.size());
  z_stream stream{};
  FATUNE_CHECK(inflateInit2(&stream, kGzip) == Z_OK, "zlib accepts this constant");
  std::string out;
  int state = Z_OK;
  while (state == Z_OK && out.size() <= std::min(limit, plausible)) {
    feed(stream, bytes);
    if (out.size() > limit / 2) out.reserve(limit + kChunk);  // instead of twice the limit
    state = step(stream, out, inflate, Z_NO_FLUSH);
    const bool another = state == Z_STREAM_END && stream.avail_in + bytes.size() > 0;
    if (another) state = inflateReset(&stream);  // a file may have several gzip members
  }
  const std::string reason = stream.msg ? stream.msg : "it ends too early";
  inflateEnd(&stream);
  FATUNE_TRY_STATUS(check_size(out, limit, where));
  if (out.size() > plausible) {
    return file_error(
        fmt::format("{}: unpacks to more than {} times its size", where, kLargestRatio));
  }
  if (state != Z_STREAM_END) return file_error(where + ": broken gzip data: " + reason);
  return out;
}

}  // namespace fatune
