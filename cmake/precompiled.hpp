// precompiled.hpp - the headers that cost most, compiled once for all wings and never included by name.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

// Json's members are compiled in core/json.cpp alone.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
