// compile_service.hpp - the compile pool as the evaluator sees it; tests put a fake in its place.
#pragma once

#include <chrono>
#include <vector>

#include "tune/compile/pool.hpp"

namespace fatune {

class CompileService {
 public:
  virtual ~CompileService() = default;
  virtual Ticket submit(const CompileRequest& request) = 0;
  virtual bool ready(Ticket ticket) const = 0;
  virtual Compiled take(Ticket ticket) = 0;
  /// Compile processes that have nothing to do and nothing waiting for them.
  virtual std::size_t idle() const = 0;
  /// Forgets a request; a compilation under way is ended.
  virtual void cancel(Ticket ticket) = 0;
  virtual Status pump(std::chrono::milliseconds patience) = 0;
  virtual std::vector<int> descriptors() const = 0;
};

/// Pumps until the ticket is ready, and takes it.
Result<Compiled> wait_for(CompileService& service, Ticket ticket);

/// The real one.
class PoolService : public CompileService {
 public:
  explicit PoolService(CompilePool pool) : pool_(std::move(pool)) {}
  Ticket submit(const CompileRequest& request) override { return pool_.submit(request); }
  bool ready(Ticket ticket) const override { return pool_.ready(ticket); }
  Compiled take(Ticket ticket) override { return pool_.take(ticket); }
  std::size_t idle() const override { return pool_.idle(); }
  void cancel(Ticket ticket) override { pool_.cancel(ticket); }
  Status pump(std::chrono::milliseconds patience) override { return pool_.pump(patience); }
  std::vector<int> descriptors() const override { return pool_.descriptors(); }
  const CompilePool& pool() const { return pool_; }

 private:
  CompilePool pool_;
};

}  // namespace fatune
