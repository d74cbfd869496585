// Kernels at sizes that the conformance cases do not reach. Sorts have several passes, and their prefix sums several
// chunks. There are more parts of columns than one launch takes, and a long window has values that are not finite.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/operations/operations_join.hpp"
#include "backends/operations/operations_store.hpp"
#include "core/random.hpp"
#include "tests/cuda/gpu.hpp"

namespace strobe {
namespace {

class CudaLists : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
    DeviceRequest request;
    request.kernel_variant = GetParam();
    device_ = DeviceRegistry::instance().find("cuda").value(request);
  }

  template <class T>
  Tensor in(const std::vector<T>& values, std::int64_t columns = 1) {
    return device_->move_in(values.data(), static_cast<std::int64_t>(values.size()) / columns, columns,
                            element_type_of<T>);
  }
  template <class T>
  std::vector<T> out(const Tensor& tensor) {
    std::vector<T> values(tensor.elements());
    EXPECT_TRUE(device_->move_out(tensor, values.data()));
    return values;
  }
  /// `count` values in [0, 1) whose sum depends on the order of additions.
  static std::vector<float> draw(std::size_t count) {
    const RandomStream random(7, random_purpose::test, 1);
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(random.uniform(i)));
    return values;
  }
  static std::vector<std::int64_t> draw_below(std::size_t count, std::uint64_t limit) {
    const RandomStream random(7, random_purpose::test, 2);
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<std::int64_t>(random.below(i, limit)));
    return values;
  }

  std::unique_ptr<Device> device_;
};

TEST_P(CudaLists, RowsAreAddedInListOrder) {
  constexpr std::size_t count = 600'000, targets = 1'500;
  const std::vector<float> from = draw(count);
  const std::vector<std::int64_t> list = draw_below(count, targets);
  std::vector<float> expected(targets, 0.5f);
  CopyRows op;
  op.from = in(from);
  op.to = in(expected);
  op.to_rows = in(list);
  op.count = count;
  op.width = 1;
  op.accumulate = true;
  for (std::size_t i = 0; i < count; ++i) expected[list[i]] += from[i];
  device_->run(op);
  EXPECT_EQ(out<float>(op.to), expected);
}

TEST_P(CudaLists, RunsAreAddedInOrder) {
  constexpr std::size_t count = 5'000, rows = 3;
  const std::vector<float> from = draw(count * rows);
  const std::vector<std::int64_t> first = draw_below(count, 400);
  std::vector<float> expected(400 + rows, 0.5f);
  std::vector<std::int64_t> runs;
  for (std::size_t i = 0; i < count; ++i) {
    runs.insert(runs.end(), {static_cast<std::int64_t>(i * rows), first[i], i % 5 == 0 ? 0 : std::int64_t{rows}});
  }
  const CopyRuns op{in(from), in(expected), in(runs, 3), count / 5 * 4 * rows, true};
  for (std::size_t i = 0; i < runs.size(); i += 3) {
    for (std::int64_t r = 0; r < runs[i + 2]; ++r) expected[runs[i + 1] + r] += from[runs[i] + r];
  }
  device_->run(op);
  EXPECT_EQ(out<float>(op.to), expected);
}

TEST_P(CudaLists, TransposeKeepsTheOrderOfRows) {
  constexpr std::int64_t rows = 1'000, columns = 70'000, length = 600;
  const std::vector<std::int64_t> starts = draw_below(rows, columns / length);
  std::vector<std::int64_t> offsets{0}, counts(columns + 1, 0);
  std::vector<std::int32_t> indices;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t k = 0; k < length; ++k) {
      indices.push_back(static_cast<std::int32_t>(k * (columns / length) + starts[r]));
      ++counts[static_cast<std::size_t>(indices.back()) + 1];
    }
    offsets.push_back(static_cast<std::int64_t>(indices.size()));
  }
  const std::vector<float> values = draw(indices.size());
  for (std::size_t c = 1; c < counts.size(); ++c) counts[c] += counts[c - 1];
  std::vector<std::int64_t> next = counts;
  std::vector<std::int32_t> turned(indices.size());
  std::vector<float> turned_values(indices.size());
  for (std::size_t e = 0; e < indices.size(); ++e) {
    const std::size_t place = next[indices[e]]++;
    turned[place] = static_cast<std::int32_t>(static_cast<std::int64_t>(e) / length);
    turned_values[place] = values[e];
  }
  const std::int64_t entries = indices.size();
  const TransposeCsr op{in(offsets),
                        in(indices),
                        in(values),
                        device_->allocate(columns + 1, 1, ElementType::i64),
                        device_->allocate(entries, 1, ElementType::i32),
                        device_->allocate(entries, 1),
                        0};
  device_->run(op);
  EXPECT_EQ(out<std::int64_t>(op.transposed_offsets), counts);
  EXPECT_EQ(out<std::int32_t>(op.transposed_columns), turned);
  EXPECT_EQ(out<float>(op.transposed_values), turned_values);
}

TEST_P(CudaLists, MorePartsThanOneLaunchTakes) {
  constexpr std::int64_t rows = 37;
  JoinColumns join;
  SplitColumns split;
  std::vector<std::vector<float>> parts;
  std::int64_t columns = 0;
  for (std::int64_t p = 0; p < 35; ++p) {
    const std::int64_t width = 1 + p % 3;
    parts.emplace_back(static_cast<std::size_t>(rows * width), static_cast<float>(p + 1));
    join.parts.push_back(in(parts.back(), width));
    split.parts.push_back(device_->allocate(rows, width));
    split.widths.push_back(width);
    split.accumulate.push_back(false);
    columns += width;
  }
  join.whole = split.whole = device_->allocate(rows, columns);
  device_->run(join);
  device_->run(split);
  const std::vector<float> whole = out<float>(join.whole);
  std::size_t at = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    EXPECT_EQ(out<float>(split.parts[p]), parts[p]) << "part " << p;
    for (std::int64_t c = 0; c < split.widths[p]; ++c) EXPECT_EQ(whole[at++], static_cast<float>(p + 1));
  }
}

TEST_P(CudaLists, LongWindowForgetsWhatIsNotFinite) {
  constexpr std::int64_t steps = 100, slab = 3, window = 20;
  constexpr std::size_t bad = 40;
  std::vector<double> x(steps * slab, 0.25);
  x[bad * slab] = std::numeric_limits<double>::infinity();
  x[bad * slab + 1] = std::nan("");
  MTransform op{in(x, slab), device_->allocate(steps, slab, ElementType::f64), steps, window, false, false};
  device_->run(op);
  const std::vector<double> y = out<double>(op.y);
  for (std::size_t t = 0; t < steps; ++t) {
    const bool inside = t >= bad && t < bad + window;
    EXPECT_EQ(std::isinf(y[t * slab]), inside) << "step " << t;
    EXPECT_EQ(std::isnan(y[t * slab + 1]), inside) << "step " << t;
    EXPECT_NEAR(y[t * slab + 2], 0.25, 1e-15) << "step " << t;
    if (!inside) {
      EXPECT_NEAR(y[t * slab], 0.25, 1e-15) << "step " << t;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaLists, testing::Values("plain", ""),
                         [](const auto& parameter) { return *parameter.param == '\0' ? "best" : "plain"; });

}  // namespace
}  // namespace strobe
