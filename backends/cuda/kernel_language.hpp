// The language of kernels: CUDA C++ where nvcc compiles them; elsewhere the same words run on the host, one
// block after another (emulated/), so that the source of every kernel is judged on machines without a GPU. A .cu file
// keeps its names in a namespace called like itself: several are compiled as one (strobe_unite_cuda).
#pragma once

#if defined(__CUDACC__)
#include <cuda_runtime.h>
/// `name` of this type, an array's with its bounds, in static shared memory.
#define STROBE_SHARED(type, name) __shared__ std::type_identity_t<type> name
#else
#include "backends/cuda/emulated/language.hpp"
#endif

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "backends/cuda/gathered_launches.hpp"
#include "backends/cuda/runtime.hpp"
#include "backends/kernel.hpp"

namespace strobe::cuda {

inline constexpr int warp_lanes = 32;

/// Shared memory whose size the launch gives.
template <class T>
__device__ T* dynamic_shared() {
#if defined(__CUDACC__)
  extern __shared__ __align__(16) unsigned char memory[];
  return reinterpret_cast<T*>(memory);
#else
  return reinterpret_cast<T*>(emulated::shared_memory());
#endif
}

/// The signature of kernels with these parameters: their offsets in a struct, and the function that runs a gathered
/// launch in the emulation.
template <class... Parameters>
struct SignatureOf {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...), "parameters travel as bytes");
  static_assert(((alignof(Parameters) <= 16) && ...), "the block of parameters is aligned to 16 bytes");

  static constexpr std::array<std::size_t, sizeof...(Parameters) + 1> offsets = [] {
    std::array<std::size_t, sizeof...(Parameters) + 1> found{};
    std::size_t end = 0, i = 0;
    ((found[i++] = end = (end + alignof(Parameters) - 1) / alignof(Parameters) * alignof(Parameters),
      end += sizeof(Parameters)),
     ...);
    found[i] = end;
    return found;
  }();

  static void run(const runtime::GraphNode& node) {
#if !defined(__CUDACC__)
    run_with(node, std::index_sequence_for<Parameters...>());
#else
    (void)node;
#endif
  }

  static constexpr runtime::KernelSignature value{offsets.data(), sizeof...(Parameters), offsets[sizeof...(Parameters)],
                                                  run};

 private:
#if !defined(__CUDACC__)
  template <std::size_t... I>
  static void run_with(const runtime::GraphNode& node, std::index_sequence<I...>) {
    const auto kernel = reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(node.kernel));
    emulated::run_grid(
        nullptr, node.blocks, node.threads, node.shared_bytes,
        [&] { kernel(*reinterpret_cast<const Parameters*>(node.values + offsets[I])...); }, node.kernel);
  }
#endif
};

/// Writes a parameter with zeros between its members, if the compiler can: random bytes there must not make one launch
/// differ from another.
template <class T>
void write_parameter(std::byte* to, T value) {
  // g++ 12 clears bytes other than the padding of a struct of 1176 bytes; up to 520 bytes it was seen right.
  static_assert(sizeof(T) <= 640 || std::has_unique_object_representations_v<T>, "a large parameter has no padding");
#if defined(__has_builtin) && (!defined(__CUDACC__) || __CUDACC_VER_MAJOR__ >= 13)  // not known to nvcc 12
#if __has_builtin(__builtin_clear_padding)
  __builtin_clear_padding(&value);
#endif
#endif
  std::memcpy(to, &value, sizeof(T));
}

/// Adds a launch to the gathered ones.
template <class... Parameters>
void gather(GatheredLaunches& gathered, void (*kernel)(Parameters...), std::int64_t blocks, int threads,
            std::size_t shared_bytes, const std::type_identity_t<Parameters>&... values) {
  using Signature = SignatureOf<Parameters...>;
  std::byte* const block = gathered.parameters(Signature::value);
  [[maybe_unused]] std::size_t i = 0;
  (write_parameter<Parameters>(block + Signature::offsets[i++], values), ...);
  gathered.add(
      {reinterpret_cast<const void*>(kernel), &Signature::value, blocks, threads, shared_bytes, block, nullptr});
}

