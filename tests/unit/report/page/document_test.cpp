// document_test.cpp: Tests that a page is one file that loads nothing, whatever its data.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "report/page/report_page.hpp"

namespace fatune {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("strings of the data stay strings") {
  const Json data = {{"runs", Json::array()},
                     {"name", "</script><script>alert(1)</script><!-- {{scripts}}"}};
  const std::string page = page_html(data, "<b>\"title\" & more</b>", PageMode::kFile);
  CHECK_FALSE(holds(page, "alert(1)</script>"));
  CHECK(holds(page, R"(\u003c/script>\u003cscript>alert(1)\u003c/script>\u003c!-- {{scripts}})"));
  CHECK(holds(page, "<title>&lt;b&gt;&quot;title&quot; &amp; more&lt;/b&gt;</title>"));
}

TEST_CASE("a document has a page without the machine that it names") {
  const std::string page = document_page({{"schema", "fatune.evolution/1"},
                                          {"command", "fatune report /somewhere/run"},
                                          {"device", {{"name", "NVIDIA H200"}, {"uuid", "GPU-1"}}}},
                                         "t");
  CHECK(holds(page, R"("device":{"name":"NVIDIA H200"})"));
  CHECK(holds(page, R"("command":"fatune report run")"));
  CHECK_FALSE(holds(page, "GPU-1"));
}

TEST_CASE("nothing is loaded from elsewhere, and the browser is told so") {
  const std::string page = page_html({{"runs", Json::array()}}, "t", PageMode::kFile);
  CHECK_FALSE(holds(page, " src="));
  CHECK_FALSE(holds(page, "@import"));
  CHECK(holds(page, "default-src 'none'"));
  CHECK(holds(page, "connect-src 'none'"));
  CHECK_FALSE(holds(page, "data.json"));
  CHECK(holds(page, "Copyright 2010-2023 Mike Bostock"));
  CHECK_FALSE(holds(page, "{{"));
}

TEST_CASE("a live page may ask its own server") {
  const std::string page = page_html({{"runs", Json::array()}}, "t", PageMode::kLive);
  CHECK(holds(page, "connect-src 'self'"));
  CHECK(holds(page, "data.json"));
}

}  // namespace
}  // namespace fatune
