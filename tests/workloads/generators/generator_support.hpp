// Statistics of generated graphs, counted from their snapshots, for the tests of generators.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/generators/generation.hpp"
#include "workloads/workload.hpp"

namespace strobe::test {

/// Fails unless two graphs are equal bit for bit: edges, values, features and labels.
inline void expect_equal_graphs(const SnapshotGraph& a, const SnapshotGraph& b) {
  ASSERT_EQ(a.vertices, b.vertices);
  ASSERT_EQ(a.steps(), b.steps());
  for (std::size_t t = 0; t < a.snapshots.size(); ++t) {
    ASSERT_EQ(a.snapshots[t]->row_offsets, b.snapshots[t]->row_offsets) << t;
    ASSERT_EQ(a.snapshots[t]->columns, b.snapshots[t]->columns) << t;
    ASSERT_EQ(a.snapshots[t]->values, b.snapshots[t]->values) << t;
  }
  EXPECT_EQ(a.features, b.features);
  EXPECT_EQ(a.vertex_label, b.vertex_label);
  EXPECT_EQ(a.cell_label, b.cell_label);
}

/// Fails unless rows are sorted, no edge is a self-loop, and features are the in- and out-degrees of each step.
inline void expect_sound_graph(const SnapshotGraph& graph) {
  const std::size_t vertices = graph.vertices;
  ASSERT_EQ(graph.feature_width, 2);
  ASSERT_EQ(graph.features.size(), graph.snapshots.size() * vertices * 2);
  for (std::size_t t = 0; t < graph.snapshots.size(); ++t) {
    const Snapshot& snapshot = *graph.snapshots[t];
    expect_sorted_rows(snapshot);
    std::vector<float> degrees(vertices * 2, 0.0f);
    for (std::size_t v = 0; v < vertices; ++v) {
      for (std::size_t i = snapshot.row_offsets[v]; i < static_cast<std::size_t>(snapshot.row_offsets[v + 1]); ++i) {
        const std::size_t u = snapshot.columns[i];
        ASSERT_NE(u, v) << "self-loop at step " << t;
        degrees[2 * v] += snapshot.values[i];
        degrees[2 * u + 1] += snapshot.values[i];
      }
    }
    ASSERT_TRUE(std::equal(degrees.begin(), degrees.end(),
                           graph.features.begin() + static_cast<std::ptrdiff_t>(t * vertices * 2)))
        << t;
  }
}

/// Degrees summed over steps, ascending: side 0 = in, 1 = out.
inline std::vector<double> total_degrees(const SnapshotGraph& graph, std::size_t side) {
  const std::size_t vertices = graph.vertices;
  std::vector<double> sums(vertices, 0.0);
  for (std::size_t i = 0; i < graph.features.size() / 2; ++i)
    sums[i % vertices] += static_cast<double>(graph.features[2 * i + side]);
  std::sort(sums.begin(), sums.end());
  return sums;
}

inline std::vector<double> edges_per_step(const SnapshotGraph& graph) {
  std::vector<double> sizes;
  for (const auto& snapshot : graph.snapshots) sizes.push_back(static_cast<double>(snapshot->nonzeros()));
  return sizes;
}

inline double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

inline double variance(const std::vector<double>& values) {
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return sum / static_cast<double>(values.size());
}

/// The value below which a share of the ascending values lies.
inline double quantile(const std::vector<double>& ascending, double share) {
  return ascending[static_cast<std::size_t>(share * static_cast<double>(ascending.size() - 1) + 0.5)];
}

/// Largest difference between the shares of `a` and of `b` (both ascending) that are at most x, over all x (Kolmogorov
/// and Smirnov).
inline double largest_share_gap(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (const std::vector<double>* values : {&a, &b}) {
    for (const double x : *values) {
      const auto share = [x](const std::vector<double>& v) {
        return static_cast<double>(std::upper_bound(v.begin(), v.end(), x) - v.begin()) / static_cast<double>(v.size());
      };
      largest = std::max(largest, std::abs(share(a) - share(b)));
    }
  }
  return largest;
}

/// The share of the sum that the largest 1 % of the ascending values have.
inline double top_share(const std::vector<double>& ascending) {
  const std::ptrdiff_t top = ascending.size() / 100;
  return std::accumulate(ascending.end() - top, ascending.end(), 0.0) /
         std::accumulate(ascending.begin(), ascending.end(), 0.0);
}

/// The parameter that the refusal of `parameters` names; "" when they are accepted.
inline std::string refused_parameter(const std::string& generator, const Json& parameters) {
  try {
    load_workload(generator, parameters, 1);
  } catch (const InvalidRequest& error) {
    return error.where();
  }
  return "";
}

}  // namespace strobe::test
