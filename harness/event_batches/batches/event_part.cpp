#include "harness/event_batches/batches/event_part.hpp"

#include <algorithm>
#include <bit>

#include "workloads/graph/event_data.hpp"
#include "workloads/storage/pages.hpp"

namespace strobe {

std::vector<RemoteRoot> remote_roots(const SampleRoots& roots, Sampling sampling) {
  std::vector<RemoteRoot> all(roots.vertex.size());
  for (std::size_t r = 0; r < all.size(); ++r) {
    const EdgeId before =
        sampling == Sampling::tgl_compat ? roots.hidden_from : std::min<EdgeId>(roots.before[r], roots.hidden_from);
    all[r] = {roots.vertex[r], before, roots.number[r], std::bit_cast<std::int64_t>(roots.time[r])};
  }
  return all;
}

EventPart::EventPart(const EventData& of, std::int64_t node, std::int64_t nodes, bool copies)
    : data_(of), node_(node), nodes_(nodes), copies_(copies) {
  if (!copies) return;
  copy_neighbours();
  if (!of.whole->edge_features.empty()) copy_features();
  if (!of.whole->vertex_features.empty()) copy_vertices();
  rest_file();
}

void EventPart::copy_neighbours() {
  const TimeCsr& all = *data_.neighbours;
  std::vector<std::int64_t> offsets;
  offsets.reserve(static_cast<std::size_t>(share().count(data_.graph->vertices)) + 1);
  offsets.push_back(0);
  std::int64_t count = 0;
  for (std::int64_t v = node_; v < data_.graph->vertices; v += nodes_)
    offsets.push_back(count += all.offsets[v + 1] - all.offsets[v]);
  std::vector<TimedNeighbour> entries;
  entries.reserve(count);
  for (std::int64_t v = node_; v < data_.graph->vertices; v += nodes_)
    entries.insert(entries.end(), all.entries.begin() + all.offsets[v], all.entries.begin() + all.offsets[v + 1]);
  own_ = {std::move(offsets), std::move(entries)};
}

void EventPart::copy_features() {
  const EventGraph& graph = *data_.graph;
  const std::size_t width = data_.widths.edge;
  const auto owned = [&](VertexId v) { return v % nodes_ == node_; };
  for (std::size_t e = 0; e < graph.source.size(); ++e) {
    if (owned(graph.source[e]) || owned(graph.target[e])) events_.push_back(static_cast<std::uint32_t>(e));
  }
  features_.resize(events_.size() * width);
  for (std::size_t i = 0; i < events_.size(); ++i)
    edge_feature_row(*data_.whole, data_.number(events_[i]), features_.data() + i * width);
}

void EventPart::copy_vertices() {
  const std::int64_t width = data_.whole->vertex_feature_width;
  vertex_features_.reserve(static_cast<std::size_t>(share().count(data_.graph->vertices) * width));
  for (std::int64_t v = node_; v < data_.graph->vertices; v += nodes_) {
    const float* const row = data_.whole->vertex_features.data() + v * width;
    vertex_features_.insert(vertex_features_.end(), row, row + width);
  }
}

void EventPart::rest_ends(EdgeId end) const {
  if (!copies_) return;
  const EventGraph& graph = *data_.graph;
  const double share = static_cast<double>(end) / static_cast<double>(graph.events());
  const auto rest = [&](const auto& column) {
    rest_pages(column.data(), static_cast<std::size_t>(share * static_cast<double>(column.size() * sizeof(column[0]))));
  };
  rest(graph.source), rest(graph.target), rest(graph.time.values());
  rest(graph.time.packed().words());
}

void EventPart::rest_file() const {
  rest_ends(data_.graph->events());
  if (!copies_) return;
  const auto rest = [](const auto& column) { rest_pages(column.data(), column.size() * sizeof(column[0])); };
  rest(data_.neighbours->entries);
  rest(data_.whole->edge_features);
  rest(data_.whole->vertex_features);
}

void EventPart::sample(std::span<const RemoteRoot> roots, const SamplingRule& rule, Workers& workers,
                       NeighbourSample& sample) const {
  std::vector<VertexId> vertex;
  std::vector<EdgeId> before;
  std::vector<std::int64_t> number;
  std::vector<double> time;
  for (const RemoteRoot& root : roots) {
    vertex.push_back(static_cast<VertexId>(copies_ ? root.vertex / nodes_ : root.vertex));
    before.push_back(root.before);
    number.push_back(root.number);
    time.push_back(std::bit_cast<double>(root.time_bits));
  }
  SampleRoots all{vertex, before, number, time};
  if (rule.sampling == Sampling::tgl_compat && !roots.empty()) all.hidden_from = roots.front().before;
  sample_neighbours(*data_.graph, copies_ ? own_ : *data_.neighbours, all, rule.neighbours, rule.sampling, rule.seed,
                    workers, sample);
}

void EventPart::put_features(EdgeId event, float* to) const {
  if (features_.empty()) return edge_feature_row(*data_.whole, data_.number(event), to);
  const auto at = std::lower_bound(events_.begin(), events_.end(), static_cast<std::uint32_t>(event));
  std::copy_n(features_.begin() + (at - events_.begin()) * edge_width(), edge_width(), to);
}

VertexTimes EventPart::times(VertexId vertex, const TakenEvents& taken, const MemoryMoments& moments) const {
  if (!copies_) return data_.times(vertex, taken, moments);
  const std::int64_t row = share().row(vertex), first = own_.offsets[row], end = own_.offsets[row + 1];
  return times_of({own_.entries.data() + first, static_cast<std::size_t>(end - first)}, taken, moments,
                  [&](EdgeId event) { return data_.time(event); });
}

void EventPart::put_vertex(VertexId vertex, float* to) const {
  if (vertex_features_.empty()) return data_.put_vertex(vertex, to);
  const std::int64_t width = data_.whole->vertex_feature_width;
  std::copy_n(vertex_features_.data() + share().row(vertex) * width, width, to);
  data_.put_static(vertex, to + width);
}

std::int64_t EventPart::entries() const {
  const auto all = static_cast<std::int64_t>(data_.neighbours->entries.size());
  return copies_ ? static_cast<std::int64_t>(own_.entries.size()) : all / nodes_;
}

std::uint64_t EventPart::graph_bytes() const {
  return own_.offsets.own_bytes() + own_.entries.own_bytes() + events_.size() * sizeof(std::uint32_t);
}

}  // namespace strobe
