// precompiled_tests.hpp - the headers that test files include most, compiled once.
#pragma once

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "../../cmake/precompiled.hpp"
