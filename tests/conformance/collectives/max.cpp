// Value cases of maxima over ranks. Wanted values are worked out from all ranks' numbers by comparing them.
#include <algorithm>
#include <limits>

#include "tests/conformance/collectives/values.hpp"

namespace strobe::conformance {
namespace {

/// The largest sample of all ranks, `shift` lower so that all of them can be negative.
template <class T>
T largest_sample(int ranks, std::int64_t index, T shift) {
  T largest = sample<T>(0, index) - shift;
  for (int r = 1; r < ranks; ++r) largest = std::max(largest, static_cast<T>(sample<T>(r, index) - shift));
  return largest;
}

template <class T>
void check_max(Device& device, Communicator& c, std::int64_t rows, std::int64_t columns, T shift) {
  const Tensor tensor = filled<T>(device, rows, columns, c.rank());
  for (T& value : tensor.values<T>()) value -= shift;
  c.all_reduce(tensor, Traffic::gradient, Reduction::max);
  expect_values(c, tensor.data<T>(), tensor.elements(), fmt::format("maximum of {} x {}", rows, columns),
                [&](std::int64_t i) { return largest_sample<T>(c.size(), i, shift); });
}

template <class T>
void maximum(Device& device, Communicator& c) {
  constexpr T beyond_samples = 8000000;
  for (const T shift : {T{0}, beyond_samples}) {
    check_max<T>(device, c, 0, 3, shift);
    check_max<T>(device, c, 1, 1, shift);  // fewer elements than ranks
    check_max<T>(device, c, 701, 3, shift);
  }
}

void maximum_of_megabytes(Device& device, Communicator& c) { check_max<float>(device, c, 280003, 5, 0.0F); }

void maximum_of_large_integers(Device& device, Communicator& c) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const Tensor tensor = device.allocate(2, 1, ElementType::i64);
  // Neither survives a detour over floating point.
  tensor.data<std::int64_t>()[0] = std::numeric_limits<std::int64_t>::max() - c.rank();
  tensor.data<std::int64_t>()[1] = least + c.rank();
  c.all_reduce(tensor, Traffic::other, Reduction::max);
  const std::int64_t right[] = {std::numeric_limits<std::int64_t>::max(), least + c.size() - 1};
  expect_values(c, tensor.data<std::int64_t>(), 2, "maximum of large integers",
                [&](std::int64_t i) { return right[i]; });
}

/// Element e is NaN on rank e alone; a last one on no rank. Infinities take part as numbers.
template <class T>
void maximum_with_nan(Device& device, Communicator& c) {
  const Tensor tensor = device.allocate(c.size() + 1, 1, element_type_of<T>);
  for (std::int64_t e = 0; e <= c.size(); ++e) {
    tensor.data<T>()[e] = e == c.rank() ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(c.rank());
  }
  if (c.rank() == 0) tensor.data<T>()[c.size()] = -std::numeric_limits<T>::infinity();
  c.all_reduce(tensor, Traffic::other, Reduction::max);
  for (int e = 0; e < c.size(); ++e) {
    const T value = tensor.data<T>()[e];
    const bool alone = c.size() == 1;
    const int largest = e == c.size() - 1 ? c.size() - 2 : c.size() - 1;
    const bool right =
        c.max_keeps_nan() || alone ? std::isnan(value) : std::isnan(value) || value == static_cast<T>(largest);
    expect(right, c, fmt::format("the maximum with rank {}'s NaN is {}", e, value));
  }
  const T wanted = c.size() == 1 ? -std::numeric_limits<T>::infinity() : static_cast<T>(c.size() - 1);
  expect(tensor.data<T>()[c.size()] == wanted, c, "a maximum next to NaNs is wrong");
}

/// Sums and maxima under way together.
void maximum_beside_sum(Device& device, Communicator& c) {
  const Tensor sum = filled<double>(device, 33, 2, c.rank()), largest = filled<double>(device, 33, 2, c.rank());
  Request first = c.start_all_reduce(sum, Traffic::gradient);
  Request second = c.start_all_reduce(largest, Traffic::gradient, Reduction::max);
  c.wait(first);
  c.wait(second);
  expect_values(c, sum.data<double>(), sum.elements(), "sum at the same time as a maximum",
                [&](std::int64_t i) { return sum_in_rank_order<double>(c.size(), i); });
  expect_values(c, largest.data<double>(), largest.elements(), "maximum at the same time as a sum",
                [&](std::int64_t i) { return largest_sample<double>(c.size(), i, 0.0); });
}

constexpr CollectiveCase cases_of_max[] = {
    {"max f32", maximum<float>},
    {"max f64", maximum<double>},
    {"max i64", maximum<std::int64_t>},
    {"max of megabytes", maximum_of_megabytes},
    {"max of large integers", maximum_of_large_integers},
    {"max with NaN, f32", maximum_with_nan<float>},
    {"max with NaN, f64", maximum_with_nan<double>},
    {"max at the same time as a sum", maximum_beside_sum},
};

}  // namespace

std::span<const CollectiveCase> max_cases() { return cases_of_max; }

}  // namespace strobe::conformance
