#include "harness/event_batches/groups/joint_draw.hpp"

#include <bit>
#include <utility>

namespace strobe {

JointDraw::JointDraw(const EventCase& c, const EventData& data, std::shared_ptr<const RemoteRows> remote,
                     std::int64_t node, std::vector<BatchRequest> requests,
                     std::vector<std::shared_ptr<BatchDraw>> drawn)
    : data_(data),
      remote_(std::move(remote)),
      node_(node),
      sampling_(c.model->traits().sampling),
      requests_(std::move(requests)),
      drawn_(std::move(drawn)) {
  for (std::size_t set = 0; set < requests_.size(); ++set) drawers_.emplace_back(c, data, true);
}

void JointDraw::begin() {
  for (std::size_t set = 0; set < drawers_.size(); ++set) drawers_[set].begin(requests_[set], *drawn_[set]);
}

ByNode<RemoteRoot> JointDraw::roots(std::int64_t level) {
  ByNode<RemoteRoot> lists(static_cast<std::size_t>(remote_->nodes()));
  roots_.clear();
  for (std::size_t set = 0; set < drawers_.size(); ++set) {
    std::vector<RemoteRoot>& roots = roots_.emplace_back();
    if (!requests_[set].scores) continue;
    roots = remote_roots(drawers_[set].ask(static_cast<std::size_t>(level)), sampling_);
    for (const RemoteRoot& root : roots) lists[node_of(root.vertex)].push_back(root);
  }
  return lists;
}

void JointDraw::take_neighbours(std::int64_t level, const ByNode<std::int64_t>& answers) {
  std::vector<std::size_t> root_at(answers.size(), 0), slot_at(answers.size(), 0);
  for (const std::vector<RemoteRoot>& roots : roots_) {
    for (const RemoteRoot& root : roots) ++slot_at[node_of(root.vertex)];  // neighbours follow the numbers
  }
  for (std::size_t set = 0; set < drawers_.size(); ++set) {
    if (!requests_[set].scores) continue;
    NeighbourSample sample;
    sample.offsets.push_back(0);
    for (std::size_t r = 0; r < roots_[set].size(); ++r) {
      const std::size_t node = node_of(roots_[set][r].vertex);
      const std::int64_t count = answers[node][root_at[node]++];
      for (std::int64_t s = 0; s < count; ++s) {
        const auto neighbour = std::bit_cast<TimedNeighbour>(answers[node][slot_at[node]++]);
        sample.vertex.push_back(neighbour.vertex);
        sample.event.push_back(neighbour.event);
        sample.slot_root.push_back(static_cast<std::int64_t>(r));
      }
      sample.offsets.push_back(static_cast<std::int64_t>(sample.vertex.size()));
    }
    drawers_[set].answer(static_cast<std::size_t>(level), std::move(sample));
  }
}

ByNode<std::int64_t> JointDraw::vertices() {
  ByNode<std::int64_t> lists(static_cast<std::size_t>(remote_->nodes()));
  for (BatchDrawer& drawer : drawers_) {
    vertices_.push_back(drawer.distinct());
    for (const VertexId v : vertices_.back()) lists[node_of(v)].push_back(v);
  }
  return lists;
}

void JointDraw::finish(const ByNode<VertexTimes>& times, bool there) {
  std::vector<std::size_t> next(times.size(), 0);
  for (std::size_t set = 0; set < drawers_.size(); ++set) {
    MemoryClock clock(static_cast<std::int64_t>(vertices_[set].size()));
    for (std::size_t n = 0; there && n < vertices_[set].size(); ++n) {
      const std::size_t node = node_of(vertices_[set][n]);
      clock.set(n, times[node][next[node]++]);
    }
    drawers_[set].finish(clock, *drawn_[set]);
  }
}

void JointDraw::take_vertex_features(const ByNode<float>& rows, std::int64_t width, bool given) {
  std::vector<std::int64_t> next(rows.size(), 0);
  std::vector<const float*> row_of;  // of the set's distinct vertices
  for (std::size_t set = 0; set < drawers_.size(); ++set) {
    std::vector<float>& to = drawn_[set]->vertex_features.emplace();
    if (!given) continue;
    row_of.clear();
    for (const VertexId v : vertices_[set]) {
      const std::size_t node = node_of(v);
      row_of.push_back(rows[node].data() + width * next[node]++);
    }
    to.reserve(drawn_[set]->vertices.size() * static_cast<std::size_t>(width));
    for (const std::int64_t v : drawn_[set]->vertices) {
      const float* const row = row_of[drawers_[set].place_of(static_cast<VertexId>(v))];
      to.insert(to.end(), row, row + width);
    }
  }
}

ByNode<EdgeId> JointDraw::feature_events() {
  ByNode<EdgeId> lists(static_cast<std::size_t>(remote_->nodes()));
  for (const std::shared_ptr<BatchDraw>& drawn : drawn_) {
    std::vector<Place>& places = places_.emplace_back();
    FeatureEvents wanted = events_with_features(*drawn);
    for (const EdgeId event : wanted.events) {
      const auto node = static_cast<std::size_t>(remote_->holder(*data_.graph, event, node_));
      places.push_back({node, lists[node].size()});
      lists[node].push_back(event);
    }
    place_of_.push_back(std::move(wanted.place_of));
  }
  return lists;
}

void JointDraw::take_features(const ByNode<float>& rows, std::int64_t width, bool there) {
  for (std::size_t set = 0; set < drawn_.size(); ++set) {
    BatchDraw& drawn = *drawn_[set];
    auto next = place_of_[set].begin();
    const auto take = [&](const std::vector<EdgeId>& wanted) {
      std::vector<float>& to = drawn.edge_features.emplace_back();
      if (!there) return;
      to.reserve(wanted.size() * static_cast<std::size_t>(width));
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const Place& place = places_[set][*next++];
        const auto first = rows[place.node].begin() + static_cast<std::int64_t>(place.row) * width;
        to.insert(to.end(), first, first + width);
      }
    };
    take(drawn.mail_events);
    for (const DrawnLevel& level : drawn.levels) take(level.events);
  }
}

/// A root takes 36 bytes of a drawer and its message, a neighbour 16 bytes of a sample and 36 of a drawer, and a vertex
/// at the end its places in lists.
Work JointDraw::work(std::int64_t roots, std::int64_t slots, std::int64_t asked) {
  const auto of_roots = static_cast<double>(roots), of_slots = static_cast<double>(slots),
             of_asked = static_cast<double>(asked);
  return {20.0 * (of_roots + of_slots + of_asked), 8.0 * (of_roots + of_slots) + 40.0 * of_asked,
          static_cast<double>(36 + sizeof(RemoteRoot)) * of_roots + 52.0 * of_slots + 40.0 * of_asked};
}

}  // namespace strobe
