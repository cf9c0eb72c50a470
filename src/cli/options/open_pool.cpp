// open_pool.cpp - hands cache and search paths to the pool.
#include "cli/options/open_pool.hpp"

namespace fatune::cli {

Result<CompilePool> open_pool(const Settings& settings) {
  PoolOptions options;
  options.cache = settings.cache;
  options.search = settings.search;
  return CompilePool::start(options);
}

}  // namespace fatune::cli
