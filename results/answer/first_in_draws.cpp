#include "results/answer/first_in_draws.hpp"

#include <fmt/format.h>

#include <cmath>

namespace strobe {

std::vector<double> times_first(const std::vector<const std::vector<double>*>& seconds) {
  std::vector<double> first(seconds.size(), 0);
  const std::size_t draws = seconds.empty() ? 0 : seconds.front()->size();
  for (std::size_t d = 0; d < draws; ++d) {
    std::vector<std::size_t> least;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      if (!least.empty() && (*seconds[i])[d] > (*seconds[least.front()])[d]) continue;
      if (!least.empty() && (*seconds[i])[d] < (*seconds[least.front()])[d]) least.clear();
      least.push_back(i);
    }
    for (const std::size_t i : least) first[i] += 1.0 / static_cast<double>(least.size());
  }
  return first;
}

std::string draws_text(double first, std::size_t draws) {
  const double whole = std::round(first);
  const bool is_whole = std::abs(first - whole) < 1e-9;
  const std::string count = is_whole ? fmt::format("{:.0f}", whole) : fmt::format("{:.1f}", first);
  return draws == 0 ? "in " + count : fmt::format("in {} of {} draw{}", count, draws, draws == 1 ? "" : "s");
}

}  // namespace strobe
