// precompiled_tests.hpp: Includes the headers that test files use most, for precompilation.
#pragma once

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "../../cmake/precompiled.hpp"
