// The user's wish to stop, from the terminal or a job scheduler.
#pragma once

namespace strobe {

/// SIGINT and SIGTERM set `stop_signal()`: the first one asks the work to stop and keep what is finished; a second one
/// ends the program at once.
void install_signal_handlers();

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

}  // namespace strobe
