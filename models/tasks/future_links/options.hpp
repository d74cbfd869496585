// The options of the task `future-links`, the same for models of events and for models of snapshots.
#pragma once

#include <cstdint>
#include <string>

#include "core/fields.hpp"
#include "models/tasks/event_candidates.hpp"

namespace strobe {

struct FutureLinksOptions {
  std::string candidates = "49";
  std::string ties = "average";
  std::int64_t batch = 200;
  std::string split = "70/15/15";
  std::string negatives = "auto";
  std::string evaluation_negatives = "random";
  std::string links = "all";
  std::string self_pairs = "allowed";
  std::int64_t negative_groups = 10;
  std::int64_t training_negatives = 1;
  double kept_out = 0;
  std::string score_with = "last_complete_step";
  std::string protocol = "none";
  std::string negatives_file;
  std::string history = "batch";
  std::int64_t pair_history = 0;
};

const FieldTable& future_links_fields();

/// The options that a task's parameters say, with those that their protocol fixes. Throws InvalidRequest("/task/...").
FutureLinksOptions future_links_options(const Json& parameters);

/// The candidates of events on `graph`, which must outlive the result. Throws InvalidRequest("/task/negatives", ...).
EventCandidates event_candidates(const EventGraph& graph, const FutureLinksOptions& options, const TimeSplit& split,
                                 std::uint64_t seed);

/// [E] 1 of the events that are judged where these are only some; else empty. Throws InvalidRequest("/task/links", ...)
/// when no test event is.
std::vector<char> judged_flags(const EventGraph& graph, const FutureLinksOptions& options, const TimeSplit& split);

/// Candidates in addition to the true destination; -1 for all. Throws InvalidRequest("/task/candidates", ...).
std::int64_t candidate_count(const std::string& text);

}  // namespace strobe
