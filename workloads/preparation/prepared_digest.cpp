#include "workloads/preparation/prepared_digest.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "workloads/preparation/prepared_arrays.hpp"
#include "workloads/preparation/preprocess.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe {
namespace {

/// Values `first` to `first + count` of a column; nothing of an empty one.
template <class T>
std::span<const T> span_of(const Column<T>& column, std::int64_t first, std::int64_t count) {
  if (column.empty()) return {};
  return {column.data() + first, static_cast<std::size_t>(count)};
}

/// The length precedes the values, so that arrays cannot run into each other.
template <class T>
void add_values(Sha256& sha, std::span<const T> values) {
  const std::uint64_t size = values.size();
  sha.update(&size, sizeof size);
  sha.update(values.data(), values.size_bytes());
}

}  // namespace

StepParts parts_of(const PreparedArrays& step) {
  return {step.row_offsets, step.columns,    step.values64,   step.values32,
          step.features64,  step.features32, step.products64, step.products32};
}

StepParts parts_of(const PreparedGraph& graph, Step t) {
  const std::int64_t cell = t * graph.vertices, width = graph.feature_width;
  const std::int64_t first = graph.row_offsets[cell], count = graph.step_nonzeros(t);
  const auto of_cells = [&](const auto& column) { return span_of(column, cell * width, graph.vertices * width); };
  return {span_of(graph.row_offsets, cell + 1, graph.vertices),
          span_of(graph.columns, first, count),
          span_of(graph.values64, first, count),
          span_of(graph.values32, first, count),
          of_cells(graph.features64),
          of_cells(graph.features32),
          of_cells(graph.products64),
          of_cells(graph.products32)};
}

std::string digest_of(const StepParts& step) {
  Sha256 sha;
  add_values(sha, step.row_ends);
  add_values(sha, step.columns);
  add_values(sha, step.values64);
  add_values(sha, step.values32);
  add_values(sha, step.features64);
  add_values(sha, step.features32);
  add_values(sha, step.products64);
  add_values(sha, step.products32);
  return sha.hex();
}

std::string step_digests_of(const PreparedGraph& graph) {
  if (!graph.step_digests.empty()) return {graph.step_digests.begin(), graph.step_digests.end()};
  if (!graph.has_structure()) return "";
  std::string digests(static_cast<std::size_t>(graph.steps * step_digest_bytes), ' ');
  parallel_tasks(graph.steps, [&](std::int64_t t) {
    const std::string digest = digest_of(parts_of(graph, static_cast<Step>(t)));
    std::copy(digest.begin(), digest.end(), digests.begin() + t * step_digest_bytes);
  });
  return digests;
}

}  // namespace strobe
