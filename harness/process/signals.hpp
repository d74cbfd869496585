// The user's wish to stop, from the terminal or a job scheduler.
#pragma once

namespace strobe {

/// SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGXCPU set `stop_signal()`: the first one asks the work to stop and
/// keep what is finished; a second one ends the program at once. One that only schedulers send stays ignored where it
/// was when the program began, as SIGHUP under nohup.
void install_signal_handlers();

/// Until then, and in commands that keep nothing: the same signals end the program as they do without a handler, once
/// its unfinished files are removed.
void leave_nothing_unfinished();

/// From now on, reading a mapped file that another program has cut ends this one with status 2 and a line that names
/// the file; SIGBUS alone would not tell it.
void name_files_that_are_cut();

/// While one lives, the first signal ends the program at once with status 128 + signal. For work that does not look at
/// `stop_signal()`, as a partitioner's that takes minutes, and only while nothing is being written. Made after a
/// signal, it throws Interrupted. One at a time.
class SignalsEndAtOnce {
 public:
  SignalsEndAtOnce();
  ~SignalsEndAtOnce();
  SignalsEndAtOnce(const SignalsEndAtOnce&) = delete;
  SignalsEndAtOnce& operator=(const SignalsEndAtOnce&) = delete;
};

/// While one lives that is `wanted`, the first signal sets `stop_after_epoch()` instead: training goes on to the end of
/// its epoch, or until `epoch_patience_milliseconds()` are over. What came in too late for that is in `stop_signal()`
/// afterwards. One at a time.
class SignalsEndEpochs {
 public:
  explicit SignalsEndEpochs(bool wanted);
  ~SignalsEndEpochs();
  SignalsEndEpochs(const SignalsEndEpochs&) = delete;
  SignalsEndEpochs& operator=(const SignalsEndEpochs&) = delete;
};

}  // namespace strobe
