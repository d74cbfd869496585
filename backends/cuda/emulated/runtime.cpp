// The runtime of the emulation: device memory of its own (device_memory.hpp), and everything done at once,
// so streams and events are always complete.
#include "backends/cuda/runtime.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "backends/cuda/emulated/device_memory.hpp"
#include "backends/cuda/emulated/language.hpp"
#include "backends/cuda/emulated/open_handles.hpp"
#include "backends/cuda/emulated/size.hpp"
#include "core/errors.hpp"

namespace strobe::cuda::runtime {
namespace {

struct HostEvent {
  std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
};

std::atomic<int> events_alive{0}, allocations_idle{0};
thread_local int ranges_open = 0;

std::byte* aligned(std::size_t bytes) {
  constexpr std::size_t alignment = 256;  // CUDA's own
  return static_cast<std::byte*>(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
}

}  // namespace

int device_count(std::string&) { return 1; }
Properties properties(int) { return {"emulated on the host", 9, 0, 4, std::size_t{4} << 30}; }
LaunchLimits launch_limits() { return {emulated::multiprocessors, emulated::most_allowed_bytes}; }
void allow_shared(const void* kernel, std::size_t bytes) { emulated::allow_shared(kernel, bytes); }
void select(int) {}
void set_thread_order(int threads) {
  emulated::set_order(threads % 2 == 0 ? emulated::Order::backward : emulated::Order::forward);
}

StreamHandle make_stream() { return nullptr; }
void release_stream(StreamHandle) {}
void synchronize(StreamHandle) {}
EventHandle make_event() {
  ++events_alive;
  return new HostEvent;
}
void release_event(EventHandle event) {
  --events_alive;
  delete static_cast<HostEvent*>(event);
}
void record(EventHandle event, StreamHandle) { *static_cast<HostEvent*>(event) = HostEvent(); }
void wait(StreamHandle, EventHandle) {}
bool complete(EventHandle) { return true; }
void synchronize_event(EventHandle) {}
double seconds_between(EventHandle first, EventHandle second) {
  return std::chrono::duration<double>(static_cast<HostEvent*>(second)->time - static_cast<HostEvent*>(first)->time)
      .count();
}

void trim_pool(int, std::size_t) { allocations_idle = 0; }

std::byte* allocate(std::size_t bytes, StreamHandle) { return emulated::allocate_device(bytes); }
void release(std::byte* memory, StreamHandle) noexcept {
  ++allocations_idle;
  emulated::release_device(memory);
}
/// None where the address sanitizer watches for uses of what was released.
std::size_t largest_kept() { return emulated::is_ordinary_memory() ? 0 : std::size_t{64} << 20; }
void forget(std::byte* memory, std::size_t bytes) {
  const emulated::DeviceAccess access;
  std::memset(memory, 0xff, bytes);
}
/// There is one GPU; a test may say that its ranks have GPUs of their own without links.
bool reaches(int, const void*) { return std::getenv("STROBE_EMULATED_WITHOUT_LINKS") == nullptr; }
bool is_device_memory(const void* address) { return emulated::is_device(address); }
std::byte* allocate_pinned(std::size_t bytes) { return aligned(bytes); }
void release_pinned(std::byte* memory) noexcept { std::free(memory); }
void pin(std::byte*, std::size_t) {}
void unpin(std::byte*) noexcept {}
void copy(void* to, const void* from, std::size_t bytes, StreamHandle) {
  const emulated::DeviceAccess access;
  std::memcpy(to, from, bytes);
}
void fill_bytes(void* to, int value, std::size_t bytes, StreamHandle) {
  const emulated::DeviceAccess access;
  std::memset(to, value, bytes);
}

namespace {

/// Nodes with parameters of their own, as a GPU's graph has.
struct Graph {
  std::vector<GraphNode> nodes;
  std::vector<std::vector<std::max_align_t>> values;

  void set(std::size_t i, const GraphNode& node) {
    nodes[i] = node;
    if (node.kernel == nullptr) return;
    values[i].resize(node.signature->bytes / sizeof(std::max_align_t) + 1);
    std::memcpy(values[i].data(), node.values, node.signature->bytes);
    nodes[i].values = reinterpret_cast<std::byte*>(values[i].data());
  }
};

}  // namespace

GraphHandle make_graph(const std::vector<GraphNode>& nodes) {
  auto* graph =
      new Graph{std::vector<GraphNode>(nodes.size()), std::vector<std::vector<std::max_align_t>>(nodes.size())};
  for (std::size_t i = 0; i < nodes.size(); ++i) graph->set(i, nodes[i]);
  return graph;
}

void update_graph(GraphHandle graph, std::size_t index, const GraphNode& node) {
  const GraphNode& known = static_cast<Graph*>(graph)->nodes.at(index);
  if (known.kernel != node.kernel || known.signature != node.signature) throw Error("a graph's node keeps its kernel");
  static_cast<Graph*>(graph)->set(index, node);
}

void launch_graph(GraphHandle graph, StreamHandle stream) {
  for (const GraphNode& node : static_cast<Graph*>(graph)->nodes) {
    if (node.kernel != nullptr) {
      node.signature->run(node);
    } else {
      record(node.event, stream);
    }
  }
}

void release_graph(GraphHandle graph) noexcept { delete static_cast<Graph*>(graph); }

void check_last(const char*) {}
void push_range(std::string_view) { ++ranges_open; }
void pop_range() { --ranges_open; }

}  // namespace strobe::cuda::runtime

namespace strobe::cuda::emulated {

int live_events() { return runtime::events_alive; }
int open_ranges() { return runtime::ranges_open; }
int idle_allocations() { return runtime::allocations_idle; }

}  // namespace strobe::cuda::emulated
