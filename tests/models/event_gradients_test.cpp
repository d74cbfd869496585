// Gradients of the operations over roots of events against finite differences in fp64.
#include "models/ops/ops_attention.hpp"
#include "models/ops/ops_block.hpp"
#include "models/ops/ops_events.hpp"
#include "tests/models/differences.hpp"

namespace strobe {
namespace {

constexpr std::int64_t slot_count = 7, vertex_count = 5, code_width = 3;

/// Four roots with three, no, one and three slots; vertex 2 is seen by two slots of root 0 and one of root 3, vertex 4
/// by none.
RootSlots seen_slots(Device& device) {
  const std::vector<std::int64_t> rows = {2, 0, 2, 1, 3, 2, 0}, offsets = {0, 3, 3, 4, 7};
  return {device.move_in(rows.data(), slot_count, 1, ElementType::i64),
          device.move_in(offsets.data(), 5, 1, ElementType::i64)};
}

/// q, vertex, code and code_query.
std::vector<Tensor> attention_inputs(Device& device, std::int64_t width, std::int64_t heads) {
  return {random_tensor(device, 4, width, 1), random_tensor(device, vertex_count, 2 * width, 2),
          random_tensor(device, slot_count, code_width, 3), random_tensor(device, 4, heads * code_width, 4)};
}

/// Both results side by side, so that the gradient of either is checked.
Var attend(Tape& tape, const std::vector<Var>& v, const RootSlots& slots, std::int64_t heads, AttentionScale scale,
           const NeighbourDropout& dropout = {}) {
  const AttendedRoots seen = neighbour_attention(tape, v[0], v[1], v[2], v[3], slots, heads, scale, dropout);
  return concat_columns(tape, {seen.y, seen.mixed});
}

NeighbourDropout some_dropout(Device& device) {
  const std::vector<std::int64_t> numbers = {11, 12, 13, 14};
  return {0.4, 9, 3, device.move_in(numbers.data(), 4, 1, ElementType::i64)};
}

TEST(EventGradients, NeighbourAttention) {
  const auto device = cpu();
  const RootSlots slots = seen_slots(*device);
  for (const AttentionScale scale : {AttentionScale::neighbours, AttentionScale::head, AttentionScale::leaky}) {
    for (const std::int64_t heads : {1, 2, 3}) {
      for (const bool drops : {false, true}) {
        check_gradients(*device, attention_inputs(*device, 6, heads), [&](Tape& tape, const std::vector<Var>& v) {
          return attend(tape, v, slots, heads, scale, drops ? some_dropout(*device) : NeighbourDropout{});
        });
      }
    }
  }
}

TEST(EventGradients, NeighbourAttentionTwiceOverTheSameValues) {
  const auto device = cpu();
  const RootSlots slots = seen_slots(*device);
  check_gradients(*device, attention_inputs(*device, 4, 2), [&](Tape& tape, const std::vector<Var>& v) {
    const Var one = attend(tape, v, slots, 2, AttentionScale::head);
    return sum_of(tape, one, attend(tape, v, slots, 2, AttentionScale::neighbours));
  });
}

TEST(EventGradients, AttentionWhoseMixedCodesNobodyReads) {
  const auto device = cpu();
  const RootSlots slots = seen_slots(*device);
  check_gradients(*device, attention_inputs(*device, 4, 2), [&](Tape& tape, const std::vector<Var>& v) {
    return neighbour_attention(tape, v[0], v[1], v[2], v[3], slots, 2, AttentionScale::leaky).y;
  });
}

TEST(EventGradients, AttentionOfInputsWithoutGradient) {
  const auto device = cpu();
  const RootSlots slots = seen_slots(*device);
  const std::vector<Tensor> inputs = attention_inputs(*device, 4, 2);
  for (std::size_t wanted = 0; wanted < inputs.size(); ++wanted) {
    check_gradients(*device, {inputs[wanted]}, [&](Tape& tape, const std::vector<Var>& v) {
      std::vector<Var> all;
      for (const Tensor& input : inputs) all.push_back(Tape::constant(input));
      all[wanted] = v[0];
      const Var result = attend(tape, all, slots, 2, AttentionScale::head);
      for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i]->gradient.defined(), i == wanted);
      return result;
    });
  }
}

TEST(EventGradients, AttentionWithoutRecordingIsTheSame) {
  const auto device = cpu();
  const RootSlots slots = seen_slots(*device);
  std::vector<Var> in;
  for (const Tensor& input : attention_inputs(*device, 4, 2)) in.push_back(Tape::constant(input));
  std::vector<std::vector<double>> results;
  for (const bool recording : {true, false}) {
    Tape tape(*device, recording);
    const Var both = attend(tape, in, slots, 2, AttentionScale::leaky, some_dropout(*device));
    const std::span<double> values = both->value.values<double>();
    results.emplace_back(values.begin(), values.end());
  }
  EXPECT_EQ(results[0], results[1]);
  for (std::size_t c = 10; c < 20; ++c) EXPECT_EQ(results[0][c], 0.0) << "root 1 has no slots";
}

