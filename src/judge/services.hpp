// services.hpp: Declares everything that the judge offers, in one table for every dialect.
#pragma once

#include "judge/protocol/services.hpp"
#include "judge/referee/referee.hpp"

namespace fatune {

/// The referee must outlive the services.
Services judge_services(Referee& referee);

/// The referee must outlive the tools.
Toolbox judge_tools(Referee& referee);

}  // namespace fatune
