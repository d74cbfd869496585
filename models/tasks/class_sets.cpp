#include "models/tasks/class_sets.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "workloads/graph/event_data.hpp"

namespace strobe {

std::vector<std::int64_t> class_sets(const EventGraph& graph, EdgeId first, std::int64_t count) {
  std::vector<std::int64_t> sets;
  sets.reserve(count);
  for (EdgeId e = first; e < first + count; ++e) {
    std::uint64_t bits = 0;
    event_classes(graph, e, bits);
    sets.push_back(static_cast<std::int64_t>(bits));
  }
  return sets;
}

ClassCounts count_classes(const EventGraph& graph, EdgeId first, EdgeId last) {
  ClassCounts counts{std::vector<std::int64_t>(graph.event_class_source.classes, 0), last - first};
  for (EdgeId e = first; e < last; ++e) {
    std::uint64_t bits = 0;
    event_classes(graph, e, bits);
    for (; bits != 0; bits &= bits - 1) ++counts.of_class[std::countr_zero(bits)];
  }
  return counts;
}

double fixed_set_f1(const ClassCounts& counts, std::uint64_t set) {
  if (counts.events == 0) return std::numeric_limits<double>::quiet_NaN();
  std::int64_t found = 0, said = 0, is = 0;
  for (std::size_t c = 0; c < counts.of_class.size(); ++c) {
    const bool named = (set >> c & 1) != 0;
    is += counts.of_class[c];
    found += named ? counts.of_class[c] : 0;
    said += named ? counts.events : 0;
  }
  return said + is == 0 ? 0.0 : 2.0 * static_cast<double>(found) / static_cast<double>(said + is);
}

std::uint64_t best_fixed_set(const ClassCounts& counts) {
  std::vector<std::size_t> by_count(counts.of_class.size());
  std::iota(by_count.begin(), by_count.end(), std::size_t{0});
  std::stable_sort(by_count.begin(), by_count.end(),
                   [&](std::size_t a, std::size_t b) { return counts.of_class[a] > counts.of_class[b]; });
  std::uint64_t set = 0, best = 0;
  for (const std::size_t c : by_count) {
    set |= std::uint64_t{1} << c;
    if (fixed_set_f1(counts, set) > fixed_set_f1(counts, best)) best = set;
  }
  return best;
}

}  // namespace strobe