/// Where launches go instead of the stream, of a device that gathers them into graphs; null: to the stream.
inline GatheredLaunches* gathered_of(const KernelContext& context) {
  return static_cast<GatheredLaunches*>(context.own);
}

/// Gives the kernel to the context's stream: `blocks` blocks of `threads` threads with `shared_bytes` of dynamic shared
/// memory. If launches are gathered, it joins them. Does nothing for 0 blocks. Throws Unavailable when the program was
/// not built for this GPU, otherwise SystemError.
template <class... Parameters, class... Arguments>
void launch(const KernelContext& context, std::int64_t blocks, int threads, std::size_t shared_bytes,
            void (*kernel)(Parameters...), Arguments... arguments) {
  if (blocks <= 0) return;
  if (context.own != nullptr) {
    gather(*gathered_of(context), kernel, blocks, threads, shared_bytes, arguments...);
    return;
  }
#if defined(__CUDACC__)
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared_bytes,
           static_cast<cudaStream_t>(context.native_stream)>>>(arguments...);
  runtime::check_last("kernel");
#else
  emulated::run_grid(
      context.native_stream, blocks, threads, shared_bytes, [&] { kernel(arguments...); },
      reinterpret_cast<const void*>(kernel));
#endif
}

/// The context's stream, for a library that submits work itself: after all launches so far.
inline runtime::StreamHandle stream_for_library(const KernelContext& context) {
  if (context.own != nullptr) gathered_of(context)->launch();
  return context.native_stream;
}

/// The calling thread's number in the grid, and the number of threads: `for (i = grid_thread(); i < n; i +=
/// grid_threads())`.
__device__ inline std::int64_t grid_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t grid_threads() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }
__device__ inline int lane() { return static_cast<int>(threadIdx.x) % warp_lanes; }
__device__ inline int warp() { return static_cast<int>(threadIdx.x) / warp_lanes; }

/// Blocks of `threads` threads for `n` elements, one thread an element up to a bound beyond which threads take turns.
inline std::int64_t blocks_for(std::int64_t n, int threads) {
  constexpr std::int64_t most = 1 << 20;
  const std::int64_t wanted = (n + threads - 1) / threads;
  return wanted < most ? wanted : most;
}

/// Sum over the warp's lanes, the same bits on every lane: always added as a tree over lane distance 16, 8, 4, 2, 1.
/// Every lane of the warp must call it.
template <class T>
__device__ T warp_sum(T value) {
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  }
  return value;
}

/// Sum over the block's threads in a fixed order, valid in every thread; `scratch` holds 32 values of shared memory and
/// may be used again after the call. blockDim.x is a multiple of 32. Every thread of the block must call it.
template <class T>
__device__ T block_sum(T value, T* scratch) {
  const int warps = static_cast<int>(blockDim.x) / warp_lanes;
  value = warp_sum(value);
  if (lane() == 0) scratch[warp()] = value;
  __syncthreads();
  T sum = 0;
  for (int w = 0; w < warps; ++w) sum += scratch[w];
  __syncthreads();
  return sum;
}

/// Calls body(std::integral_constant<int, W>{}) with the W of `Widths` that equals `width`, and returns its answer.
/// Returns false, without a call, for another width.
template <int... Widths, class Body>
bool with_width(std::int64_t width, const Body& body) {
  return ((width == Widths && body(std::integral_constant<int, Widths>{})) || ...);
}

/// Calls body(T{}) with T = float or double after `type`. Throws Error for any other type.
template <class Body>
void with_element(ElementType type, Body&& body) {
  if (type == ElementType::f32) {
    body(float{});
  } else if (type == ElementType::f64) {
    body(double{});
  } else {
    throw Error("this operation works on floating-point tensors only");
  }
}

}  // namespace strobe::cuda
