// The error of a process that works together with others, when another one fails.
#pragma once

#include <string>

#include "core/errors.hpp"

namespace strobe {

/// Another process failed, which reports its own error. `what()` begins with its rank.
class OtherRankFailed final : public SystemError {
 public:
  OtherRankFailed(std::size_t rank, const std::string& how)
      : SystemError("rank " + std::to_string(rank) +
                    (how.empty() ? " ended before the others had planned" : ": " + how)) {}
};

}  // namespace strobe
