// Cost: one pass over each file, 4 F_e bytes an event and 4 F_v a vertex in addition to the file itself.
#include "workloads/reading/events/feature_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "core/errors.hpp"

namespace strobe {
namespace {

void check_rows(const NpyArray& array, const std::string& file, std::int64_t largest, const std::string& what) {
  if (array.shape.size() != 2) {
    throw InvalidInput(file, 0, 0,
                       fmt::format("expected an array [rows, features], found {} axes", array.shape.size()));
  }
  if (largest >= array.shape[0]) {
    throw InvalidInput(file, 0, 0,
                       fmt::format("the array has {} rows, but {} reaches {}", array.shape[0], what, largest));
  }
}

float finite_single(double value, std::int64_t row, std::int64_t i, const std::string& file) {
  if (std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max())) return static_cast<float>(value);
  throw InvalidInput(file, 0, 0,
                     fmt::format("feature {} of row {} is {}, which is not a finite fp32 number", i, row, value));
}

}  // namespace

std::vector<std::int64_t> fill_edge_features(const std::string& file, const std::vector<std::int64_t>& rows,
                                             const std::string& what, EventBuilder& events) {
  const NpyArray array = read_npy(file);
  check_rows(array, file, *std::max_element(rows.begin(), rows.end()), what);
  const std::int64_t width = array.shape[1];
  events.fill_features(static_cast<std::size_t>(width), [&](std::int64_t event, std::span<float> features) {
    const std::int64_t row = rows[event];
    for (std::int64_t i = 0; i < width; ++i) features[i] = finite_single(array.at(row * width + i), row, i, file);
  });
  return array.shape;
}

void add_vertex_features(const std::string& file, EventGraph& graph) {
  const NpyArray array = read_npy(file);
  check_rows(array, file, graph.original_id.back(), "the vertex id");
  std::vector<float> features;
  features.reserve(graph.vertices * array.shape[1]);
  for (const std::int64_t id : graph.original_id) {
    for (std::int64_t i = 0; i < array.shape[1]; ++i)
      features.push_back(finite_single(array.at(id * array.shape[1] + i), id, i, file));
  }
  graph.vertex_feature_width = array.shape[1];
  graph.vertex_features = std::move(features);
  graph.provenance.notes.push_back(fmt::format("{} has {} rows of {} vertex features, taken by the vertex id",
                                               std::filesystem::path(file).filename().string(), array.shape[0],
                                               array.shape[1]));
}

}  // namespace strobe