TEST(EventGradients, TransposeBlocks) {
  const auto device = cpu();
  for (const std::int64_t blocks : {1, 2, 3}) {
    check_gradients(*device, {random_tensor(*device, 6, 4, 1)}, [&](Tape& tape, const std::vector<Var>& v) {
      const Var once = transpose_blocks(tape, v[0], blocks);
      EXPECT_EQ(once->value.rows(), 4 * blocks);
      return concat_columns(tape, {transpose_blocks(tape, once, blocks), transpose_blocks(tape, once, blocks)});
    });
  }
}

TEST(EventGradients, BlocksWhoseWeightsAreAResult) {
  const auto device = cpu();
  check_gradients(*device, {random_tensor(*device, 5, 6, 1), random_tensor(*device, 4, 6, 2)},
                  [](Tape& tape, const std::vector<Var>& v) {
                    return block_dense(tape, v[0], transpose_blocks(tape, v[1], 1), nullptr, 2, Activation::none);
                  });
}

TEST(EventGradients, PairScores) {
  const auto device = cpu();
  for (const std::int64_t candidates : {1, 2, 5}) {
    check_gradients(*device,
                    {random_tensor(*device, 3, 4, 1), random_tensor(*device, 3 * candidates, 4, 2),
                     random_tensor(*device, 4, 1, 3), random_tensor(*device, 1, 1, 4)},
                    [](Tape& tape, const std::vector<Var>& v) { return pair_scores(tape, v[0], v[1], v[2], v[3]); });
  }
}

TEST(EventGradients, PairScoresTwiceOverTheSameEvents) {
  const auto device = cpu();
  const Tensor w = random_tensor(*device, 4, 1, 3), bias = random_tensor(*device, 1, 1, 4);
  check_gradients(*device, {random_tensor(*device, 3, 4, 1), random_tensor(*device, 6, 4, 2)},
                  [&](Tape& tape, const std::vector<Var>& v) {
                    const Var constant_w = Tape::constant(w), constant_bias = Tape::constant(bias);
                    return sum_of(tape, pair_scores(tape, v[0], v[1], constant_w, constant_bias),
                                  pair_scores(tape, v[0], v[1], constant_w, constant_bias));
                  });
}

/// The loss of logits that are scores of pairs, so that the gradient passes the tape.
double binary_loss(Device& device, const std::vector<Tensor>& in, const std::vector<Tensor>& gradients,
                   const Tensor& targets) {
  Tape tape(device);
  std::vector<Var> v;
  for (std::size_t i = 0; i < in.size(); ++i) {
    device.run(Fill{gradients[i], 0.0});
    v.push_back(Tape::leaf(in[i], gradients[i]));
  }
  const Tensor loss = device.allocate(1, 1, ElementType::f64);
  device.run(Fill{loss, 0.0});
  const Var logits = pair_scores(tape, v[0], v[1], v[2], v[3]);
  binary_cross_entropy(tape, logits, 0.25, loss, targets);
  EXPECT_THROW(binary_cross_entropy(tape, logits, 0.25, loss, targets), Error);
  tape.backward();
  return loss.data<double>()[0];
}

void check_binary_loss(const std::vector<std::int64_t>& bits) {
  const auto device = cpu();
  const Tensor targets = bits.empty() ? Tensor() : device->move_in(bits.data(), 3, 1, ElementType::i64);
  const std::vector<Tensor> in = {random_tensor(*device, 3, 4, 1), random_tensor(*device, 9, 4, 2),
                                  random_tensor(*device, 4, 1, 3), random_tensor(*device, 1, 1, 4)};
  std::vector<Tensor> gradients, ignored;
  for (const Tensor& one : in) {
    gradients.push_back(zeros(*device, one));
    ignored.push_back(zeros(*device, one));
  }
  EXPECT_GT(binary_loss(*device, in, gradients, targets), 0.0);
  for (std::size_t k = 0; k < in.size(); ++k) {
    for (std::int64_t i = 0; i < in[k].elements(); ++i) {
      double& value = in[k].data<double>()[i];
      const double saved = value;
      value = saved + 1e-6;
      const double above = binary_loss(*device, in, ignored, targets);
      value = saved - 1e-6;
      const double below = binary_loss(*device, in, ignored, targets);
      value = saved;
      EXPECT_NEAR(gradients[k].data<double>()[i], (above - below) / 2e-6, 1e-7) << k << ", " << i;
    }
  }
}

TEST(EventGradients, BinaryCrossEntropy) { check_binary_loss({}); }

TEST(EventGradients, BinaryCrossEntropyWithAnyColumnsTrue) {
  check_binary_loss({0b000, 0b101, 0b111});
  check_binary_loss({0b010, 0b100, 0b110});
}

}  // namespace
}  // namespace strobe
