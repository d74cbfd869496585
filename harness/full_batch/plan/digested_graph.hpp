// A prepared graph with the digest of its values. The digest is computed at the first request.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// SHA-256 of the digests of all steps. Cost O(values), or O(T) of a mapped graph.
std::string digest_of(const PreparedGraph& graph);

/// Shared by the plans of all cases that read the graph.
class DigestedGraph {
 public:
  explicit DigestedGraph(PreparedGraph graph) : graph_(std::move(graph)) {}

  const PreparedGraph& graph() const { return graph_; }
  const std::string& digest() const;

 private:
  PreparedGraph graph_;
  mutable std::once_flag made_;
  mutable std::string digest_;
};

}  // namespace strobe
