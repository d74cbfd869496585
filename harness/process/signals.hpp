// The user's request to stop, from the terminal or a job scheduler.
#pragma once

namespace strobe {

/// Installs handlers: SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGXCPU set `stop_signal()`. The first signal asks
/// the work to stop and to keep finished results. A second one ends the program at once. Signals that only schedulers
/// send stay ignored if they were ignored when the program began, such as SIGHUP under nohup.
void install_signal_handlers();

/// For the time before `install_signal_handlers`, and for commands that keep nothing: the same signals end the program
/// as they do without a handler, after its unfinished files are removed.
void leave_nothing_unfinished();

/// After this call, the program reports a mapped file that another program truncates: it ends with status 2 and a line
/// that names the file. SIGBUS alone would not name it.
void name_files_that_are_cut();

/// While an object exists, the first signal ends the program at once with status 128 + signal. For work that does not
/// look at `stop_signal()`, such as a partitioner that takes minutes, and only while nothing is written. The
/// constructor throws Interrupted after a signal. Only one object may exist at a time.
class SignalsEndAtOnce {
 public:
  SignalsEndAtOnce();
  ~SignalsEndAtOnce();
  SignalsEndAtOnce(const SignalsEndAtOnce&) = delete;
  SignalsEndAtOnce& operator=(const SignalsEndAtOnce&) = delete;
};

/// While an object that is `wanted` exists, the first signal sets `stop_after_epoch()` instead. Training then continues
/// to the end of its epoch, or until `epoch_patience_milliseconds()` have passed. Signals that came too late for that
/// are in `stop_signal()` afterwards. Only one object may exist at a time.
class SignalsEndEpochs {
 public:
  explicit SignalsEndEpochs(bool wanted);
  ~SignalsEndEpochs();
  SignalsEndEpochs(const SignalsEndEpochs&) = delete;
  SignalsEndEpochs& operator=(const SignalsEndEpochs&) = delete;
};

}  // namespace strobe
