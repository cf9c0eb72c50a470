// with_settings.cpp - the first and the last step of a command.
#include "cli/options/with_settings.hpp"

#include "cli/exit_code.hpp"

namespace fatune::cli {

int with_settings(const CommonArgs& args, const std::function<Result<int>(const Settings&)>& body) {
  const auto settings = resolve(args);
  if (!settings) return fail(settings.error());
  const auto code = body(*settings);
  return code ? *code : fail(code.error());
}

}  // namespace fatune::cli
