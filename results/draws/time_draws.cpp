// Returns the draws of a row. An epoch lasts as long as its slowest rank, draw by draw; a row has the median over its
// measured epochs. Cost: O(samples x draws).
#include "results/draws/time_draws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "results/row/epoch_ranks.hpp"
#include "results/row/statistics.hpp"

namespace strobe {
namespace {

/// Takes the larger of both, draw by draw; an empty list is of a rank that leaves the draws to another.
void raise(const std::vector<double>& other, std::vector<double>& seconds) {
  if (seconds.empty()) seconds = other;
  for (std::size_t d = 0; d < std::min(seconds.size(), other.size()); ++d) seconds[d] = std::max(seconds[d], other[d]);
}

std::vector<double> median_epochs(const CaseResult& result, std::int64_t ranks) {
  std::vector<std::vector<double>> by_draw;
  for (const auto& [key, samples] : complete_epochs(result.samples, ranks)) {
    std::vector<double> slowest;
    for (const EpochSample* sample : samples) raise(sample->drawn_seconds, slowest);
    by_draw.resize(slowest.size());
    for (std::size_t d = 0; d < slowest.size(); ++d) by_draw[d].push_back(slowest[d]);
  }
  std::vector<double> medians;
  for (const std::vector<double>& epochs : by_draw) medians.push_back(median(epochs));
  return medians;
}

/// The epochs of the first repetition added up, as UntilOutcome::seconds.
std::vector<double> first_training(const CaseResult& result) {
  std::map<int, std::vector<double>> slowest;  // by epoch
  for (const EpochSample& sample : result.samples)
    if (sample.repetition == 0) raise(sample.drawn_seconds, slowest[sample.epoch]);
  std::vector<double> seconds;
  for (const auto& [epoch, drawn] : slowest) {
    seconds.resize(drawn.size(), 0);
    for (std::size_t d = 0; d < drawn.size(); ++d) seconds[d] += drawn[d];
  }
  return seconds;
}

}  // namespace

void take_draws(const CaseResult& result, Row& row) {
  std::vector<double> epochs = median_epochs(result, row.ranks);
  if (epochs.empty()) {
    row.absent["/time_draws"] = row.time_source == "virtual" ? "the case asks for no draws" : "the time is measured";
    return;
  }
  row.time_draws = TimeDraws{result.draws_of, std::move(epochs), std::nullopt};
  if (result.until && std::isfinite(result.until->seconds))
    row.time_draws->until_seconds = first_training(result);
  else
    row.absent["/time_draws/until_seconds"] = result.until ? "see /until_seconds" : "the case has no until";
}

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
