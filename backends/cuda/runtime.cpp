// Implements runtime.hpp with the CUDA runtime. Every return code is checked.
#include "backends/cuda/runtime.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <memory>

#include "core/errors.hpp"

#ifndef STROBE_CUDA_ARCHITECTURES
#define STROBE_CUDA_ARCHITECTURES "unknown"
#endif

namespace strobe::cuda::runtime {
namespace {

[[noreturn]] void translate(cudaError_t error, const char* what) {
  const std::string text = fmt::format("{}: {} ({})", what, cudaGetErrorString(error), cudaGetErrorName(error));
  switch (error) {
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorInvalidDeviceFunction:
      throw Unavailable(fmt::format(
          "{}; this program was built for the architectures {}: configure with -DSTROBE_CUDA_ARCHITECTURES=native",
          text, STROBE_CUDA_ARCHITECTURES));
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorInvalidDevice:
      throw Unavailable(text);
    case cudaErrorMemoryAllocation:  // of a graph, an event, pinned memory: the pool's is the device's to report
      (void)cudaGetLastError();
      throw OutOfMemory(text);
    default:
      throw SystemError(text);
  }
}

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) translate(error, what);
}

cudaStream_t stream_of(StreamHandle handle) { return static_cast<cudaStream_t>(handle); }
cudaEvent_t event_of(EventHandle handle) { return static_cast<cudaEvent_t>(handle); }

/// Memory stays with the process when it is released, as asking the driver again would cost more than a narrow kernel;
/// and GPUs that can reach each other's memory may, so that ranks of one process copy and add up across them.
void set_up_pool(int ordinal) {
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, ordinal), "memory pool");
  std::uint64_t keep = ~std::uint64_t{0};
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), "memory pool's threshold");
  int count = 0;
  check(cudaGetDeviceCount(&count), "number of GPUs");
  for (int other = 0; other < count; ++other) {
    int reaches = 0;
    if (other == ordinal) continue;
    check(cudaDeviceCanAccessPeer(&reaches, other, ordinal), "reach between GPUs");
    if (reaches == 0) continue;
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = other;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    check(cudaMemPoolSetAccess(pool, &access, 1), "access between GPUs");
  }
}

}  // namespace

int device_count(std::string& reason) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    reason = fmt::format("no GPU can be used: {} ({}); `nvidia-smi` shows what the driver sees",
                         cudaGetErrorString(error), cudaGetErrorName(error));
    return 0;
  }
  if (count == 0) reason = "the driver sees no GPU; CUDA_VISIBLE_DEVICES may hide it";
  return count;
}

Properties properties(int ordinal) {
  cudaDeviceProp found{};
  check(cudaGetDeviceProperties(&found, ordinal), "properties of the GPU");
  return {found.name, found.major, found.minor, found.multiProcessorCount, found.totalGlobalMem};
}

LaunchLimits launch_limits() {
  int ordinal = 0, multiprocessors = 0, shared = 0;
  check(cudaGetDevice(&ordinal), "the chosen GPU");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, ordinal), "multiprocessors");
  check(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal), "shared memory");
  return {multiprocessors, static_cast<std::size_t>(shared)};
}

void allow_shared(const void* kernel, std::size_t bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "shared memory of a kernel");
}

void select(int ordinal) {
  check(cudaSetDevice(ordinal), "choosing the GPU");
  set_up_pool(ordinal);
}

void set_thread_order(int) {}

StreamHandle make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  return stream;
}

void release_stream(StreamHandle stream) { check(cudaStreamDestroy(stream_of(stream)), "end of a stream"); }

void synchronize(StreamHandle stream) { check(cudaStreamSynchronize(stream_of(stream)), "waiting for a stream"); }

EventHandle make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "event");
  return event;
}

void release_event(EventHandle event) { (void)cudaEventDestroy(event_of(event)); }

void record(EventHandle event, StreamHandle stream) {
  check(cudaEventRecord(event_of(event), stream_of(stream)), "recording an event");
}

void wait(StreamHandle stream, EventHandle event) {
  check(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0), "stream waiting for an event");
}

bool complete(EventHandle event) {
  const cudaError_t answer = cudaEventQuery(event_of(event));
  if (answer == cudaErrorNotReady) return false;
  check(answer, "asking for an event");
  return true;
}

void synchronize_event(EventHandle event) { check(cudaEventSynchronize(event_of(event)), "waiting for an event"); }

double seconds_between(EventHandle first, EventHandle second) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, event_of(first), event_of(second)), "time between events");
  return static_cast<double>(milliseconds) * 1e-3;
}

void trim_pool(int ordinal, std::size_t keep) {
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, ordinal), "memory pool");
  check(cudaMemPoolTrimTo(pool, keep), "idle memory of the pool");
}

std::byte* allocate(std::size_t bytes, StreamHandle stream) {
  void* memory = nullptr;
  const cudaError_t error = cudaMallocAsync(&memory, bytes, stream_of(stream));
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // the next call shall not find it
    return nullptr;
  }
  check(error, "device memory");
  return static_cast<std::byte*>(memory);
}

