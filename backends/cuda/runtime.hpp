// The part of the CUDA runtime that the device uses, as functions that the emulation (emulated/runtime.cpp) also
// provides. Handles are CUDA's own. All throw the error that `translate` in runtime.cpp makes of CUDA's answer:
// a program built for other GPUs and a missing driver are Unavailable, memory that the driver does not get is
// OutOfMemory (a full pool is null and left to the caller), all else SystemError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace strobe::cuda::runtime {

using StreamHandle = void*;
using EventHandle = void*;

/// GPUs that this process sees; 0 with the reason in `reason`.
int device_count(std::string& reason);

struct Properties {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
};
Properties properties(int ordinal);

/// Limits of launches on the calling thread's GPU.
struct LaunchLimits {
  int multiprocessors = 0;
  std::size_t shared_bytes = 0;  // of a block whose kernel was allowed them
};
LaunchLimits launch_limits();
/// Lets the blocks of `kernel` have up to `bytes` of dynamic shared memory on the calling thread's GPU, where a launch
/// without a word has at most 48 KiB.
void allow_shared(const void* kernel, std::size_t bytes);

/// Makes `ordinal` the calling thread's GPU.
void select(int ordinal);
/// Throws Unavailable when the program holds no code for the calling thread's GPU.
void check_architecture();

/// Emulation only: reversed for an even number, so that tests of several thread counts find what depends on the order.
void set_thread_order(int threads);

StreamHandle make_stream();
void release_stream(StreamHandle stream);
void synchronize(StreamHandle stream);
/// Events keep times. Waiting for an event that was never recorded is no wait.
EventHandle make_event();
void release_event(EventHandle event);
void record(EventHandle event, StreamHandle stream);
void wait(StreamHandle stream, EventHandle event);
bool complete(EventHandle event);
void synchronize_event(EventHandle event);
/// Between two events that are complete.
double seconds_between(EventHandle first, EventHandle second);

/// Gives the memory of the GPU's pool that nobody has or waits for back to the driver, all but `keep` bytes of it.
void trim_pool(int ordinal, std::size_t keep);

/// Device memory in the order of the stream, from the GPU's pool; null when there is none left.
std::byte* allocate(std::size_t bytes, StreamHandle stream);
void release(std::byte* memory, StreamHandle stream) noexcept;
/// Memory of more bytes is not worth keeping: asking for it again is a small part of what a kernel over it takes.
std::size_t largest_kept();
/// Emulation only: what lies there is nobody's any more, and NaN to whoever reads it.
void forget(std::byte* memory, std::size_t bytes);
/// Host memory that the GPU reads and writes by itself. Throws SystemError when there is none.
std::byte* allocate_pinned(std::size_t bytes);
void release_pinned(std::byte* memory) noexcept;
/// The same of memory that is there already, whole pages, until it is unpinned.
void pin(std::byte* memory, std::size_t bytes);
void unpin(std::byte* memory) noexcept;

bool is_device_memory(const void* address);
/// Whether launches on GPU `ordinal` may read and write at `address`: its own memory, the host's, or that of a GPU
/// which it is linked to.
bool reaches(int ordinal, const void* address);
/// Asynchronous copies; which side is the device is known from the addresses.
void copy(void* to, const void* from, std::size_t bytes, StreamHandle stream);
void fill_bytes(void* to, int value, std::size_t bytes, StreamHandle stream);

struct GraphNode;

/// The memory layout of a kernel's parameters, one for each signature.
struct KernelSignature {
  const std::size_t* offsets = nullptr;  // of each parameter in the block of all, which is aligned to 16 bytes
  std::size_t parameters = 0;
  std::size_t bytes = 0;                    // of the block
  void (*run)(const GraphNode&) = nullptr;  // emulation only: carries a launch out
};

/// One node of a graph: a kernel's launch or, without a kernel, the recording of an event.
struct GraphNode {
  const void* kernel = nullptr;  // the function that a launch names
  const KernelSignature* signature = nullptr;
  std::int64_t blocks = 0;
  int threads = 0;
  std::size_t shared_bytes = 0;
  std::byte* values = nullptr;  // of the parameters
  EventHandle event = nullptr;
};
using GraphHandle = void*;

/// Nodes one after another, ready to be given to a stream at once, again and again. `values` may be gone afterwards.
GraphHandle make_graph(const std::vector<GraphNode>& nodes);
/// Later launches take node `index` as `node` says: the same kernel with other parameters or blocks, or another event.
void update_graph(GraphHandle graph, std::size_t index, const GraphNode& node);
void launch_graph(GraphHandle graph, StreamHandle stream);
/// The last launch must have ended.
void release_graph(GraphHandle graph) noexcept;

/// Throws what a launch on this thread failed with.
void check_last(const char* what);

/// A range in a profiler's timeline (NVTX), nested per thread.
void push_range(std::string_view name);
void pop_range();

}  // namespace strobe::cuda::runtime
