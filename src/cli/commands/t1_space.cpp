// t1_space.cpp - prints the parameters of a T1 file and how many configs each condition leaves.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/commands/documents.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"
#include "out/text/table.hpp"
#include "search/datasets/spaces.hpp"

namespace fatune::cli {
namespace {

SpaceDocument document_of(const Space& space) {
  SpaceDocument document{
      document_head(),  space.kernel().manifest.name, space.raw_size(), space.size(), {},
      space.ruled_out()};
  for (const Parameter& axis : space.axes()) {
    ListedParameter& parameter = document.parameters.emplace_back();
    parameter.name = axis.name;
    for (const Value& value : axis.values) parameter.values.push_back(to_json(value));
  }
  return document;
}

std::string space_text(const Space& space, std::size_t columns) {
  Table axes({{"parameter"}, {"values"}});
  for (const Parameter& axis : space.axes()) {
    std::vector<std::string> values;
    for (const Value& value : axis.values) values.push_back(describe(value));
    axes.add({axis.name, join(values, " ")});
  }
  Table rules({{"ruled out", Align::kRight}, {"condition"}});
  for (const RuledOut& rule : space.ruled_out()) rules.add({fmt::to_string(rule.points), rule.why});
  return fmt::format("{}: {} of {} configs are valid\n\n{}{}", space.kernel().manifest.name,
                     space.size(), space.raw_size(), axes.text(columns),
                     rules.empty() ? "" : "\n" + rules.text(columns));
}

}  // namespace

Result<int> show_t1_space(const std::string& path, const Settings& settings) {
  FATUNE_TRY(const Space space, read_t1_space(path));
  if (settings.json) {
    print_json(to_json(document_of(space)));
  } else {
    print(space_text(space, settings.paint.columns()));
  }
  return kDone;
}

}  // namespace fatune::cli
