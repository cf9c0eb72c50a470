// interrupt.hpp - Ctrl-C, SIGTERM and SIGHUP as a flag that loops look at.
#pragma once

namespace fatune {

void install_interrupt_handler();  ///< second signal ends the process at once with code 130
bool interrupted() noexcept;
void request_interrupt() noexcept;  ///< as if Ctrl-C had come; for tests
void clear_interrupt() noexcept;

}  // namespace fatune
