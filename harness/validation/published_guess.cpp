// Returns medians of what is printed; invariant: a value has no part in its own guess. Cost: O(n^2 log n) for n values.
#include "harness/validation/published_guess.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "harness/validation/agreement_statistics.hpp"
#include "results/row/statistics.hpp"

namespace strobe {
namespace {

/// "system=ADT" of "system=ADT model=T-GCN"; "" where the row names no system.
std::string_view system_of(const PublishedValue& value) {
  const std::string_view row = value.row;
  const std::size_t begin = row.find("system=");
  return begin == row.npos ? std::string_view() : row.substr(begin, row.find(' ', begin) - begin);
}

bool is_guessed(const PublishedValue& value) {
  return value.quantity.ends_with("_seconds") && value.printed && value.has_case() && !value.at_most;
}

bool same_system(const PublishedValue& a, const PublishedValue& b) {
  return a.experiment == b.experiment && a.column == b.column && a.quantity == b.quantity &&
         system_of(a) == system_of(b);
}

}  // namespace

void take_guesses(PublishedPaper& paper) {
  for (PublishedValue& value : paper.values) {
    if (!is_guessed(value)) continue;
    std::vector<double> others;
    for (const PublishedValue& other : paper.values) {
      if (&other != &value && is_guessed(other) && same_system(value, other)) others.push_back(*other.printed);
    }
    if (others.empty()) continue;
    value.guess = median(std::move(others));
    value.guess_error = relative_error(*value.guess, *value.printed);
  }
}

}  // namespace strobe
