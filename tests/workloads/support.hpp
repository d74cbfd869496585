// Temporary files and small graphs for the tests of workloads.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "workloads/graph/graph.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe::test {

/// Limits the threads of workloads to `count`, and lifts the limit at its end.
struct Threads {
  explicit Threads(int count) { limit_workload_threads(count); }
  ~Threads() { limit_workload_threads(0); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
};

/// Whether a note of the graph's provenance has `fragment` in it.
template <class Graph>
bool any_note(const Graph& graph, const std::string& fragment) {
  return std::any_of(graph.provenance.notes.begin(), graph.provenance.notes.end(),
                     [&](const std::string& note) { return note.find(fragment) != std::string::npos; });
}

/// A folder that disappears with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "strobe-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  std::string file(const std::string& name) const { return (path_ / name).string(); }

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
  }

 private:
  std::filesystem::path path_;
};

/// `times` packed; empty when they cannot be or would not be smaller.
inline PackedTimes pack(const std::vector<double>& times) {
  return PackedTimes::pack(times.size(), [&](std::size_t first, std::span<double> out) {
    std::copy_n(times.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
  });
}

inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string write_gzip(const std::string& path, const std::string& content) {
  gzFile file = gzopen(path.c_str(), "wb9");
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
  return path;
}

/// Events (u, v, time[, weight]) already in time order over `vertices` vertices.
inline EventGraph make_events(std::int64_t vertices, const std::vector<std::tuple<int, int, double>>& rows,
                              std::vector<float> weights = {}) {
  EventGraph graph;
  graph.vertices = vertices;
  for (const auto& [u, v, t] : rows) {
    graph.source.push_back(u);
    graph.target.push_back(v);
    graph.time.push_back(t);
  }
  for (std::int64_t v = 0; v < vertices; ++v) graph.original_id.push_back(v);
  graph.weight = std::move(weights);
  return graph;
}

/// The snapshot as a dense matrix [row][column].
inline std::vector<std::vector<double>> dense(const Snapshot& snapshot) {
  const std::size_t n = snapshot.row_offsets.size() - 1;
  std::vector<std::vector<double>> matrix(n, std::vector<double>(n, 0.0));
  for (std::size_t v = 0; v < n; ++v) {
    for (std::size_t i = snapshot.row_offsets[v]; i < static_cast<std::size_t>(snapshot.row_offsets[v + 1]); ++i) {
      matrix[v][snapshot.columns[i]] += static_cast<double>(snapshot.values[i]);
    }
  }
  return matrix;
}

/// Fails unless columns of every row are sorted, distinct and within range.
inline void expect_sorted_rows(const Snapshot& snapshot) {
  const auto n = static_cast<VertexId>(snapshot.row_offsets.size() - 1);
  ASSERT_EQ(snapshot.row_offsets.front(), 0);
  ASSERT_EQ(snapshot.row_offsets.back(), snapshot.nonzeros());
  ASSERT_EQ(snapshot.columns.size(), snapshot.values.size());
  for (std::size_t v = 0; v + 1 < snapshot.row_offsets.size(); ++v) {
    for (std::size_t i = snapshot.row_offsets[v]; i < static_cast<std::size_t>(snapshot.row_offsets[v + 1]); ++i) {
      ASSERT_TRUE(snapshot.columns[i] >= 0 && snapshot.columns[i] < n);
      const bool first = i == static_cast<std::size_t>(snapshot.row_offsets[v]);
      ASSERT_TRUE(first || snapshot.columns[i - 1] < snapshot.columns[i]);
    }
  }
}

}  // namespace strobe::test
