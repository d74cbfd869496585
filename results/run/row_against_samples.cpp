// `summarise` makes the row again from its own facts and the samples, so that keys of one meaning have one computation.
#include "results/run/row_against_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "results/row/rounds.hpp"
#include "results/run/run_directory.hpp"

namespace strobe {
namespace {

/// Keys that are computed from samples alone.
constexpr const char* sampled_keys[] = {"epoch_seconds",     "phase_seconds",   "hidden_communicate_seconds",
                                        "operation_seconds", "operation_flops", "operation_bytes",
                                        "sent_bytes",        "transfer_bytes",  "messages",
                                        "peak_bytes",        "imbalance",       "memory_bytes",
                                        "time_draws"};

/// With `interval`, the interval of the median is included; a row of rounds has that of their spread instead.
Json sampled_values(const Row& row, bool interval) {
  const Json json = row_to_json(row);
  Json values = Json::object();
  for (const char* key : sampled_keys) values[key] = json.at(key);
  if (!interval)
    for (const char* key : {"ci95_low", "ci95_high"}) values["epoch_seconds"].erase(key);
  return values;
}

bool says_samples_are_gone(const Row& row) {
  return std::find(row.notes.begin(), row.notes.end(), no_samples_note) != row.notes.end();
}

/// Epochs before a checkpoint that was continued have losses and no samples, never the other way round.
std::string fault_of_losses(const Row& row, const std::vector<EpochSample>& samples) {
  if (!row.loss) return "";
  int last = -1;
  for (const EpochSample& sample : samples)
    if (sample.repetition == 0) last = std::max(last, sample.epoch);
  if (last < static_cast<int>(row.loss->size())) return "";
  return fmt::format("it has {} losses, but samples of epoch {}", row.loss->size(), last);
}

/// Every rank leaves a sample of every epoch, of warm-up too.
std::string gap_in(const std::vector<EpochSample>& samples, std::int64_t ranks, bool from_start) {
  std::map<int, std::map<int, std::int64_t>> counts;  // by repetition and epoch
  for (const EpochSample& sample : samples) ++counts[sample.repetition][sample.epoch];
  for (const auto& [repetition, epochs] : counts) {
    int next = from_start ? 0 : epochs.begin()->first;
    for (const auto& [epoch, count] : epochs) {
      if (epoch != next) return fmt::format("repetition {} has no samples of epoch {}", repetition, next);
      if (count != ranks)
        return fmt::format("epoch {} of repetition {} has {} samples, but {} ranks", epoch, repetition, count, ranks);
      ++next;
    }
  }
  return "";
}

/// The first repetition with an epoch for each loss. Rounds that failed before it left fewer.
int first_whole_repetition(const Row& row, const std::vector<EpochSample>& samples) {
  std::map<int, std::set<int>> epochs;  // by repetition
  for (const EpochSample& sample : samples) epochs[sample.repetition].insert(sample.epoch);
  for (const auto& [repetition, own] : epochs)
    if (row.loss && own.size() == row.loss->size()) return repetition;
  return -1;
}

/// The time to a target is not known after a checkpoint was continued. Otherwise it is the sum of all epochs.
std::string fault_of_until_seconds(const Row& row, const std::vector<EpochSample>& samples) {
  if (!row.until || !std::isfinite(row.until->seconds)) return "";
  const double sum = training_seconds(samples, first_whole_repetition(row, samples));
  if (std::abs(sum - row.until->seconds) <= 1e-9 * sum) return "";
  return fmt::format("until_seconds is {} in the row, but {} by its samples", row.until->seconds, sum);
}

}  // namespace

double training_seconds(const std::vector<EpochSample>& samples, int repetition) {
  std::map<int, double> slowest;  // by epoch
  for (const EpochSample& sample : samples)
    if (sample.repetition == repetition) slowest[sample.epoch] = std::max(slowest[sample.epoch], sample.epoch_seconds);
  double sum = 0;
  for (const auto& [epoch, seconds] : slowest) sum += seconds;
  return sum;
}

std::string difference_from_samples(const Row& row, const std::vector<EpochSample>& samples, bool from_start) {
  if (!row.epoch_seconds || says_samples_are_gone(row)) return "";
  if (samples.empty()) return "it has times, but no samples";
  if (row.status != "ok") {
    const std::size_t epochs = complete_epochs(samples, row.ranks).size();
    if (static_cast<std::size_t>(row.epoch_seconds->n) <= epochs) return "";
    return fmt::format("it has {} measured epochs, but samples of {}", row.epoch_seconds->n, epochs);
  }
  if (const std::string gap = gap_in(samples, row.ranks, from_start); !gap.empty()) return gap;
  const Row again = summarise(case_json_of(row), row.case_id, result_of_row(row, samples));
  if (!again.epoch_seconds) return "its samples make no whole epoch";
  const JsonDifference difference =
      first_difference(sampled_values(row, !row.rounds), sampled_values(again, !row.rounds));
  if (!difference.differs) {
    const std::string fault = fault_of_losses(row, samples);
    return fault.empty() ? fault_of_until_seconds(row, samples) : fault;
  }
  return fmt::format("{} is {} in the row, but {} by its samples", difference.pointer.substr(1), difference.a,
                     difference.b);
}

}  // namespace strobe
