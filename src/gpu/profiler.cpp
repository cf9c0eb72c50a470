// profiler.cpp - the driver's two calls that bound a profiler's range.
#include "gpu/profiler.hpp"

#include <string>

#include <cuda.h>

#include "gpu/call.hpp"
#include "gpu/driver.hpp"
#include "gpu/library.hpp"

namespace fatune::gpu {
namespace {

using RangeCall = CUresult (*)();

Status call(const char* symbol) {
  FATUNE_TRY(const Library library, Library::open({driver().path}));
  const auto function = library.function<RangeCall>(symbol);
  if (function == nullptr)
    return environment_error(library.path() + " has no " + symbol + ": the driver is too old");
  return check(function(), std::string("cannot call ") + symbol);
}

}  // namespace

Status start_profiler_range() { return call("cuProfilerStart"); }
Status stop_profiler_range() { return call("cuProfilerStop"); }

}  // namespace fatune::gpu
