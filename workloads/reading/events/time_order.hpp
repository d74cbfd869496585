// Blocks of rows become columns in time order.
#pragma once

#include <vector>

#include "workloads/graph/graph.hpp"
#include "workloads/reading/events/event_block.hpp"

namespace strobe {

/// Moves the rows of `blocks` (ids are vertex numbers of 4 bytes; every block has weights, labels and
/// `features` features a row, or none has) into the columns of `graph`, sorted by time, ties in the order of the rows,
/// and states in its provenance whether they were sorted. Gives back the memory of the blocks on the way: beside the
/// result it needs 2 bytes a row and what each thread sorts at once.
void move_in_time_order(std::vector<EventBlock>& blocks, EventGraph& graph);

}  // namespace strobe
