#include "backends/cuda/gathered_launches.hpp"

#include <algorithm>

namespace strobe::cuda {
namespace {

/// Whether a graph of `a` can be changed into one of `b`: the same kernels in the same order. Blocks may differ.
bool same_kernels(const std::vector<runtime::GraphNode>& a, const std::vector<runtime::GraphNode>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return one.kernel == other.kernel && one.signature == other.signature;
  });
}

bool same_request(const runtime::GraphNode& a, const runtime::GraphNode& b) {
  if (a.kernel == nullptr) return a.event == b.event;
  return a.blocks == b.blocks && a.threads == b.threads && a.shared_bytes == b.shared_bytes &&
         std::memcmp(a.values, b.values, a.signature->bytes) == 0;
}

/// FNV-1a over the kernels' addresses.
std::uint64_t hash_of(const std::vector<runtime::GraphNode>& nodes) {
  std::uint64_t hash = 14695981039346656037u;
  for (const runtime::GraphNode& node : nodes) {
    hash = (hash ^ reinterpret_cast<std::uintptr_t>(node.kernel)) * 1099511628211u;
  }
  return hash;
}

}  // namespace

std::byte* ParameterMemory::take(std::size_t bytes) {
  constexpr std::size_t alignment = 16;
  bytes = (bytes + alignment - 1) / alignment * alignment;
  if (used_ % chunk_bytes + bytes > chunk_bytes) used_ = (used_ / chunk_bytes + 1) * chunk_bytes;
  const std::size_t chunk = used_ / chunk_bytes;
  if (chunk == chunks_.size()) chunks_.push_back(std::make_unique<Chunk>());
  std::byte* const found = chunks_[chunk]->bytes + used_ % chunk_bytes;
  used_ += bytes;
  return found;
}

GatheredLaunches::GatheredLaunches(runtime::StreamHandle stream, std::size_t most_nodes)
    : stream_(stream), most_nodes_(most_nodes) {}

GatheredLaunches::~GatheredLaunches() {
  for (auto& [place, graph] : graphs_) runtime::release_graph(graph.handle);
  for (const runtime::GraphHandle handle : replaced_) runtime::release_graph(handle);
}

void GatheredLaunches::add(const runtime::GraphNode& node) {
  nodes_.push_back(node);
  if (nodes_.size() >= most_nodes_) launch();
}

void GatheredLaunches::launch() {
  if (nodes_.empty()) return;
  const auto drop = [this] {
    nodes_.clear();
    memory_.clear();
  };
  try {
    launch_nodes();
  } catch (...) {
    drop();
    throw;
  }
  drop();
}

void GatheredLaunches::launch_nodes() {
  const std::uint64_t hash = hash_of(nodes_);
  Graph& graph = graphs_[{hash, occurrences_[hash]++}];
  if (graph.handle != nullptr && same_kernels(graph.nodes, nodes_)) {
    change(graph);
  } else {
    release(graph);
    make(graph);
  }
  runtime::launch_graph(graph.handle, stream_);
  ++counts_.launches;
  counts_.nodes += nodes_.size();
}

void GatheredLaunches::make(Graph& graph) {
  graph.handle = runtime::make_graph(nodes_);
  graph.nodes = nodes_;
  graph.memory.clear();
  for (runtime::GraphNode& node : graph.nodes) {
    if (node.kernel == nullptr) continue;
    std::byte* const values = graph.memory.take(node.signature->bytes);
    std::memcpy(values, node.values, node.signature->bytes);
    node.values = values;
  }
  total_nodes_ += nodes_.size();
  ++counts_.made;
}

void GatheredLaunches::change(Graph& graph) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    runtime::GraphNode& known = graph.nodes[i];
    if (same_request(known, nodes_[i])) continue;
    runtime::update_graph(graph.handle, i, nodes_[i]);
    std::byte* const values = known.values;
    if (values != nullptr) std::memcpy(values, nodes_[i].values, known.signature->bytes);
    known = nodes_[i];
    known.values = values;
    ++counts_.changed_nodes;
  }
}

void GatheredLaunches::release(Graph& graph) {
  if (graph.handle == nullptr) return;
  replaced_.push_back(graph.handle);
  total_nodes_ -= graph.nodes.size();
  graph.handle = nullptr;
}

void GatheredLaunches::begin_anew() {
  occurrences_.clear();
  if (total_nodes_ > kept_nodes) {
    for (auto& [place, graph] : graphs_) release(graph);
    graphs_.clear();
  }
  for (const runtime::GraphHandle handle : replaced_) runtime::release_graph(handle);
  replaced_.clear();
}

}  // namespace strobe::cuda
