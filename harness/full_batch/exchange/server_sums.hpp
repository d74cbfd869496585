// Sums over ranks through servers: a parameter server (Li et al., OSDI'14) in place of an all-reduce.
#pragma once

#include "backends/communicator.hpp"

namespace strobe {

/// `vector` [n, 1] of every rank becomes the sum over ranks, added in rank order as by Communicator::all_reduce. Each
/// server owns an even share of the elements: ranks push their part of it, the server adds and ranks pull the sum.
/// Sends the bytes of an all-reduce, 2 n (P - 1) elements in all. A server needs memory for its share of each rank.
void sum_on_servers(Device& device, Communicator& communicator, const Tensor& vector, int servers, Traffic traffic);

}  // namespace strobe
