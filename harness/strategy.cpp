#include "harness/strategy.hpp"

#include <fmt/format.h>

namespace strobe {

void require_at_least(std::int64_t items, int ranks, const std::string& what, const std::string& strategy) {
  if (items < ranks) {
    throw InvalidRequest("/ranks",
                         fmt::format("strategy {} divides {} {} among the ranks, so it takes at most {} ranks, "
                                     "not {}",
                                     strategy, items, what, items, ranks));
  }
}

}  // namespace strobe
