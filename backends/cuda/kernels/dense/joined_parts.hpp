// Parts of a joined matrix as a launch hands them to a kernel: up to `most_joined` adjacent ones.
#pragma once

#include <vector>

#include "backends/cuda/kernel_language.hpp"

namespace strobe::cuda {

inline constexpr int most_joined = 16;

/// Parts whose first column meets row `first` of w [F, G]; a gradient that nobody wants is null.
template <class T>
struct JoinedParts {
  const T* part[most_joined];
  T* gradient[most_joined];
  std::int64_t begin[most_joined + 1];  // first column of each, counted from `first`
  bool accumulate[most_joined];
  int count;
  std::int64_t first;

  __host__ __device__ std::int64_t columns() const { return begin[count]; }
  __host__ __device__ std::int64_t width(int p) const { return begin[p + 1] - begin[p]; }
  __device__ int holding(std::int64_t column) const {
    int p = 0;
    while (column >= begin[p + 1]) ++p;
    return p;
  }
  bool wants_gradients() const {
    for (int p = 0; p < count; ++p) {
      if (gradient[p] != nullptr) return true;
    }
    return false;
  }
};

/// Calls body(parts) for the tensors in turns of up to `most_joined`, the first with first = 0. In a forward pass
/// `gradients` and `accumulate` are empty.
template <class T, class Body>
void for_joined(const std::vector<Tensor>& tensors, const std::vector<Tensor>& gradients,
                const std::vector<bool>& accumulate, const Body& body) {
  JoinedParts<T> parts{};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const int k = parts.count++;
    parts.part[k] = tensors[i].data<T>();
    parts.gradient[k] = !gradients.empty() && gradients[i].defined() ? gradients[i].data<T>() : nullptr;
    parts.accumulate[k] = !accumulate.empty() && accumulate[i];
    parts.begin[k + 1] = parts.begin[k] + tensors[i].columns();
    if (parts.count < most_joined && i + 1 < tensors.size()) continue;
    body(parts);
    parts.first += parts.columns();
    parts.count = 0;
  }
}

}  // namespace strobe::cuda
