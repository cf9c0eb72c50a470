// compile_desk.hpp - where the sweeps that a rank has started ask for compilations, and get them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/channel.hpp"
#include "core/result.hpp"
#include "tune/fleet/messages.hpp"

namespace fatune {

/// Gives each order a number that no other of this rank has, and tells rank 0 of it.
class CompileDesk {
 public:
  using Tell = std::function<Status(const RankMessage&)>;
  explicit CompileDesk(Tell tell) : tell_(std::move(tell)) {}

  /// A sweep. Once it is gone nobody compiles for it. The desk must outlive it.
  class Guest {
   public:
    explicit Guest(CompileDesk& desk) : desk_(desk) {}
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;
    ~Guest();
    /// Hears what the sweep asks, and sends what there is for it; does not wait.
    Status serve(Channel& channel);

   private:
    friend class CompileDesk;
    Status take(const PoolMessage& message);

    CompileDesk& desk_;
    std::vector<CompiledMessage> answers_;
  };

  /// Of an order that nobody waits for any more, it is forgotten.
  void answer(CompiledMessage message);
  /// The ranks part: what guests still wait for is withdrawn from nobody.
  void close() { asked_.clear(); }

 private:
  struct Asked {
    Guest* guest = nullptr;
    std::int64_t number = 0;  ///< the guest's own
  };

  Tell tell_;
  std::map<std::int64_t, Asked> asked_;
  std::int64_t last_ = 0;
};

}  // namespace fatune
