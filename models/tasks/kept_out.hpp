// An inductive split of events. Some vertices that validation or test will ask about are kept out of training, with
// every training event that touches one of them. The model's weights have then never seen such a vertex (Rossi et al.,
// Temporal Graph Networks, 2020; DyGLib).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/tasks/event_candidates.hpp"
#include "workloads/continuous/time_split.hpp"

namespace strobe {

/// In front of the names of metrics that are taken over the events with a kept-out end.
inline constexpr const char* inductive_prefix = "inductive_";

/// A flag of every vertex [N]: 1 = kept out. Empty: none is.
using VertexFlags = std::vector<char>;

/// The training events that are left, as a graph of their own over the same N vertices.
struct TrainedEvents {
  /// Ends, times, weights and labels of the events, numbered from 0. Features are not copied: the whole graph has those
  /// of an event, stored or generated, under its number there.
  std::shared_ptr<const EventGraph> graph;
  Column<EdgeId> numbers;  // [E'] numbers in the whole graph, ascending
  /// Draws of training, by the events' numbers in `graph`: removed events change no draw.
  std::shared_ptr<const EventCandidates> candidates;
};

/// Draws floor(`share` N) vertices to be kept out, uniformly by `seed` among the vertices of validation and test
/// events; N counts the vertices that have an event. Throws InvalidRequest("/task/kept_out", ...) when that is none, or
/// more than there are to draw from.
VertexFlags draw_kept_out(const EventGraph& graph, const TimeSplit& split, double share, std::uint64_t seed);

/// Whether an end of `event` is kept out.
bool is_inductive(const EventGraph& graph, std::span<const char> kept_out, EdgeId event);

/// How many of the events [first, last) are inductive.
std::int64_t count_inductive(const EventGraph& graph, std::span<const char> kept_out, EdgeId first, EdgeId last);

/// The training events of `graph` that touch no kept-out vertex. Their negatives are drawn from vertices that are not
/// kept out. With `negatives` any these are the vertices of a remaining event, of training or later; otherwise the
/// targets of these events. Throws InvalidRequest("/task/kept_out", ...) when no event is left, or fewer than two
/// vertices could be drawn. Cost: O(N + E).
TrainedEvents events_left(const EventGraph& graph, const TimeSplit& split, const VertexFlags& kept_out,
                          const std::string& negatives, std::uint64_t seed);

}  // namespace strobe
