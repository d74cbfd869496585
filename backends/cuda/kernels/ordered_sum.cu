// Up to `batch` buffers are reduced in one pass; a longer list takes several, each beginning with the result so far.
// Every element is read and written by one thread, so the result may be one of the addends. Cost: each byte read once,
// the result once more per further pass.
#include "backends/cuda/kernel_language.hpp"
#include "backends/cuda/ordered_sum.hpp"

namespace strobe::cuda {
namespace ordered_sum_kernels {

constexpr int batch = 16;

template <class T>
struct Addends {
  const T* values[batch];
  int count;
};

template <class T>
__global__ void add_up(Addends<T> addends, T* sum, std::int64_t n) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) {
    T total = addends.values[0][i];
    for (int a = 1; a < addends.count; ++a) total += addends.values[a][i];
    sum[i] = total;
  }
}

/// As larger_of, which is the host's.
template <class T>
__global__ void take_largest(Addends<T> addends, T* largest, std::int64_t n) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) {
    T so_far = addends.values[0][i];
    for (int a = 1; a < addends.count; ++a) {
      const T value = addends.values[a][i];
      if (so_far == so_far && (so_far < value || value != value)) so_far = value;
    }
    largest[i] = so_far;
  }
}

template <class T>
void sum_as(const KernelContext& context, Reduction reduction, const std::vector<const std::byte*>& addends,
            std::byte* sum, std::int64_t elements) {
  constexpr int threads = 256;
  // A sum that is itself a later addend must not be written before that addend was read.
  std::size_t next = 0;
  bool again = false;
  T* const target = reinterpret_cast<T*>(sum);
  T* partial = target;
  const bool aliased = addends.size() > batch;
  if (aliased) partial = reinterpret_cast<T*>(context.scratch(static_cast<std::size_t>(elements) * sizeof(T)));
  do {
    Addends<T> pass{};
    if (again) pass.values[pass.count++] = partial;
    for (; next < addends.size() && pass.count < batch; ++next) {
      pass.values[pass.count++] = reinterpret_cast<const T*>(addends[next]);
    }
    again = true;
    T* const to = next == addends.size() ? target : partial;
    const auto kernel = reduction == Reduction::max ? take_largest<T> : add_up<T>;
    launch(context, blocks_for(elements, threads), threads, 0, kernel, pass, to, elements);
  } while (next < addends.size());
}

}  // namespace ordered_sum_kernels

void ordered_sum(const KernelContext& context, Reduction reduction, ElementType type,
                 const std::vector<const std::byte*>& addends, std::byte* sum, std::int64_t elements) {
  using namespace ordered_sum_kernels;
  switch (type) {
    case ElementType::f32:
      return sum_as<float>(context, reduction, addends, sum, elements);
    case ElementType::f64:
      return sum_as<double>(context, reduction, addends, sum, elements);
    case ElementType::i32:
      return sum_as<std::int32_t>(context, reduction, addends, sum, elements);
    case ElementType::i64:
      return sum_as<std::int64_t>(context, reduction, addends, sum, elements);
    case ElementType::u8:
      break;
  }
  throw Error("collectives do not add elements of type u8");
}

}  // namespace strobe::cuda
