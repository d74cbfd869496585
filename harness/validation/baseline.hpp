// The baseline that predictions are compared with: a plain roofline plus ring formulas. It knows the program's
// operations and bytes. It ignores launches, gathers, caches, imbalance over time, and overlap.
#pragma once

#include <vector>

#include "backends/cluster.hpp"
#include "backends/span.hpp"

namespace strobe {

/// Seconds of an epoch in which the busiest rank runs its spans [rank][span] one after the other:
/// - an operation takes max(flops / peak flops, bytes / memory bandwidth), with the compulsory bytes of its Work;
/// - a copy takes its bytes / bandwidth of the host link;
/// - a collective takes steps x latency + sent bytes / bandwidth. An all_reduce has 2 (P - 1) steps, point to point 1,
///   others P - 1. The sent bytes are those of the span, which are the ring's.
/// Latency and bandwidth are those inside a node if all ranks fit one node. Otherwise they are those between nodes, and
/// the GPUs of a node share its bandwidth.
/// Source: Williams et al., "Roofline", CACM 52(4), 2009; Thakur et al., IJHPCA 19(1), 2005. Cost O(spans).
double roofline_ring_seconds(const std::vector<std::vector<Span>>& spans, const Cluster& cluster, bool fp64);

}  // namespace strobe
