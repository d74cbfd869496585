// The user's wish to stop, from the terminal or a job scheduler.
#pragma once

namespace strobe {

/// SIGINT and SIGTERM set `stop_signal()`: the first one asks the work to stop and keep what is finished; a second one
/// ends the program at once.
void install_signal_handlers();

}  // namespace strobe
