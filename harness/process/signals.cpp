#include "harness/process/signals.hpp"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "core/errors.hpp"
#include "core/system/interrupt.hpp"
#include "workloads/storage/mapping_watch.hpp"
#include "workloads/storage/unfinished_file.hpp"

namespace strobe {
namespace {

std::atomic<bool> end_at_once{false}, finish_epoch{false};

/// Uses only functions that a signal handler may call. The message is lost if standard error is gone.
void say_in_handler(std::string_view words) {
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, words.data(), words.size());
}

/// Sends SIGALRM to this process once, after this number of milliseconds. 0 cancels it.
void ring_after(std::int64_t milliseconds) {
  itimerval timer{};
  timer.it_value.tv_sec = milliseconds / 1000;
  timer.it_value.tv_usec = milliseconds % 1000 * 1000;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

/// Called when the epoch did not end in its time. If the epoch has ended, it does nothing.
void lose_patience(int) {
  if (epoch_patience_milliseconds().load() == 0) return;
  if (stop_signal().load() == 0) stop_signal().store(stop_after_epoch().load());
}

[[noreturn]] void end_in_handler(int signal) {
  remove_unfinished_files();
  _exit(128 + signal);
}

void note_signal(int signal) {
  const bool second = stop_signal().load() != 0 || stop_after_epoch().load() != 0;
  if (second) end_in_handler(signal);
  (finish_epoch.load() ? stop_after_epoch() : stop_signal()).store(signal);
  if (finish_epoch.load() && epoch_patience_milliseconds().load() > 0) ring_after(epoch_patience_milliseconds().load());
  if (!end_at_once.load()) return;
  say_in_handler("strobe: interrupted while a case was planned; finished cases are kept\n");
  end_in_handler(signal);
}

/// Ends the program by the signal, as its parent process expects, and removes half-written files first.
void end_cleanly(int signal) {
  remove_unfinished_files();
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  raise(signal);  // blocked until the handler returns
}

void tell_of_cut_file(int signal, siginfo_t* info, void*) {
  const char* const path = mapped_file_at(info->si_addr);
  if (path == nullptr) {  // some other fault: it happens again on return, and ends the program
    ::signal(signal, SIG_DFL);
    return;
  }
  say_in_handler("strobe: ");
  say_in_handler(path);
  say_in_handler(": another program cut this file while Strobe read it; run again\n");
  constexpr int wrong_input = 2;
  remove_unfinished_files();
  _exit(wrong_input);
}

/// A shell starts background programs with SIGINT ignored. A user who sends it explicitly still wants to stop the
/// program.
bool is_for_good(int signal) { return signal != SIGINT && signal != SIGTERM; }

/// Which ignored signals stay ignored: all, or only those that are ignored for good.
enum class Ignored : std::uint8_t { all, for_good };

void handle_with(void (*handler)(int), Ignored stay) {
  struct sigaction action {};
  action.sa_handler = handler;
  for (const int signal : signals_that_stop) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN && (stay == Ignored::all || is_for_good(signal))) continue;
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace

void install_signal_handlers() { handle_with(note_signal, Ignored::for_good); }

void leave_nothing_unfinished() { handle_with(end_cleanly, Ignored::all); }

void name_files_that_are_cut() {
  struct sigaction action {};
  action.sa_sigaction = tell_of_cut_file;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

SignalsEndAtOnce::SignalsEndAtOnce() {
  end_at_once.store(true);
  const int before = stop_signal().load();  // read after the store, so that no signal is lost in between
  if (before == 0) return;
  end_at_once.store(false);
  throw Interrupted(before);
}

SignalsEndAtOnce::~SignalsEndAtOnce() { end_at_once.store(false); }

SignalsEndEpochs::SignalsEndEpochs(bool wanted) {
  struct sigaction action {};
  action.sa_handler = lose_patience;
  if (wanted) sigaction(SIGALRM, &action, nullptr);
  finish_epoch.store(wanted);
}

SignalsEndEpochs::~SignalsEndEpochs() {
  finish_epoch.store(false);
  ring_after(0);
  const int late = stop_after_epoch().exchange(0);
  if (late != 0) stop_signal().store(late);
}

}  // namespace strobe
