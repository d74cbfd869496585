// Sizes of hybrid batches, as options give them and as they come out on a rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strobe {

/// A share of something countable, or a number: "5%" or "200".
struct BatchShare {
  double percent = 0;       // where it is a share
  std::int64_t number = 0;  // else
  bool is_share = true;
  std::string text;

  /// Of `all`: the nearest number, or the number itself. Throws InvalidRequest(pointer, ...) where it comes to none of
  /// `what`, or to more than there are.
  std::int64_t of(std::int64_t all, const std::string& what, const std::string& pointer) const;
};

/// Throws InvalidRequest(pointer, ...) for other text, and for shares beyond 100 %.
BatchShare parse_share(const std::string& text, const std::string& pointer);

/// Several of them, with / between.
std::vector<BatchShare> parse_shares(const std::string& text, const std::string& pointer);

/// Iterations or seconds from one averaging to the next.
struct AveragingInterval {
  std::int64_t iterations = 0;  // 0: seconds say
  double seconds = 0;
};

/// "10" or "2s" ("500ms"). Throws InvalidRequest(pointer, ...) for others and for none.
AveragingInterval parse_interval(const std::string& text, const std::string& pointer);

}  // namespace strobe
