#include "harness/placement/chunks/cell_placement.hpp"

#include <algorithm>
#include <functional>

namespace strobe {

Placement place_by_step(std::vector<Column<Rank>> owner, std::int64_t vertices, int owners, const Run& listed) {
  Placement placement{owners, vertices, {}, {}};
  for (std::size_t t = 0; t < owner.size(); ++t) {
    if (t == 0 || !std::equal(owner[t].begin(), owner[t].end(), owner[t - 1].begin()))
      placement.maps.push_back(nullptr);
    placement.map_of_step.push_back(static_cast<std::int32_t>(placement.maps.size()) - 1);
  }
  for (std::size_t t = owner.size(); t-- > 0;) {
    auto& map = placement.maps[placement.map_of_step[t]];
    if (map != nullptr) continue;
    const bool alike = std::adjacent_find(owner[t].begin(), owner[t].end(), std::not_equal_to<>()) == owner[t].end();
    map = alike && owner[t].front() >= 0 ? single_owner_map(vertices, owner[t].front())
                                         : partial_vertex_map(std::move(owner[t]), owners, listed);
  }
  return placement;
}

}  // namespace strobe
