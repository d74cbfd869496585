// Published protocols of future-links by name. A protocol fixes how events are split, what a destination is ranked
// among, and how metrics are averaged, so that a number compares with published ones.
//   tgb     Temporal Graph Benchmark (Huang et al., NeurIPS 2023): MRR among stored negatives, ties in the middle.
//   dyglib  DyGLib (Yu et al., Towards Better Dynamic Graph Learning, NeurIPS 2023), random negative sampling.
//   tgn     TGN (Rossi et al., 2020). It is the same as dyglib in all that is fixed here.
// The last two take one negative an event, and the mean over batches of 200 of the AP and the AUC of a batch. They keep
// 10 % of the vertices out of training. Events with a vertex that training never saw are judged once more, apart.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "models/tasks/event_task.hpp"
#include "models/tasks/future_links/options.hpp"
#include "models/tasks/metrics.hpp"

namespace strobe {

/// The task's parameters with the values that their protocol fixes, where `given` leaves them open. Throws
/// InvalidRequest(pointer + "/" + option, ...) when `given` sets an option against the protocol, and when the protocol
/// and `negatives_file` do not both say tgb. Returns `complete` as it is where it names no protocol.
Json with_protocol(const Json& given, Json complete, const std::string& pointer);

/// Whether metrics are means over batches, and events with new vertices are judged apart.
bool averages_batches(const FutureLinksOptions& options);

/// The new nodes of DyGLib and TGN: vertices with events, none of them a training event, when training leaves out the
/// events of `kept_out`.
VertexFlags never_trained(const EventGraph& graph, const TimeSplit& split, const VertexFlags& kept_out);

/// The candidates of validation and test events that the protocol fixes; null where it fixes none. `new_vertices`: as
/// `never_trained` says. Throws like `stored_negatives`.
std::shared_ptr<const GivenCandidates> given_candidates(const FutureLinksOptions& options, const EventGraph& graph,
                                                        const TimeSplit& split, const VertexFlags& new_vertices);

/// Metrics of the judged events `events`, each with its true destination against its candidate number `negative`, from
/// 1: the means of `ap` and `auc` over batches of `batch` of these events, and `mrr` over all of them.
std::map<std::string, double> means_of_batches(const EventOutputs& scores, const std::vector<std::size_t>& events,
                                               std::int64_t batch, std::int64_t negative, const std::string& prefix,
                                               TieRule ties);

}  // namespace strobe
