// The baseline that predictions are compared with: a plain roofline plus ring formulas, which knows the program's
// operations and bytes but nothing of launches, gathers, cache, imbalance in time or overlap.
#pragma once

#include <vector>

#include "backends/cluster.hpp"
#include "backends/span.hpp"

namespace strobe {

/// Seconds of an epoch in which the busiest rank's spans [rank][span] follow one after the other: an operation takes
/// max(flops / peak flops, bytes / memory bandwidth) with the compulsory bytes of its Work, a copy its bytes over the
/// host link, and a collective steps x latency + sent bytes / bandwidth, with the ring's steps (all_reduce 2 (P - 1),
/// the others P - 1, point to point 1) and the bytes that the span counts, which are the ring's. Latency and bandwidth
/// are those inside a node while all ranks fit one, else those between nodes, a node's bandwidth shared by its GPUs.
/// Source: Williams et al., "Roofline", CACM 52(4), 2009; Thakur et al., IJHPCA 19(1), 2005. Cost O(spans).
double roofline_ring_seconds(const std::vector<std::vector<Span>>& spans, const Cluster& cluster, bool fp64);

}  // namespace strobe
