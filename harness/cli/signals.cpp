#include "harness/cli/signals.hpp"

#include <signal.h>

#include "core/interrupt.hpp"

namespace strobe {
namespace {

void note_signal(int signal) { stop_signal().store(signal); }

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace strobe
