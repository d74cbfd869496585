// Blocks of rows become columns in time order.
#pragma once

#include <vector>

#include "workloads/graph/graph.hpp"
#include "workloads/reading/events/event_block.hpp"

namespace strobe {

/// Moves the rows of `blocks` into the columns of `graph`, sorted by time, ties in the order of the rows. The
/// provenance states whether they were sorted. Ids of blocks are vertex numbers of 4 bytes. Either every block has
/// weights, labels and `features` features a row, or none has. The memory of the blocks is freed on the way. In
/// addition to the result this needs 2 bytes a row and the rows that each thread sorts at once.
void move_in_time_order(std::vector<EventBlock>& blocks, EventGraph& graph);

}  // namespace strobe
