// Values that tests read from a case's result.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/request/case.hpp"

namespace strobe::test {

/// Bytes that all ranks sent for `traffic` in the second epoch of the first repetition.
inline std::uint64_t epoch_bytes(const CaseResult& result, Traffic traffic) {
  std::uint64_t bytes = 0;
  for (const EpochSample& sample : result.samples) {
    if (sample.repetition == 0 && sample.epoch == 1) bytes += sample.sent_bytes[traffic];
  }
  return bytes;
}

}  // namespace strobe::test
