// data_file.cpp: Holds numpy's header and the size of a file against a tensor.
#include "model/problem/data_file.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace fatune {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostHeader = 64 * 1024;  // chosen: numpy's own has some 100 bytes

/// Numpy's word for each type that it has.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kDescriptions = {
    {{"f16", "<f2"},
     {"f32", "<f4"},
     {"f64", "<f8"},
     {"i8", "|i1"},
     {"u8", "|u1"},
     {"i16", "<i2"},
     {"u16", "<u2"},
     {"i32", "<i4"},
     {"u32", "<u4"},
     {"i64", "<i8"},
     {"u64", "<u8"},
     {"bool", "|b1"}}};

/// Returns the text behind "'KEY': " up to one of the ends; empty if there is none.
std::string_view value_of(std::string_view header, std::string_view key, std::string_view ends) {
  const std::string quoted = fmt::format("'{}':", key);
  const std::size_t at = header.find(quoted);
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + quoted.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" ("), rest.size()));
  return rest.substr(0, rest.find_first_of(ends));
}

/// Returns the number of elements of a shape such as "3, 4" or "12,"; "" is one element.
double elements_of(std::string_view shape) {
  double product = 1, size = -1;
  for (const char c : shape) {
    if (c >= '0' && c <= '9') size = std::max(size, 0.0) * 10 + (c - '0');
    if (c == ',') product *= std::exchange(size, -1);
  }
  return size < 0 ? product : product * size;
}

std::string header_fault(std::string_view header, const TensorPlan& tensor) {
  const auto known = std::ranges::find(kDescriptions, tensor.type_word(),
                                       [](const auto& each) { return each.first; });
  if (known == kDescriptions.end())
    return fmt::format("is numpy's, which has no {}: write its bytes alone", tensor.type_word());
  const std::string_view found = value_of(header, "descr", ",}");
  if (found != fmt::format("'{}'", known->second))
    return fmt::format("has elements {}, but {} needs '{}'", found, tensor.type_word(),
                       known->second);
  if (value_of(header, "fortran_order", ",}") != "False")
    return "is in Fortran's order: save numpy.ascontiguousarray(x)";
  const std::string_view shape = value_of(header, "shape", ")");
  if (elements_of(shape) == static_cast<double>(tensor.elements())) return {};
  return fmt::format("has the shape ({}), but {} has {} elements", shape, tensor.name,
                     tensor.elements());
}

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8U | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

Result<std::size_t> data_offset(const std::filesystem::path& file, const TensorPlan& tensor) {
  std::error_code failure;
  const auto size = std::filesystem::file_size(file, failure);
  std::ifstream stream(file, std::ios::binary);
  if (failure || !stream)
    return file_error(fmt::format("{} cannot be read: {}", file.string(),
                                  failure ? failure.message() : "permission denied"));
  std::string start(12, '\0');
  stream.read(start.data(), 12);
  std::size_t offset = 0;
  if (start.starts_with(kMagic)) {
    const bool first = start[6] == 1;
    const std::size_t length = little_endian(std::string_view(start).substr(8, first ? 2 : 4));
    const std::size_t begin = first ? 10 : 12;
    if (size < begin + length) return file_error(file.string() + " ends within numpy's header");
    std::string header(std::min(length, kMostHeader), '\0');
    stream.clear();
    stream.seekg(static_cast<std::streamoff>(begin));
    stream.read(header.data(), static_cast<std::streamsize>(header.size()));
    const std::string fault = header_fault(header, tensor);
    if (!fault.empty()) return file_error(file.string() + " " + fault);
    offset = begin + length;
  }
  if (size == offset + tensor.bytes()) return offset;
  return file_error(fmt::format("{} has {} bytes of elements, but {} needs {}", file.string(),
                                size - offset, tensor.name, tensor.bytes()));
}

Result<std::vector<std::byte>> read_data(const std::filesystem::path& file,
                                         const TensorPlan& tensor) {
  FATUNE_TRY(const std::size_t offset, data_offset(file, tensor));
  std::vector<std::byte> bytes(tensor.bytes());
  std::ifstream stream(file, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(offset));
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (stream) return bytes;
  return file_error(file.string() + " became shorter while it was read");
}

}  // namespace fatune