void release(std::byte* memory, StreamHandle stream) noexcept { (void)cudaFreeAsync(memory, stream_of(stream)); }
std::size_t largest_kept() { return std::size_t{64} << 20; }
void forget(std::byte*, std::size_t) {}

std::byte* allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMallocHost(&memory, bytes), "pinned host memory");
  return static_cast<std::byte*>(memory);
}

void release_pinned(std::byte* memory) noexcept { cudaFreeHost(memory); }

void pin(std::byte* memory, std::size_t bytes) {
  check(cudaHostRegister(memory, bytes, cudaHostRegisterPortable), "pinning host memory");
}

void unpin(std::byte* memory) noexcept { cudaHostUnregister(memory); }

bool is_device_memory(const void* address) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, address), "kind of an address");
  return attributes.type == cudaMemoryTypeDevice;
}

bool reaches(int ordinal, const void* address) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, address), "kind of an address");
  if (attributes.type != cudaMemoryTypeDevice || attributes.device == ordinal) return true;
  int linked = 0;
  check(cudaDeviceCanAccessPeer(&linked, ordinal, attributes.device), "reach between GPUs");
  return linked != 0;
}

void copy(void* to, const void* from, std::size_t bytes, StreamHandle stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(stream)), "copy");
}

void fill_bytes(void* to, int value, std::size_t bytes, StreamHandle stream) {
  check(cudaMemsetAsync(to, value, bytes, stream_of(stream)), "filling memory");
}

namespace {

/// A graph as it was built, which names the nodes of the one that runs.
struct Graph {
  cudaGraph_t built = nullptr;
  cudaGraphExec_t runs = nullptr;
  std::vector<cudaGraphNode_t> nodes;

  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (runs != nullptr) (void)cudaGraphExecDestroy(runs);
    if (built != nullptr) (void)cudaGraphDestroy(built);
  }
};

/// Calls body(parameters of the launch), whose addresses hold until it returns.
template <class Body>
void with_launch(const GraphNode& node, const Body& body) {
  std::vector<void*> addresses(node.signature->parameters);
  for (std::size_t i = 0; i < addresses.size(); ++i) addresses[i] = node.values + node.signature->offsets[i];
  cudaKernelNodeParams launch{};
  launch.func = const_cast<void*>(node.kernel);
  launch.gridDim = dim3(static_cast<unsigned>(node.blocks));
  launch.blockDim = dim3(static_cast<unsigned>(node.threads));
  launch.sharedMemBytes = static_cast<unsigned>(node.shared_bytes);
  launch.kernelParams = addresses.data();
  body(launch);
}

}  // namespace

GraphHandle make_graph(const std::vector<GraphNode>& nodes) {
  auto graph = std::make_unique<Graph>();
  check(cudaGraphCreate(&graph->built, 0), "graph");
  graph->nodes.reserve(nodes.size());
  for (const GraphNode& node : nodes) {
    cudaGraphNode_t made = nullptr;
    const cudaGraphNode_t* before = graph->nodes.empty() ? nullptr : &graph->nodes.back();
    const std::size_t count = graph->nodes.empty() ? 0 : 1;
    if (node.kernel == nullptr) {
      check(cudaGraphAddEventRecordNode(&made, graph->built, before, count, event_of(node.event)), "event in a graph");
    } else {
      with_launch(node, [&](const cudaKernelNodeParams& launch) {
        check(cudaGraphAddKernelNode(&made, graph->built, before, count, &launch), "kernel in a graph");
      });
    }
    graph->nodes.push_back(made);
  }
  check(cudaGraphInstantiate(&graph->runs, graph->built, 0), "graph to run");
  return graph.release();
}

void update_graph(GraphHandle handle, std::size_t index, const GraphNode& node) {
  const auto& graph = *static_cast<Graph*>(handle);
  if (node.kernel == nullptr) {
    check(cudaGraphExecEventRecordNodeSetEvent(graph.runs, graph.nodes[index], event_of(node.event)),
          "another event in a graph");
    return;
  }
  with_launch(node, [&](const cudaKernelNodeParams& launch) {
    check(cudaGraphExecKernelNodeSetParams(graph.runs, graph.nodes[index], &launch), "other parameters in a graph");
  });
}

void launch_graph(GraphHandle graph, StreamHandle stream) {
  check(cudaGraphLaunch(static_cast<Graph*>(graph)->runs, stream_of(stream)), "launch of a graph");
}

void release_graph(GraphHandle graph) noexcept { delete static_cast<Graph*>(graph); }

void push_range(std::string_view name) {
  // Operation names are literals, which end with a zero.
  nvtxRangePushA(name.data());
}

void pop_range() { nvtxRangePop(); }

void check_last(const char* what) { check(cudaGetLastError(), what); }

}  // namespace strobe::cuda::runtime
