// Dense ids by a table when the ids are compact, by sorting them when they are sparse; stable sort by time.
#include "workloads/event_builder.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>

#include "core/errors.hpp"
#include "core/hash.hpp"

namespace strobe {
namespace {

constexpr std::size_t most_vertices = std::numeric_limits<VertexId>::max();

void refuse_too_many(std::size_t distinct, const std::string& path) {
  if (distinct > most_vertices) throw InvalidInput(path, 0, 0, "the file has more than 2^31 - 1 distinct vertex ids");
}

void keep_distinct(std::vector<std::int64_t>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

/// Ids below a small multiple of the rows: one table entry per id.
void number_by_table(const std::vector<std::int64_t>& source, const std::vector<std::int64_t>& target,
                     std::int64_t largest, EventGraph& graph, const std::string& path) {
  std::vector<VertexId> number(static_cast<std::size_t>(largest) + 1, 0);
  for (const auto* ids : {&source, &target}) {
    for (const std::int64_t id : *ids) number[static_cast<std::size_t>(id)] = 1;
  }
  for (std::size_t id = 0; id < number.size(); ++id) {
    if (number[id] == 0) continue;
    number[id] = static_cast<VertexId>(graph.original_id.size());
    graph.original_id.push_back(static_cast<std::int64_t>(id));
    refuse_too_many(graph.original_id.size(), path);
  }
  for (const std::int64_t id : source) graph.source.push_back(number[static_cast<std::size_t>(id)]);
  for (const std::int64_t id : target) graph.target.push_back(number[static_cast<std::size_t>(id)]);
}

void number_by_sorting(const std::vector<std::int64_t>& source, const std::vector<std::int64_t>& target,
                       EventGraph& graph, const std::string& path) {
  std::vector<std::int64_t> ids = source, others = target;
  keep_distinct(ids);
  keep_distinct(others);
  std::set_union(ids.begin(), ids.end(), others.begin(), others.end(), std::back_inserter(graph.original_id));
  refuse_too_many(graph.original_id.size(), path);
  const auto number = [&](std::int64_t id) {
    const auto at = std::lower_bound(graph.original_id.begin(), graph.original_id.end(), id);
    return static_cast<VertexId>(at - graph.original_id.begin());
  };
  for (const std::int64_t id : source) graph.source.push_back(number(id));
  for (const std::int64_t id : target) graph.target.push_back(number(id));
}

template <class T>
void permute(std::vector<T>& values, const std::vector<std::size_t>& order) {
  if (values.empty()) return;
  std::vector<T> sorted;
  sorted.reserve(values.size());
  for (const std::size_t i : order) sorted.push_back(values[i]);
  values = std::move(sorted);
}

void permute_rows(std::vector<float>& values, std::size_t width, const std::vector<std::size_t>& order) {
  std::vector<float> sorted;
  sorted.reserve(values.size());
  for (const std::size_t i : order) {
    const auto row = values.begin() + static_cast<std::ptrdiff_t>(i * width);
    sorted.insert(sorted.end(), row, row + static_cast<std::ptrdiff_t>(width));
  }
  values = std::move(sorted);
}

void sort_by_time(EventGraph& graph) {
  graph.provenance.was_sorted = std::is_sorted(graph.time.begin(), graph.time.end());
  if (graph.provenance.was_sorted) return;
  std::vector<std::size_t> order(graph.time.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return graph.time[a] < graph.time[b]; });
  permute(graph.source, order);
  permute(graph.target, order);
  permute(graph.time, order);
  permute(graph.weight, order);
  permute(graph.event_label, order);
  permute_rows(graph.edge_features, static_cast<std::size_t>(graph.edge_feature_width), order);
}

/// Counts rows beyond the first of an equal (u, v, time); rows of one time are neighbours by now.
std::int64_t count_duplicates(const EventGraph& graph) {
  std::int64_t duplicates = 0;
  std::vector<std::uint64_t> pairs;
  for (std::size_t begin = 0, end = 0; begin < graph.time.size(); begin = end) {
    pairs.clear();
    for (end = begin; end < graph.time.size() && graph.time[end] == graph.time[begin]; ++end) {
      pairs.push_back((static_cast<std::uint64_t>(graph.source[end]) << 32) |
                      static_cast<std::uint32_t>(graph.target[end]));
    }
    std::sort(pairs.begin(), pairs.end());
    duplicates += std::distance(std::unique(pairs.begin(), pairs.end()), pairs.end());
  }
  return duplicates;
}

}  // namespace

EventGraph EventBuilder::finish(const std::string& path, const std::string& format) {
  if (rows() == 0) throw InvalidInput(path, 0, 0, "the file has no data rows");
  EventGraph graph;
  graph.provenance.name = std::filesystem::path(path).filename().string();
  graph.provenance.format = format;
  graph.provenance.source = path;
  graph.provenance.sha256 = sha256_file(path);
  graph.provenance.rows = rows();
  graph.source.reserve(source_.size());
  graph.target.reserve(target_.size());
  const std::int64_t largest =
      std::max(*std::max_element(source_.begin(), source_.end()), *std::max_element(target_.begin(), target_.end()));
  if (largest / 8 <= rows() + (std::int64_t{1} << 17))
    number_by_table(source_, target_, largest, graph, path);
  else
    number_by_sorting(source_, target_, graph, path);
  graph.vertices = static_cast<std::int64_t>(graph.original_id.size());
  for (std::size_t e = 0; e < source_.size(); ++e) graph.provenance.self_loops += source_[e] == target_[e];
  graph.time = std::move(time_);
  graph.weight = std::move(weight_);
  graph.event_label = std::move(label_);
  graph.edge_feature_width = static_cast<std::int64_t>(feature_.size()) / rows();
  graph.edge_features = std::move(feature_);
  sort_by_time(graph);
  graph.provenance.duplicates = count_duplicates(graph);
  *this = EventBuilder();
  return graph;
}

}  // namespace strobe
