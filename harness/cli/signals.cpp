#include "harness/cli/signals.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "core/errors.hpp"
#include "core/interrupt.hpp"

namespace strobe {
namespace {

std::atomic<bool> end_at_once{false}, finish_epoch{false};

/// Only what may be called in a handler; the words are lost where standard error is.
void say(std::string_view words) {
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, words.data(), words.size());
}

void note_signal(int signal) {
  const bool second = stop_signal().load() != 0 || stop_after_epoch().load() != 0;
  if (second) _exit(128 + signal);
  (finish_epoch.load() ? stop_after_epoch() : stop_signal()).store(signal);
  if (!end_at_once.load()) return;
  say("strobe: interrupted while a case was planned; finished cases are kept\n");
  _exit(128 + signal);
}

/// A shell starts what is in the background with SIGINT ignored, and a user who sends it means it all the same.
bool is_for_good(int signal) { return signal != SIGINT && signal != SIGTERM; }

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  for (const int signal : signals_that_stop) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (is_for_good(signal) && before.sa_handler == SIG_IGN) continue;
    sigaction(signal, &action, nullptr);
  }
}

SignalsEndAtOnce::SignalsEndAtOnce() {
  end_at_once.store(true);
  const int before = stop_signal().load();  // looked at after the store, so that no signal falls between
  if (before == 0) return;
  end_at_once.store(false);
  throw Interrupted(before);
}

SignalsEndAtOnce::~SignalsEndAtOnce() { end_at_once.store(false); }

SignalsEndEpochs::SignalsEndEpochs(bool wanted) { finish_epoch.store(wanted); }

SignalsEndEpochs::~SignalsEndEpochs() {
  finish_epoch.store(false);
  const int late = stop_after_epoch().exchange(0);
  if (late != 0) stop_signal().store(late);
}

}  // namespace strobe
