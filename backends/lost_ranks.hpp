// The end of a world of processes of which some are gone.
#pragma once

#include <string>

#include "core/errors.hpp"

namespace strobe {

/// Ranks of other processes are gone or do not answer any more, so nothing can be run with them again.
class RanksLost : public Error {
 public:
  /// `speaks`: this process has the lowest rank of those that are left, so the user hears of it from here.
  RanksLost(const std::string& message, bool speaks) : Error(message), speaks_(speaks) {}
  bool speaks() const { return speaks_; }

 private:
  bool speaks_;
};

}  // namespace strobe
