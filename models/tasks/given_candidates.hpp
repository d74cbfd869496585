// Candidates of an evaluation that somebody else has chosen: a published list, or the draws of a published program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/graph/graph.hpp"

namespace strobe {

class GivenCandidates {
 public:
  virtual ~GivenCandidates() = default;
  /// The candidates of `event`, a validation or test event, without its true destination, in the order given.
  virtual std::vector<VertexId> of(EdgeId event) const = 0;
  /// The largest number of candidates of one event.
  virtual std::int64_t most() const = 0;
  /// Bytes on the host, without those of a mapped file.
  virtual std::uint64_t own_bytes() const = 0;
  /// The SHA-256 of the file that lists them; "" where they come from no file.
  virtual std::string sha256() const { return {}; }
};

}  // namespace strobe
