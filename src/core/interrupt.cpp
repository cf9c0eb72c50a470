// interrupt.cpp: Sets a flag on SIGINT, SIGTERM or SIGHUP; a second signal ends the process.
#include "core/interrupt.hpp"

#include <atomic>

#include <signal.h>
#include <unistd.h>

namespace fatune {
namespace {

std::atomic<bool> flag = false;
std::atomic<bool> ends_at_once = false;
static_assert(std::atomic<bool>::is_always_lock_free, "the handler may only use lock-free atomics");

extern "C" void note_interrupt(int) {
  if (flag.exchange(true) || ends_at_once) ::_exit(130);
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // SIGHUP comes from a closed terminal or a lost connection; under nohup it stays ignored.
  struct sigaction before {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

bool interrupted() noexcept { return flag; }

void end_on_interrupt() noexcept {
  ends_at_once = true;
  if (flag) ::_exit(130);
}

void request_interrupt() noexcept { flag = true; }
void clear_interrupt() noexcept { flag = false; }

}  // namespace fatune
