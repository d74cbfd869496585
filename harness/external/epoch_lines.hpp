// The protocol by which another program states its epochs: one JSON object a line, on standard output or in a file.
//
//   {"epoch_seconds": 0.81, "loss": 0.52, "metrics": {"mrr": 0.31}, "edges": 51000, "updates": 1}
//
// Only "epoch_seconds" is required. A loss or metric may be null, which is NaN. "cells", "edges", "events" and
// "updates" are the work of the epoch over all ranks. "rank" makes the line that of one rank; without it the line holds
// for all of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/row/sample.hpp"

namespace strobe {

/// Every count that a line may state for the work of an epoch.
inline constexpr const char* stated_counts[] = {"cells", "edges", "events", "updates"};

/// The beginning of a line for a message, with every byte that is no text as \\xNN.
std::string shown_words(const std::string& line);

/// One epoch as a program stated it. `seconds` by rank.
struct StatedEpoch {
  std::map<int, double> seconds;
  std::optional<double> loss;
  std::map<std::string, double> metrics;
  std::map<std::string, double> work;  // of stated_counts

  bool operator==(const StatedEpoch&) const = default;
};

/// Collects epochs from lines, in order.
class StatedEpochs {
 public:
  explicit StatedEpochs(std::int64_t ranks) : ranks_(ranks), next_(static_cast<std::size_t>(ranks), 0) {}

  /// Takes a line of standard output. One without "epoch_seconds" is no line of the protocol. Throws Error when the
  /// line is wrong; the message has the line and says what to write instead.
  void take_output(const std::string& line);
  /// Takes a line of the file of the protocol, where every line is an epoch. Throws Error.
  void take_file(const std::string& line);

  /// The epochs that all ranks have stated, from the first on.
  const std::vector<StatedEpoch>& finished() const { return finished_; }

 private:
  void take(const std::string& line);
  void add(int rank, const StatedEpoch& stated);
  void check_keys(const StatedEpoch& epoch) const;

  std::int64_t ranks_;
  std::vector<std::size_t> next_;   // by rank, the epoch that its next line is about
  std::vector<StatedEpoch> begun_;  // after the finished ones
  std::vector<StatedEpoch> finished_;
};

/// One sample for each epoch and rank. The time of an epoch is all that is known.
std::vector<EpochSample> samples_of_stated(const std::vector<StatedEpoch>& epochs, std::int64_t warmup);

/// Fills in losses, metrics and the work of an epoch.
void take_stated(const std::vector<StatedEpoch>& epochs, std::int64_t warmup, CaseResult& result);

}  // namespace strobe
