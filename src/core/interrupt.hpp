// interrupt.hpp: Declares the flag that Ctrl-C, SIGTERM and SIGHUP set.
#pragma once

namespace fatune {

void install_interrupt_handler();  ///< a second signal ends the process with code 130
bool interrupted() noexcept;
/// From now on the first signal ends the process with exit code 130. For work that keeps nothing.
void end_on_interrupt() noexcept;
void request_interrupt() noexcept;  ///< acts as Ctrl-C; for tests
void clear_interrupt() noexcept;

}  // namespace fatune
