// The end of a world of processes when some of them are gone.
#pragma once

#include <string>

#include "core/errors.hpp"

namespace strobe {

/// Ranks of other processes are gone or no longer answer, so nothing can be run with them again.
class RanksLost : public Error {
 public:
  /// `speaks`: this process has the lowest remaining rank, so it reports the loss to the user.
  RanksLost(const std::string& message, bool speaks) : Error(message), speaks_(speaks) {}
  bool speaks() const { return speaks_; }

 private:
  bool speaks_;
};

}  // namespace strobe
