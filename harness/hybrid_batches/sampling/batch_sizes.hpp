// Sizes of hybrid batches: as options, and as numbers on a rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strobe {

/// A share of something countable, or a number: "5%" or "200".
struct BatchShare {
  double percent = 0;       // if it is a share
  std::int64_t number = 0;  // if it is a number
  bool is_share = true;
  std::string text;

  /// The number nearest to the share of `all`, or the number itself. Throws InvalidRequest(pointer, ...) if that is
  /// none of `what`, or more than `all`.
  std::int64_t of(std::int64_t all, const std::string& what, const std::string& pointer) const;
};

/// Throws InvalidRequest(pointer, ...) for other text, and for shares above 100 %.
BatchShare parse_share(const std::string& text, const std::string& pointer);

/// Several of them, separated by /.
std::vector<BatchShare> parse_shares(const std::string& text, const std::string& pointer);

/// Iterations or seconds from one averaging to the next.
struct AveragingInterval {
  std::int64_t iterations = 0;  // 0: `seconds` counts
  double seconds = 0;
};

/// "10" or "2s" ("500ms"). Throws InvalidRequest(pointer, ...) for other text and for zero.
AveragingInterval parse_interval(const std::string& text, const std::string& pointer);

}  // namespace strobe
