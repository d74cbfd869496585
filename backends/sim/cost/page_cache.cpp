// A part is in memory if it and all parts used since then have room together (the stack distance of Mattson et al., IBM
// Systems Journal 9(2), 1970). For parts that are read from end to end this equals the least recently used order of
// single pages.
#include "backends/sim/cost/page_cache.hpp"

namespace strobe::sim {

double PageCache::use(const FilePart& part) {
  if (part.number < 0 || room_ < 0) return 0;
  const double readers = ranks_ > 1 ? 1 + (part.readers - 1) * (here_ - 1) / (ranks_ - 1) : 1;
  const double needed = here_ / ranks_ * part.readers / readers;  // the share of a part that the node needs
  double since = 0;                                               // of this part and those used after it
  auto place = used_.begin();
  for (; place != used_.end(); ++place) {
    since += place->second;
    if (place->first == part.number) break;
  }
  const bool known = place != used_.end();
  if (known) used_.erase(place);
  used_.insert(used_.begin(), {part.number, needed * part.all_bytes});
  return (known ? since : needed * part.file_bytes) <= room_ ? 0 : part.own_bytes / readers;
}

}  // namespace strobe::sim
