// record_test.cpp: Checks that every kind of record survives a line of the journal.
#include "model/results/record.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/fields.hpp"
#include "samples.hpp"

using namespace fatune;
using namespace fatune::test;

namespace {

Record reread(const Record& record) {
  const std::string line = dump(to_json(record));
  CAPTURE(line);
  CHECK(line.find('\n') == std::string::npos);
  auto read = read_value<Record>(*parse_json(line, "x"), "x");
  INFO((read ? "" : read.error().message));
  REQUIRE(read);
  CHECK(dump(to_json(*read)) == line);
  return *read;
}

std::string fault(const Json& json) {
  const auto record = read_value<Record>(json, "line 2 of j");
  return record ? "none" : record.error().message;
}

}  // namespace

TEST_CASE("full records read back as they were written") {
  for (const Record& record :
       {Record(sample_candidate()), Record(sample_final()), Record(StartedRecord{"id", "key"}),
        Record(EndRecord{"interrupted", 12.5})}) {
    CHECK(reread(record) == record);
  }
}

TEST_CASE("records with nothing optional in them read back too") {
  CandidateRecord candidate;
  candidate.id = "a";
  candidate.key = "b";
  candidate.kernel = "c";
  candidate.outcome = Outcome::kInfeasible;
  CHECK(reread(candidate) == Record(candidate));
  FinalRecord final;
  final.impl = "naive";
  final.role = RowRole::kBaseline;
  CHECK(reread(final) == Record(final));
}

TEST_CASE("every outcome survives") {
  for (const Outcome outcome : kAllOutcomes) {
    CandidateRecord candidate = sample_candidate();
    candidate.outcome = outcome;
    CHECK(std::get<CandidateRecord>(reread(candidate)).outcome == outcome);
  }
}

TEST_CASE("text of any kind stays one line and survives") {
  CandidateRecord candidate = sample_candidate();
  candidate.reason = "line one\nline two\t\"quoted\" \\ \x01 \xc3\xa9";
  CHECK(reread(candidate) == Record(candidate));
}

TEST_CASE("unknown fields are ignored at every depth") {
  Json json = to_json(Record(sample_candidate()));
  json["later"] = 1;
  json["hot"]["later"] = 1;
  json["problem"]["later"] = 1;
  json["spent"]["later"] = 1;
  CHECK(*read_value<Record>(json, "x") == Record(sample_candidate()));
}

TEST_CASE("missing fields are named with the line they are missing from") {
  for (const char* key : {"t", "id", "key", "kernel", "config", "problem", "outcome"}) {
    Json json = to_json(Record(sample_candidate()));
    json.erase(key);
    CHECK(fault(json) == "line 2 of j: field '" + std::string(key) + "' is missing");
  }
  for (const char* key : {"impl", "role", "problem", "outcome"}) {
    Json json = to_json(Record(sample_final()));
    json.erase(key);
    CHECK(fault(json) == "line 2 of j: field '" + std::string(key) + "' is missing");
  }
  CHECK(fault(Json{{"t", "started"}, {"id", "x"}}) == "line 2 of j: field 'key' is missing");
  CHECK(fault(Json{{"t", "end"}}) == "line 2 of j: field 'status' is missing");
  Json json = to_json(Record(sample_candidate()));
  json["hot"].erase("median_us");
  CHECK(fault(json) == "line 2 of j: field 'hot.median_us' is missing");
}

TEST_CASE("wrong values are named") {
  CHECK(fault(Json{{"t", "novel"}}) ==
        "line 2 of j: field 't' is 'novel', a kind of record this version does not know");
  Json json = to_json(Record(sample_candidate()));
  json["outcome"] = "fine";
  CHECK(fault(json) == "line 2 of j: field 'outcome' is wrong: outcome 'fine' is unknown");
  Json final = to_json(Record(sample_final()));
  final["role"] = "rival";
  CHECK(fault(final) ==
        "line 2 of j: field 'role' is wrong: 'rival' is not one of finalist, default, baseline");
  json["outcome"] = "measured";
  json["config"] = 3;
  CHECK(fault(json) == "line 2 of j: field 'config' must be an object, but is number");
  CHECK(fault(Json(3)) == "line 2 of j: must be an object, but is number");
}
