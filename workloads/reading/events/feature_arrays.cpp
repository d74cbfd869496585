// Cost: one pass over each file, 12 bytes an event for the number of its row while rows are sorted, then 4 F_e bytes an
// event and 4 F_v a vertex. Arrays are mapped; those in gzip lie in a temporary file when memory is bounded and they
// are large.
#include "workloads/reading/events/feature_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "core/errors.hpp"
#include "workloads/storage/growing_column.hpp"
#include "workloads/storage/pages.hpp"
#include "workloads/storage/parallel.hpp"
#include "workloads/storage/reading_bound.hpp"

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

/// A row number as numbers that fp32 holds exactly, the lowest first.
constexpr std::size_t digits_of_row = 3;
constexpr int digit_bits = 24;
constexpr std::int64_t digit_mask = (std::int64_t{1} << digit_bits) - 1;

std::int64_t row_of(const float* digits) {
  std::int64_t row = 0;
  for (std::size_t i = digits_of_row; i > 0; --i) row = row << digit_bits | static_cast<std::int64_t>(digits[i - 1]);
  return row;
}

/// The least and the largest row number of all events.
std::pair<std::int64_t, std::int64_t> row_range(const Column<float>& digits) {
  std::int64_t least = row_of(digits.data()), largest = least;
  for (std::size_t i = 0; i < digits.size(); i += digits_of_row) {
    const std::int64_t row = row_of(digits.data() + i);
    least = std::min(least, row), largest = std::max(largest, row);
  }
  return {least, largest};
}

/// The features of all events: `width` numbers of the row that `digits` names.
Column<float> gather_rows(const NpyArray& array, const Column<float>& digits, const std::string& file) {
  constexpr std::size_t part = std::size_t{1} << 16;
  const auto width = static_cast<std::size_t>(array.shape[1]), events = digits.size() / digits_of_row;
  const ReadingBound* const bound = reading_bound();
  const std::size_t bytes = events * width * sizeof(float);
  const bool is_large = bound != nullptr && bytes > bound->run_bytes();
  const PagesInFiles aside(is_large ? bound->folder : "");
  Pages memory(bytes);
  auto* const out = reinterpret_cast<float*>(memory.data());
  parallel_tasks(static_cast<std::int64_t>((events + part - 1) / part), [&](std::int64_t p) {
    const std::size_t begin = static_cast<std::size_t>(p) * part, end = std::min(begin + part, events);
    for (std::size_t e = begin; e < end; ++e) {
      const std::int64_t row = row_of(digits.data() + e * digits_of_row), at = row * array.shape[1];
      for (std::int64_t i = 0; i < array.shape[1]; ++i)
        out[e * width + static_cast<std::size_t>(i)] = finite_single(array.at(at + i), row, i, file);
    }
    if (!is_large) return;
    rest_pages(out + begin * width, (end - begin) * width * sizeof(float));
    rest_pages(digits.data() + begin * digits_of_row, (end - begin) * digits_of_row * sizeof(float));
    rest_pages(array.bytes.data(), array.bytes.size());
  });
  return make_column<float>(std::move(memory), events * width);
}

}  // namespace

void add_feature_row(std::int64_t row, EventBuilder& events) {
  for (std::size_t i = 0; i < digits_of_row; ++i, row >>= digit_bits)
    events.add_feature(static_cast<float>(row & digit_mask));
}

TakenFeatures take_edge_features(const std::string& file, const std::string& what, EventGraph& graph) {
  const NpyArray array = map_npy(file);
  const Column<float> digits = std::move(graph.edge_features);
  const auto [least, largest] = row_range(digits);
  check_rows(array, file, largest, what);
  graph.edge_features = gather_rows(array, digits, file);
  graph.edge_feature_width = array.shape[1];
  return {array.shape, least};
}

void add_vertex_features(const std::string& file, EventGraph& graph) {
  const NpyArray array = map_npy(file);
  check_rows(array, file, graph.original_id.back(), "the vertex id");
  GrowingColumn<float> features;
  features.reserve(static_cast<std::size_t>(graph.vertices * array.shape[1]));
  for (const std::int64_t id : graph.original_id) {
    for (std::int64_t i = 0; i < array.shape[1]; ++i)
      features.push_back(finite_single(array.at(id * array.shape[1] + i), id, i, file));
  }
  graph.vertex_feature_width = array.shape[1];
  graph.vertex_features = features.finish();
  graph.provenance.notes.push_back(fmt::format("{} has {} rows of {} vertex features, taken by the vertex id",
                                               std::filesystem::path(file).filename().string(), array.shape[0],
                                               array.shape[1]));
}

}  // namespace strobe
