// Negatives that the Temporal Graph Benchmark (Huang et al., NeurIPS 2023) stores for its validation and test events,
// as `python -m strobe.tgb_negatives` writes them: an .npz archive of plain arrays. Query q asks for the destination of
// source[q] at time[q], and target[q] is the true one. Its negatives are negatives[first[q]], ...,
// negatives[first[q + 1] - 1].
//   source, target  i4 or i8 [Q]   ids as TGB numbers vertices, which are the ids of formats tgb and jodie
//   time            f8 [Q]         ascending; then source and target ascend
//   first           i8 [Q + 1]
//   negatives       i4 or i8 [M]
#pragma once

#include <memory>
#include <string>

#include "models/tasks/given_candidates.hpp"
#include "workloads/continuous/time_split.hpp"

namespace strobe {

/// The negatives in `path` for the validation and test events of `graph`, which must outlive the result. Events with
/// the same source, target and time share a query. The k-th distinct time of these events is the k-th distinct time of
/// the queries, and the two may be a day apart: TGB turned dates into the local time of the machine that drew the
/// negatives. Arrays are views of the mapped file. Throws InvalidInput for a file that has not this form, and
/// InvalidRequest("/task/negatives_file", ...) when an event has no query, when a query belongs to no event, or when a
/// negative is no vertex of the graph or the event's own destination. Cost: O(E log Q + M).
std::shared_ptr<const GivenCandidates> stored_negatives(const std::string& path, const EventGraph& graph,
                                                        const TimeSplit& split);

}  // namespace strobe
