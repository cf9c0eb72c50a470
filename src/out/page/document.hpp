// document.hpp - a page's JSON to one self-contained HTML file.
#pragma once

#include <string>

#include "core/json.hpp"

namespace fatune {

enum class PageMode {
  kFile,  ///< never asks for anything
  kLive   ///< asks the server that it came from for newer data
};

/// Template, style, scripts, D3 and the data in one text. It loads nothing from elsewhere, and says
/// so to the browser (Content-Security-Policy). Whatever the data's strings hold, they stay
/// strings.
std::string page_html(const Json& data, const std::string& title, PageMode mode);

/// Text between tags or in a quoted attribute.
std::string escape_html(const std::string& text);
/// A JSON text that can stand inside <script>: no "</script>", no "<!--".
std::string escape_script(std::string json);

}  // namespace fatune
