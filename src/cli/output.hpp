// output.hpp - the only way results reach stdout, and the files that they will go to.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/results/document.hpp"

namespace fatune::cli {

void print(std::string_view text);   ///< adds a newline when there is none
void print_json(const Json& value);  ///< one indented document
/// Keeps what was typed, for the heads of documents, and whether --json is among it: so that an
/// error, too, is answered by a document. Comes before anything is printed.
void keep_words(const std::vector<std::string>& words);
bool wants_json();
/// Of the document that answers what was typed.
DocumentHead document_head(bool recorded = false);
/// Files as typed, empty for none: fails when one cannot be written, before anything is measured.
Status check_files(std::initializer_list<std::string> files);

}  // namespace fatune::cli
