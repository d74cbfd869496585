// Returns the draws of a row: its predicted times in clusters whose uncertain constants were drawn within their bands.
// An epoch lasts as long as its slowest rank, draw by draw; a row has the median over its measured epochs. Cost:
// O(samples x draws).
#include <algorithm>
#include <cmath>
#include <map>

#include "results/row/epoch_ranks.hpp"
#include "results/row/row.hpp"
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
    if (!row.epoch_seconds) return;
    row.absent["/time_draws"] = row.time_source == "virtual" ? "the case asks for no draws" : "the time is measured";
    return;
  }
  row.time_draws = TimeDraws{result.draws_of, std::move(epochs), std::nullopt};
  if (result.until && std::isfinite(result.until->seconds))
    row.time_draws->until_seconds = first_training(result);
  else
    row.absent["/time_draws/until_seconds"] = result.until ? "see /until_seconds" : "the case has no until";
}

}  // namespace strobe
