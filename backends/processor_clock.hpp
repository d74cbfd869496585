// Processor time of this process, used for the cost of planning. Unlike the wall clock it does not count other programs
// on a busy machine.
#pragma once

#include <ctime>

namespace strobe {

/// Measures the processor time of all threads of the process since the last call, or since construction.
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
