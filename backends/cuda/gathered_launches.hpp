// Gathers launches into CUDA graphs: the GPU gets kernels a whole stretch at a time instead of one by one. A stretch
// that repeats, as every block of a later epoch does, is replayed. At width 6 a kernel takes less time than its launch,
// so single launches would bound an epoch. Nothing is captured from a stream. The launches themselves are stored and
// compared, so a stretch with other addresses, random keys or events replays the same graph with those nodes changed,
// and no call is forbidden in between. Invariants: nodes run in the order in which they were added; any other use of
// the stream launches first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "backends/cuda/runtime.hpp"

namespace strobe::cuda {

/// Memory for parameters with fixed addresses. Used again after `clear`.
class ParameterMemory {
 public:
  std::byte* take(std::size_t bytes);
  void clear() { used_ = 0; }

 private:
  static constexpr std::size_t chunk_bytes = std::size_t{64} << 10;
  struct alignas(16) Chunk {
    std::byte bytes[chunk_bytes];
  };
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::size_t used_ = 0;  // bytes, whole chunks included
};

/// Counts of launches of gathered stretches, of their nodes in all, of graphs made for them, and of nodes changed
/// before a graph was launched again.
struct GraphCounts {
  std::uint64_t launches = 0, nodes = 0, made = 0, changed_nodes = 0;
};

/// The launches of one rank's compute stream. Used by its rank's thread only.
class GatheredLaunches {
 public:
  /// Gathers up to `most_nodes` before it launches by itself.
  explicit GatheredLaunches(runtime::StreamHandle stream, std::size_t most_nodes = 2048);
  /// The stream must be idle. Drops launches that were gathered and not launched.
  ~GatheredLaunches();
  GatheredLaunches(const GatheredLaunches&) = delete;
  GatheredLaunches& operator=(const GatheredLaunches&) = delete;

  bool empty() const { return nodes_.empty(); }
  const GraphCounts& counts() const { return counts_; }

  /// Zeroed room for a launch's parameters, in the order of its signature, kept until the launch.
  std::byte* parameters(const runtime::KernelSignature& signature) {
    return static_cast<std::byte*>(std::memset(memory_.take(signature.bytes), 0, signature.bytes));
  }
  void add(const runtime::GraphNode& node);
  void add_event(runtime::EventHandle event) { add({nullptr, nullptr, 0, 0, 0, nullptr, event}); }
  /// The event that the last node records; null when it records none, or nothing is gathered.
  runtime::EventHandle last_event() const { return nodes_.empty() ? nullptr : nodes_.back().event; }

  /// Gives the stream the gathered launches. Throws the same as a launch; the gathered launches are dropped then.
  void launch();
  /// Call this when the stream is idle: it starts the count of an epoch's stretches again and releases graphs beyond
  /// the bound.
  void begin_anew();

 private:
  /// A graph, and the current parameters of its nodes.
  struct Graph {
    runtime::GraphHandle handle = nullptr;
    std::vector<runtime::GraphNode> nodes;
    ParameterMemory memory;
  };
  /// Hash of a stretch's kernels in order, and its number of occurrences so far.
  using Place = std::pair<std::uint64_t, std::uint64_t>;

  void launch_nodes();
  void make(Graph& graph);
  void change(Graph& graph);
  void release(Graph& graph);

  static constexpr std::size_t kept_nodes = std::size_t{1} << 20;  // of all graphs together

  runtime::StreamHandle stream_;
  std::size_t most_nodes_;
  std::vector<runtime::GraphNode> nodes_;
  ParameterMemory memory_;
  std::map<Place, Graph> graphs_;
  std::map<std::uint64_t, std::uint64_t> occurrences_;
  std::vector<runtime::GraphHandle> replaced_;  // perhaps still running
  std::size_t total_nodes_ = 0;
  GraphCounts counts_;
};

}  // namespace strobe::cuda
