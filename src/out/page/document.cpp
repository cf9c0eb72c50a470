// document.cpp - fills the places of src/out/page/html/page.html.
#include "out/page/document.hpp"

#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/check.hpp"
#include "core/embedded.hpp"

namespace fatune {
namespace {

constexpr std::string_view kHtml = "src/out/page/html/";
constexpr std::string_view kD3 = "third_party/d3/d3.min.js";
constexpr std::string_view kD3Licence = "third_party/d3/LICENSE";
/// In this order: each may use those before it.
constexpr const char* kScripts[] = {"model.js",    "frame.js",  "bars.js",
                                    "search.js",   "matter.js", "hardware.js",
                                    "overview.js", "table.js",  "page.js"};

std::string_view embedded_text(std::string_view path) {
  for (const EmbeddedFile& file : embedded_page_files()) {
    if (file.path == path) return file.text;
  }
  FATUNE_CHECK(false, "the page's files are embedded when the program is built");
  return {};
}

std::string_view part(const char* name) { return embedded_text(std::string(kHtml) + name); }

std::string scripts(PageMode mode) {
  std::string text = "<script>";
  text += embedded_text(kD3);
  text += "</script>\n<script>\n'use strict';\n";
  for (const char* name : kScripts) text += part(name);
  if (mode == PageMode::kLive) text += part("live.js");
  return text + "</script>";
}

struct Place {
  std::string_view mark;
  std::string text;
};

/// One pass over the template, so that a mark inside what is filled in means nothing.
std::string fill(std::string_view page, const std::vector<Place>& places) {
  std::string text;
  while (!page.empty()) {
    std::size_t nearest = page.size();
    const Place* next = nullptr;
    for (const Place& place : places) {
      const std::size_t at = page.find(place.mark);
      if (at < nearest) {
        nearest = at;
        next = &place;
      }
    }
    text += page.substr(0, nearest);
    if (next == nullptr) break;
    text += next->text;
    page.remove_prefix(nearest + next->mark.size());
  }
  return text;
}

}  // namespace

std::string escape_html(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string escape_script(std::string json) {
  std::string escaped;
  escaped.reserve(json.size());
  for (const char c : json) {
    // Only strings can hold it, and there this is the same character.
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string page_html(const Json& data, const std::string& title, PageMode mode) {
  return fill(part("page.html"),
              {{"{{title}}", escape_html(title)},
               {"{{connect}}", mode == PageMode::kLive ? "'self'" : "'none'"},
               {"{{style}}", std::string(part("style.css"))},
               {"{{data}}", escape_script(dump(data))},
               {"{{scripts}}", scripts(mode)},
               {"{{licence}}", escape_html(std::string(embedded_text(kD3Licence)))}});
}

}  // namespace fatune
