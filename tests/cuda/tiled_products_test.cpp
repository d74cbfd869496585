// Sparse products by tiles of columns in shared memory (backends/cuda/kernels/sparse/spmm_tiles.cu) on sizes that the
// conformance cases lack: steps of very different size, a step larger than a tile, rows for a whole warp, and more
// steps than a GPU has multiprocessors. The reference is the cpu's plain kernels, in double on positive values.
#include <gtest/gtest.h>

#include "tests/cuda/gpu.hpp"
#include "tests/cuda/values_on.hpp"

namespace strobe {
namespace {

struct Rows {
  std::vector<std::int64_t> offsets{0}, steps{0};
  std::vector<std::int32_t> indices;
};

/// Steps with `sizes` rows. Every `hub`-th row of a step has an entry for each of its rows, the other rows have a few.
Rows rows_of(const std::vector<std::int64_t>& sizes, std::int64_t hub) {
  Rows drawn_rows;
  const RandomStream random(5, random_purpose::test, 7);
  std::uint64_t drawn = 0;
  for (const std::int64_t n : sizes) {
    const std::int64_t first = drawn_rows.steps.back();
    for (std::int64_t r = 0; r < n; ++r) {
      const bool of_all = r % hub == hub - 1;
      const auto count = of_all ? static_cast<std::uint64_t>(n) : random.below(drawn++, 9);
      for (std::uint64_t k = 0; k < count; ++k) {
        const std::uint64_t column = of_all ? k : random.below(drawn++, static_cast<std::uint64_t>(n));
        drawn_rows.indices.push_back(static_cast<std::int32_t>(first) + static_cast<std::int32_t>(column));
      }
      drawn_rows.offsets.push_back(static_cast<std::int64_t>(drawn_rows.indices.size()));
    }
    drawn_rows.steps.push_back(first + n);
  }
  return drawn_rows;
}

/// The rows as a matrix, or (`turned`) as the transpose of one.
SparseMatrix matrix_of(ValuesOn& on, const Rows& drawn_rows, bool turned) {
  SparseMatrix a;
  a.rows = a.columns = a.halo_begin = drawn_rows.steps.back();
  a.nonzeros = static_cast<std::int64_t>(drawn_rows.indices.size());
  a.steps = static_cast<std::int64_t>(drawn_rows.steps.size()) - 1;
  a.step_rows = on.list(drawn_rows.steps);
  const Tensor offsets = on.list(drawn_rows.offsets), values = on.draw(a.nonzeros, 1, 3);
  const Tensor indices = on->move_in(drawn_rows.indices.data(), a.nonzeros, 1, ElementType::i32);
  (turned ? a.transposed_offsets : a.row_offsets) = offsets;
  (turned ? a.transposed_indices : a.column_indices) = indices;
  (turned ? a.transposed_values : a.values) = values;
  return a;
}

std::vector<double> product(ValuesOn& on, const Rows& drawn_rows, std::int64_t width, bool turned, bool accumulate) {
  const SparseMatrix a = matrix_of(on, drawn_rows, turned);
  const Tensor in = on.draw(a.rows, width, 1), out = on.draw(a.rows, width, 2);
  if (turned) {
    on->run(SpmmTransposed{a, in, out, accumulate});
  } else {
    on->run(Spmm{a, in, out, accumulate});
  }
  return on.values_of(out);
}

/// Compares device cuda, with the named variant or with its own choice, with the cpu.
void compare(const std::string& variant, const Rows& drawn_rows, std::int64_t width) {
  for (const bool turned : {false, true}) {
    ValuesOn cpu("cpu", "plain", 0.1), cuda("cuda", variant, 0.1);
    const std::vector<double> expected = product(cpu, drawn_rows, width, turned, width == 4);
    const std::vector<double> got = product(cuda, drawn_rows, width, turned, width == 4);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-12 * (1 + expected[i])) << i;
  }
}

class CudaTiledProducts : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  }
};

TEST_F(CudaTiledProducts, StepsBeyondATileReadTheirInputFromMemory) {
  compare("tiles", rows_of({3, 12'001, 0, 40}, 4000), 4);
}

TEST_F(CudaTiledProducts, LongRowsAreTakenByAWarp) { compare("tiles", rows_of({700, 1, 900}, 3), 7); }

TEST_F(CudaTiledProducts, ManyStepsAgreeWhicheverKernelIsChosen) {
  compare("", rows_of(std::vector<std::int64_t>(300, 61), 20), 6);
}

}  // namespace
}  // namespace strobe
