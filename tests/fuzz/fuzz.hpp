// fuzz.hpp: Declares the fuzz targets; each reads a text and may only fail with an error.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/json.hpp"
#include "core/result.hpp"

namespace fatune::fuzz {

struct Target {
  std::string_view name;
  void (*run)(std::string_view text);
};

// files.cpp
void json(std::string_view text);
void gzip(std::string_view text);
void words(std::string_view text);
// kernels.cpp
void manifest(std::string_view text);
void expression(std::string_view text);
void python(std::string_view text);
// problems.cpp
void suite(std::string_view text);
void shape(std::string_view text);
// journals.cpp
void journal(std::string_view text);
void journal_files(std::string_view text);
void merge(std::string_view text);
// datasets.cpp
void kernel_tuner(std::string_view text);
void t4(std::string_view text);
void ktt(std::string_view text);
void t1(std::string_view text);
// results.cpp
void best(std::string_view text);
void saved(std::string_view text);
void known(std::string_view text);
void wisdom(std::string_view text);
void launch(std::string_view text);
// worker.cpp
void message(std::string_view text);
void compile_log(std::string_view text);
void ncu(std::string_view text);
void sass(std::string_view text);
// clients.cpp
void client(std::string_view text);
void answer(std::string_view text);
void transcript(std::string_view text);
void ledger(std::string_view text);
// http.cpp
void http(std::string_view text);

[[noreturn]] inline void fail_unreadable(const Error& error) {
  fail_check(error.message.c_str(), "what is written can be read", __FILE__, __LINE__);
}

/// Checks that a value reads back as it was written.
template <typename T>
void check_round_trip(const T& value) {
  const Json written = to_json(value);
  const auto back = read_value<T>(written, "written");
  if (!back) fail_unreadable(back.error());
  FATUNE_CHECK(dump(to_json(*back)) == dump(written), "it reads back as it was");
}

/// JSON that is a record is written and read again.
template <typename T>
void check_record(std::string_view text) {
  const auto parsed = parse_json(text, "x");
  if (!parsed) return;
  if (const auto value = read_value<T>(*parsed, "x")) check_round_trip(*value);
}

}  // namespace fatune::fuzz
