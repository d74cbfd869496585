// ApplyDifference as kernels see it: raw device pointers, and what its plain and its balanced kernels share.
#pragma once

#include "backends/cuda/kernels/search.hpp"
#include "backends/operations/operations_store.hpp"

namespace strobe::cuda {

/// T is the type of values; all pointers to values are null where only the structure is made.
template <class T>
struct Difference {
  const std::int64_t* before_offsets;
  const std::int32_t* before_columns;
  const T* before_values;
  const std::int32_t* removed;
  const std::int64_t* added_offsets;
  const std::int32_t* added_columns;
  const T* added_values;
  std::int64_t* offsets;
  std::int32_t* columns;
  T* values;
  std::int64_t rows, removals, shift;

  /// How many entries in front of place `entry` of the earlier snapshot were removed.
  __device__ std::int64_t removed_before(std::int64_t entry) const {
    return first_not_below(removed, 0, removals, entry);
  }
  __device__ void put(std::int64_t place, std::int64_t column, const T* from, std::int64_t position) const {
    columns[place] = static_cast<std::int32_t>(column);
    if (values != nullptr) values[place] = from[position];
  }
};

template <class T>
Difference<T> difference(const ApplyDifference& op) {
  const bool with_values = op.values.defined();
  const auto values = [&](const Tensor& tensor) { return with_values ? tensor.data<T>() : nullptr; };
  return {op.before_offsets.data<std::int64_t>(),
          op.before_columns.data<std::int32_t>(),
          values(op.before_values),
          op.removed.data<std::int32_t>(),
          op.added_offsets.data<std::int64_t>(),
          op.added_columns.data<std::int32_t>(),
          values(op.added_values),
          op.offsets.data<std::int64_t>(),
          op.columns.data<std::int32_t>(),
          values(op.values),
          op.offsets.rows() - 1,
          op.removed.rows(),
          op.column_shift};
}

/// offsets[r] of the next snapshot: what lay before row r, less what was removed there, and what was added.
template <class T>
__global__ void next_offsets(Difference<T> d) {
  const std::int64_t first = d.before_offsets[0], base = d.before_offsets[d.rows];
  for (std::int64_t r = grid_thread(); r <= d.rows; r += grid_threads()) {
    const std::int64_t entry = d.before_offsets[r] - first;
    d.offsets[r] = base + entry - d.removed_before(entry) + d.added_offsets[r];
  }
}

template <class T, class Index>
__global__ void change_values(const Index* places, const T* changed, T* values, std::int64_t count) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    values[static_cast<std::int64_t>(places[i])] = changed[i];
  }
}

/// New values at the places `changed`, where there are any.
template <class T>
void launch_changes(const ApplyDifference& op, const KernelContext& context) {
  constexpr int threads = 256;
  if (!op.values.defined() || !op.changed.defined()) return;
  const std::int64_t count = op.changed.rows();
  const T* const changed = op.changed_values.data<T>();
  if (op.changed.type() == ElementType::i64) {
    launch(context, blocks_for(count, threads), threads, 0, change_values<T, std::int64_t>,
           op.changed.data<std::int64_t>(), changed, op.values.data<T>(), count);
  } else {
    launch(context, blocks_for(count, threads), threads, 0, change_values<T, std::int32_t>,
           op.changed.data<std::int32_t>(), changed, op.values.data<T>(), count);
  }
}

/// The type of an operation's values; without values any will do.
inline ElementType value_type(const ApplyDifference& op) {
  return op.values.defined() ? op.values.type() : ElementType::f32;
}

}  // namespace strobe::cuda
