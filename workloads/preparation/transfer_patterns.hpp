// Fan-ins, fan-outs and cycles of transfers among numbered members, as money launderers make them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "core/random.hpp"

namespace strobe {

struct PatternOptions {
  std::int64_t members = 0;                   // of all patterns together
  std::int64_t steps = 1;                     // T
  std::int64_t smallest = 3, largest = 6;     // members of a pattern
  std::int64_t span = 90;                     // steps within which a pattern's links lie
  std::int64_t burst = 5;                     // most transfers of a link
  double fan_in = 1, fan_out = 0, cycle = 1;  // weights
};

/// Transfers from `source` to `target`, all in one step.
struct TransferLink {
  std::int64_t step;
  VertexId source, target;  // numbers of members until the caller names accounts
  std::uint64_t transfers;
};

struct TransferPatterns {
  std::vector<TransferLink> links;
  std::vector<VertexId> accounts;  // [members] account of each member, pattern after pattern; zeros at first
  std::int64_t transfers = 0;      // sum over links
};

/// Cuts the members, in order, into patterns of smallest..largest members. The last pattern also takes members that
/// could not fill another one. A fan-in has links from members 1, 2, ... to member 0, a fan-out the reverse, a cycle
/// from each member to the next. Links lie at random steps of a span that begins at random; their steps ascend along a
/// cycle.
TransferPatterns draw_transfer_patterns(const PatternOptions& options, const RandomStream& random);

}  // namespace strobe
