// Which kernels device cuda chooses on an H100; other GPUs do not choose those for tensor cores. The choice depends
// only on shapes and on the number of multiprocessors, so the emulation makes it too.
#include <gtest/gtest.h>

#include <utility>

#include "backends/cuda/emulated/size.hpp"
#include "backends/operations/operations_attention.hpp"
#include "backends/operations/operations_recurrent.hpp"
#include "tests/cpu/conformance_settings.hpp"

namespace strobe {
namespace {

/// Kernels chosen for the products of benchmark spmm/.../width:6. Its matrix is larger than that of any case: 64 steps
/// of
/// 16384 vertices, 16.3 million entries. The choice reads no entries, so none are allocated.
std::set<std::string> chosen_by_benchmarks() {
  const std::unique_ptr<Device> device = DeviceRegistry::instance().find("cuda").value({});
  SparseMatrix a;
  a.steps = 64;
  a.rows = a.columns = a.halo_begin = a.steps * 16384;
  a.nonzeros = 16'300'000;
  a.step_rows = device->allocate(a.steps + 1, 1, ElementType::i64);
  a.transposed_offsets = device->allocate(1, 1, ElementType::i64);
  const Tensor x = device->allocate(a.columns, 6), y = device->allocate(a.rows, 6);
  const auto name = [](const auto& op) {
    return std::string(op.name) + "/" + Kernels<std::decay_t<decltype(op)>>::choose("cuda", op, "").variant;
  };
  return {name(Spmm{a, x, y, false}), name(SpmmTransposed{a, y, x, false})};
}

TEST(EmulatedChoice, EveryVariantIsChosenBySomeCaseOrBenchmark) {
  const int before = std::exchange(cuda::emulated::multiprocessors, 132);
  expect_chosen_kernels("cuda", "cuda", chosen_by_benchmarks());
  cuda::emulated::multiprocessors = before;
}

template <class Op>
std::string chosen(const Op& op) {
  return Kernels<Op>::choose("cuda", op, "").variant;
}

/// Kernels chosen for both passes of a recurrence of `gates` gates over packed lanes, from 8 to `hidden` units.
template <class Forward, class Backward>
std::set<std::string> chosen_for_packed(std::int64_t gates, std::int64_t hidden, ElementType type) {
  constexpr std::int64_t steps = 64, lanes = 512, inputs = 8;
  const std::unique_ptr<Device> device = DeviceRegistry::instance().find("cuda").value({});
  Forward op;
  const bool lstm = gates == 4;
  op.x = device->allocate(steps * lanes, inputs, type), op.y = device->allocate(steps * lanes, hidden, type);
  op.w_x = device->allocate(inputs * (lstm ? 1 : gates), hidden * (lstm ? gates : 1), type);
  op.w_h = device->allocate(hidden * (lstm ? 1 : gates), hidden * (lstm ? gates : 1), type);
  op.steps = steps, op.restarts = device->allocate(steps * lanes, 1, ElementType::i32);
  Backward back;
  back.x = op.x, back.w_x = op.w_x, back.w_h = op.w_h, back.y = back.dy = op.y;
  back.steps = steps, back.restarts = op.restarts;
  return {chosen(op), chosen(back)};
}

TEST(EmulatedChoice, PackedBinsOfNarrowRecurrencesKeepTheKernelOfLanes) {
  const std::set<std::string> lanes{"lanes"};
  for (const ElementType type : {ElementType::f32, ElementType::f64}) {
    for (const std::int64_t hidden : {1, 6, 8}) {
      EXPECT_EQ((chosen_for_packed<LstmSequence, LstmSequenceBackward>(4, hidden, type)), lanes) << hidden;
      EXPECT_EQ((chosen_for_packed<GruSequence, GruSequenceBackward>(3, hidden, type)), lanes) << hidden;
    }
    EXPECT_NE((chosen_for_packed<LstmSequence, LstmSequenceBackward>(4, 9, type)), lanes);
    EXPECT_NE((chosen_for_packed<GruSequence, GruSequenceBackward>(3, 9, type)), lanes);
  }
}

/// Kernels chosen for both passes of attention over packed lanes, with two heads.
std::set<std::string> attention_chosen_for_packed(std::int64_t steps, std::int64_t depth) {
  constexpr std::int64_t lanes = 32, heads = 2;
  const std::unique_ptr<Device> device = DeviceRegistry::instance().find("cuda").value({});
  TemporalAttention op;
  op.projected = device->allocate(steps * lanes, 3 * heads * depth);
  op.o = device->allocate(steps * lanes, heads * depth);
  op.steps = steps, op.heads = heads, op.sequences = device->allocate(steps * lanes, 3, ElementType::i32);
  TemporalAttentionBackward back;
  back.projected = back.dprojected = op.projected, back.d_o = op.o;
  back.steps = steps, back.heads = heads, back.sequences = op.sequences;
  return {chosen(op), chosen(back)};
}

TEST(EmulatedChoice, PackedBinsOfAttentionKeepTheirKernels) {
  for (const std::int64_t depth : {3, 8, 16}) {
    EXPECT_EQ(attention_chosen_for_packed(24, depth), std::set<std::string>{"tiles"}) << depth;
    EXPECT_EQ(attention_chosen_for_packed(3000, depth), std::set<std::string>{"vertices"}) << depth;
  }
  EXPECT_EQ(attention_chosen_for_packed(24, 40), std::set<std::string>{"plain"});
}

}  // namespace
}  // namespace strobe
