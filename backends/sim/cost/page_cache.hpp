// The page cache of a simulated node: the parts of a mapped file that its memory still holds.
#pragma once

#include <utility>
#include <vector>

#include "backends/host/host_work.hpp"

namespace strobe::sim {

/// One rank's view of its node's cache. Parts that were used longest ago leave first. All ranks of a node see the same
/// sizes, so they agree about what is there. They share the pages that several of them need: with p ranks, and k of
/// them on the node, a page with r readers has 1 + (r - 1) (k - 1) / (p - 1) on the node. This is exact where each rank
/// needs pages of its own (r = 1) and where all need every page (r = p).
class PageCache {
 public:
  /// `room`: bytes of the node, negative: everything has room. `here`: ranks of the node, of `ranks` in all.
  PageCache(double room, double here, double ranks) : room_(room), here_(here), ranks_(ranks) {}

  /// Uses a part, and returns the bytes that this rank reads from the disk: its share of the part, or 0 when the cache
  /// holds it. A part that is used for the first time is still in memory if the file, which was just written, has room.
  /// Cost O(parts).
  double use(const FilePart& part);

 private:
  double room_, here_, ranks_;
  std::vector<std::pair<int, double>> used_;  // number and bytes on the node of each part, last used first
};

}  // namespace strobe::sim
