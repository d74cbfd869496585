// Neighbours of many vertices at many moments, the input of a batch of a model of events.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/system/parallel.hpp"
#include "workloads/continuous/time_csr.hpp"

namespace strobe {

/// Which of the events before a moment are taken.
enum class Sampling : std::uint8_t {
  recent,      // the k most recent, strictly before the moment; of one time the later in the file is the more recent
  uniform,     // k distinct ones of all before the moment, uniformly; all where there are no more than k
  tgl_compat,  // as the sampler that TGL and DistTGL release, with its omissions (see neighbour_sample.cpp)
};

/// "recent", "uniform" or "tgl_compat"; throws Error for another word.
Sampling sampling_of(const std::string& name);

/// Whose neighbours are drawn, [R] each.
struct SampleRoots {
  std::span<const VertexId> vertex;
  /// Events that count are those below it: `events_before(events, t)` for all strictly before t, or fewer.
  std::span<const EdgeId> before;
  /// The number of each root. Draws of `uniform` are keyed by it, so they do not depend on the caller or on other
  /// roots.
  std::span<const std::int64_t> number;
  /// The moments themselves; read by `tgl_compat` alone, which does not read `before`.
  std::span<const double> time;
  /// Events from this one on are hidden from all roots, as if they had not happened, however roots are drawn.
  EdgeId hidden_from = std::numeric_limits<EdgeId>::max();
};

/// The slots of R roots, root by root; within a root in time order, the most recent last.
struct NeighbourSample {
  std::vector<std::int64_t> offsets;    // [R + 1]
  std::vector<VertexId> vertex;         // [S] the other end
  std::vector<std::uint32_t> event;     // [S]
  std::vector<std::int64_t> slot_root;  // [S]
  std::int64_t slots() const { return static_cast<std::int64_t>(vertex.size()); }
};

/// Draws up to `k` neighbours of every root. The same for every number of workers. Cost: O(log degree + k) a root.
void sample_neighbours(const EventGraph& events, const TimeCsr& csr, const SampleRoots& roots, std::int64_t k,
                       Sampling sampling, std::uint64_t seed, Workers& workers, NeighbourSample& sample);

}  // namespace strobe
