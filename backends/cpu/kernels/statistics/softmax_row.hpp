// One row of softmax cross-entropy, shared by its plain and its weighted form. The largest logit is taken off first, so
// no exponential overflows; arithmetic inside a row is in double. Cost about 6 C FLOPs and 2 C exponentials.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace strobe::cpu {

/// -log softmax(logits)[label]; writes the gradient row, times `scale`, when `gradient` is not null.
template <class T>
double softmax_row_loss(const T* logits, std::int64_t classes, std::int64_t label, double scale, T* gradient) {
  double largest = logits[0];
  for (std::int64_t c = 1; c < classes; ++c) largest = std::max(largest, static_cast<double>(logits[c]));
  double total = 0;
  for (std::int64_t c = 0; c < classes; ++c) total += std::exp(static_cast<double>(logits[c]) - largest);
  if (gradient != nullptr) {
    for (std::int64_t c = 0; c < classes; ++c) {
      const double probability = std::exp(static_cast<double>(logits[c]) - largest) / total;
      gradient[c] = static_cast<T>((probability - (c == label ? 1.0 : 0.0)) * scale);
    }
  }
  return std::log(total) - (static_cast<double>(logits[label]) - largest);
}

}  // namespace strobe::cpu
