// The words of CUDA C++ that kernels use, carried out on the host. Threads of a block are coroutines that run until
// they reach a barrier or a warp primitive; blocks run one after the other. It is a judge of results, not of speed, and
// stricter than a GPU in four ways: a barrier that a finished thread never reaches is an error, memory starts as NaN,
// shared memory with every block, thread order can be reversed (what depends on it changes its bits), and the address
// sanitizer sees every access. STROBE_SHARED declares static shared memory; __shared__ is not a word here.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)

namespace strobe::cuda::emulated {

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};

/// Where the running thread is.
struct Place {
  Index3 thread, block, threads, blocks;
  std::uint64_t begun = 0;  // blocks, the running one included, since the calling thread's first
};
extern constinit thread_local Place place;  // constinit: read without a call that would initialise it

/// In which order a block's threads run between barriers. Per calling thread.
enum class Order { forward, backward };
void set_order(Order order);

/// Limits of a launch: by default, and for a kernel that was allowed more. CUDA C++ Programming Guide, table of
/// technical specifications, compute capability 7.5 to 10.0 and 9.0.
inline constexpr std::size_t most_shared_bytes = 48 * 1024, most_allowed_bytes = 227 * 1024;
inline constexpr std::int64_t most_blocks = (std::int64_t{1} << 31) - 1;
inline constexpr int most_threads = 1024;

/// Runs every block of the grid to its end. Throws SystemError with CUDA's answer for a launch beyond the bounds above
/// or of nothing (static shared memory is known, and counted, when a block has run), Error when threads wait for each
/// other in vain. `allowed` is the kernel whose word counts for shared memory.
void run_grid(void* stream, std::int64_t blocks, int threads, std::size_t shared_bytes,
              const std::function<void()>& kernel, const void* allowed = nullptr);
/// Launches of `kernel` may have `bytes` of dynamic shared memory, in addition to static shared memory. Throws
/// SystemError beyond the bound.
void allow_shared(const void* kernel, std::size_t bytes);

std::byte* shared_memory();
/// The running block has a variable of `bytes` in static shared memory.
void count_static_shared(std::size_t bytes);

/// A variable in static shared memory; one for each calling thread, whose blocks run one after another.
template <class T>
class StaticShared {
 public:
  static_assert(std::is_trivial_v<T>, "shared memory is not initialised");

  /// The running block's: every bit is set when its first thread gets here.
  T& of_block() {
    if (block_ != place.begun) {
      block_ = place.begun;
      count_static_shared(sizeof(T));
      std::memset(&value_, 0xff, sizeof(T));
    }
    return value_;
  }

 private:
  alignas(16) T value_{};
  std::uint64_t block_ = 0;
};

void block_barrier();
/// Waits for the lanes in `mask` of the running thread's warp.
void warp_barrier(unsigned mask);
/// Where the running thread publishes a value of at most 16 bytes and, when all have, finds that of lane `source`; a
/// lane outside [0, 31] gives its own. To be asked for once an exchange.
struct ExchangeSlots {
  std::byte* own;
  const std::byte* other;
};
ExchangeSlots exchange_slots(int source);

/// The value of lane `source`; all lanes in `mask` take part.
template <class T>
T exchanged(unsigned mask, T value, int source) {
  static_assert(sizeof(T) <= 16 && std::is_trivially_copyable_v<T>, "a slot's bytes");
  const ExchangeSlots slots = exchange_slots(source);
  std::memcpy(slots.own, &value, sizeof(T));
  warp_barrier(mask);
  T result{};
  std::memcpy(&result, slots.other, sizeof(T));
  return result;
}
inline int own_lane() { return static_cast<int>(place.thread.x % 32); }

}  // namespace strobe::cuda::emulated

#define STROBE_SHARED(type, name)                                                           \
  static constinit thread_local ::strobe::cuda::emulated::StaticShared<type> name##_shared; \
  auto& name = name##_shared.of_block()
#define threadIdx (::strobe::cuda::emulated::place.thread)
#define blockIdx (::strobe::cuda::emulated::place.block)
#define blockDim (::strobe::cuda::emulated::place.threads)
#define gridDim (::strobe::cuda::emulated::place.blocks)

inline void __syncthreads() { strobe::cuda::emulated::block_barrier(); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { strobe::cuda::emulated::warp_barrier(mask); }
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int lane = strobe::cuda::emulated::own_lane(), first = lane / width * width;
  return strobe::cuda::emulated::exchanged(mask, value, first + source % width);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits) {
  return strobe::cuda::emulated::exchanged(mask, value, strobe::cuda::emulated::own_lane() ^ bits);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, int distance, int width = 32) {
  const int lane = strobe::cuda::emulated::own_lane();
  const bool inside = lane % width + distance < width;
  return strobe::cuda::emulated::exchanged(mask, value, inside ? lane + distance : lane);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, int distance, int width = 32) {
  const int lane = strobe::cuda::emulated::own_lane();
  return strobe::cuda::emulated::exchanged(mask, value, lane % width >= distance ? lane - distance : lane);
}
inline int __ffs(int value) { return __builtin_ffs(value); }
inline unsigned __ballot_sync(unsigned mask, bool vote) {
  unsigned votes = 0;
  for (int lane = 0; lane < 32; ++lane) {
    const unsigned one = strobe::cuda::emulated::exchanged(mask, vote ? 1u : 0u, lane);
    if ((mask >> lane & 1u) != 0) votes |= one << lane;
  }
  return votes;
}

// Threads run one at a time, so plain reads and writes are atomic.
template <class T>
T atomicAdd(T* to, T value) {
  const T before = *to;
  *to = before + value;
  return before;
}
template <class T>
T atomicMin(T* to, T value) {
  const T before = *to;
  *to = std::min(before, value);
  return before;
}
template <class T>
T atomicMax(T* to, T value) {
  const T before = *to;
  *to = std::max(before, value);
  return before;
}
template <class T>
T atomicExch(T* to, T value) {
  const T before = *to;
  *to = value;
  return before;
}
template <class T>
T __ldg(const T* from) {
  return *from;
}
using std::max;
using std::min;

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline double2 make_double2(double x, double y) { return {x, y}; }
