// Processor time of this process, for what planning takes: unlike the wall's clock it does not count what others do on
// a busy machine.
#pragma once

#include <ctime>

namespace strobe {

/// Says how much processor time all threads of the process have spent since it was asked before, or made.
class ProcessorLaps {
 public:
  double lap() {
    const double now = processor_seconds(), spent = now - before_;
    before_ = now;
    return spent;
  }

 private:
  static double processor_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  double before_ = processor_seconds();
};

}  // namespace strobe
