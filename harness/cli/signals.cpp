#include "harness/cli/signals.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "core/errors.hpp"
#include "core/interrupt.hpp"

namespace strobe {
namespace {

std::atomic<bool> end_at_once{false};

void note_signal(int signal) {
  stop_signal().store(signal);
  if (!end_at_once.load()) return;
  // Only what may be called in a handler; the words are lost where standard error is.
  constexpr std::string_view words = "strobe: interrupted while a case was planned; finished cases are kept\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, words.data(), words.size());
  _exit(128 + signal);
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

SignalsEndAtOnce::SignalsEndAtOnce() {
  end_at_once.store(true);
  const int before = stop_signal().load();  // looked at after the store, so that no signal falls between
  if (before == 0) return;
  end_at_once.store(false);
  throw Interrupted(before);
}

SignalsEndAtOnce::~SignalsEndAtOnce() { end_at_once.store(false); }

}  // namespace strobe
