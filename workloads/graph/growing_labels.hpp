// Timed labels that arrive one after the other.
#pragma once

#include "workloads/graph/graph.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {

/// The arrays of TimedLabels while they grow. Under a bound of memory (reading_bound.hpp) large ones move into
/// temporary files.
struct GrowingLabels {
  GrowingColumn<VertexId> vertex{};
  GrowingColumn<double> time{};
  GrowingColumn<std::int32_t> label{};
  GrowingColumn<float> share{};

  void add(VertexId of, double at, std::int32_t of_class, float weight) {
    vertex.push_back(of), time.push_back(at), label.push_back(of_class), share.push_back(weight);
  }
  void append(const GrowingLabels& more) {
    vertex.append(more.vertex.data(), more.vertex.size()), time.append(more.time.data(), more.time.size());
    label.append(more.label.data(), more.label.size()), share.append(more.share.data(), more.share.size());
  }
  /// The labels; this is empty then.
  TimedLabels finish() { return {vertex.finish(), time.finish(), label.finish(), share.finish()}; }
};

}  // namespace strobe
