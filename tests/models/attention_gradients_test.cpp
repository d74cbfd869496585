// Gradients of attention over neighbours and over the past against finite differences in fp64.
#include "models/ops/ops_attention.hpp"
#include "tests/models/differences.hpp"

namespace strobe {
namespace {

/// Five rows over seven columns, one row empty, with or without the transpose (which chooses the kernel).
SparseMatrix matrix(Device& device, bool with_transpose) {
  const std::vector<std::int64_t> offsets = {0, 3, 4, 4, 8, 10}, transposed_offsets = {0, 2, 3, 4, 5, 6, 8, 10};
  const std::vector<std::int32_t> columns = {0, 2, 6, 1, 0, 3, 5, 6, 4, 5}, rows = {0, 3, 1, 0, 3, 4, 3, 4, 0, 3};
  SparseMatrix a;
  a.rows = a.halo_begin = 5;
  a.columns = 7;
  a.nonzeros = 10;
  a.row_offsets = device.move_in(offsets.data(), 6, 1, ElementType::i64);
  a.column_indices = device.move_in(columns.data(), 10, 1, ElementType::i32);
  a.values = random_tensor(device, 10, 1, 99);
  if (!with_transpose) return a;
  a.transposed_offsets = device.move_in(transposed_offsets.data(), 8, 1, ElementType::i64);
  a.transposed_indices = device.move_in(rows.data(), 10, 1, ElementType::i32);
  a.transposed_values = random_tensor(device, 10, 1, 99);
  return a;
}

TEST(AttentionGradients, Neighbours) {
  const auto device = cpu();
  for (const bool weighted : {false, true}) {
    for (const bool with_transpose : {false, true}) {
      const SparseMatrix a = matrix(*device, with_transpose);
      check_gradients(
          *device, {random_tensor(*device, 7, 6, 1), random_tensor(*device, 1, 6, 2), random_tensor(*device, 1, 6, 3)},
          [&](Tape& tape, const std::vector<Var>& v) {
            return graph_attention(tape, a, v[0], v[1], v[2], 2, weighted);
          });
    }
  }
}

TEST(AttentionGradients, Past) {
  const auto device = cpu();
  for (const std::int64_t first : {0, 2}) {
    check_gradients(
        *device, {random_tensor(*device, (first + 4) * 3, 12, 1), random_tensor(*device, first + 4, 12, 2)},
        [&](Tape& tape, const std::vector<Var>& v) { return temporal_attention(tape, v[0], v[1], first, 4, 2, 0.7); });
  }
}

TEST(AttentionGradients, Dropout) {
  const auto device = cpu();
  const std::vector<std::int64_t> ids = {3, 4, 5, 16, 17};
  const std::vector<std::int32_t> columns = {0, 1, 2, 3, 4, 5, 6};
  AttentionDropout dropout{0.4,
                           9,
                           64,
                           device->move_in(ids.data(), 5, 1, ElementType::i64),
                           device->move_in(columns.data(), 7, 1, ElementType::i32),
                           10};
  for (const bool weighted : {false, true}) {
    const SparseMatrix a = matrix(*device, true);
    check_gradients(*device,
                    {random_tensor(*device, 7, 6, 1), random_tensor(*device, 1, 6, 2), random_tensor(*device, 1, 6, 3)},
                    [&](Tape& tape, const std::vector<Var>& v) {
                      return graph_attention(tape, a, v[0], v[1], v[2], 2, weighted, dropout);
                    });
  }
  dropout.columns = {};
  for (const std::int64_t first : {0, 2}) {
    check_gradients(*device, {random_tensor(*device, (first + 4) * 3, 12, 1), random_tensor(*device, first + 4, 12, 2)},
                    [&](Tape& tape, const std::vector<Var>& v) {
                      return temporal_attention(tape, v[0], v[1], first, 4, 2, 0.7, dropout);
                    });
  }
}

TEST(AttentionGradients, SumOfAValueWithItself) {
  const auto device = cpu();
  check_gradients(*device, {random_tensor(*device, 3, 2, 1), random_tensor(*device, 3, 2, 2)},
                  [](Tape& tape, const std::vector<Var>& v) { return sum_of(tape, sum_of(tape, v[0], v[1]), v[0]); });
}

}  // namespace
}  // namespace strobe
