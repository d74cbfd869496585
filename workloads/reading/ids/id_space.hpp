// One id space or two: whether equal source and target ids of a file are the same vertex.
#pragma once

#include <cstdint>
#include <string>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// Vertices that are the source of one event and the target of another (or of the same).
std::int64_t ids_on_both_sides(const EventGraph& graph);

/// Gives `graph` the ids that `ids` requests. shared: equal ids are one vertex. offset: targets get ids after the
/// largest source id. auto: offset for a two-sided graph, else shared. The provenance states which, and a note explains
/// it when there was a choice. Throws InvalidRequest for another word, for `shared` when the file was written with the
/// sides separated, and for `offset` when a vertex is on no side because it has no event. Throws InvalidInput when the
/// moved ids do not fit 63 bits.
void settle_ids(EventGraph& graph, const std::string& ids, const std::string& path);

}  // namespace strobe
