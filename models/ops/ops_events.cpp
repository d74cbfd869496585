#include "models/ops/ops_events.hpp"

#include "models/ops/stored_gradient.hpp"

namespace strobe {
namespace {

/// Gradients of q, vertex and slot from that of y. What flows into a vertex is the sum over the slots that look at it.
void neighbour_attention_back(Tape& tape, NeighbourAttentionBackward back, const Var& q, const Var& vertex,
                              const Var& slot) {
  Device& device = tape.device();
  const StoredGradient of_q(tape, q), of_slot(tape, slot);
  back.dq = of_q.tensor;
  back.dslot = of_slot.tensor;
  device.run(back);
  of_q.settle(device);
  if (const Tensor dvertex = tape.added_gradient(vertex); dvertex.defined()) {
    device.run(CopyRows{back.dslot, dvertex, {}, back.rows, back.slot.rows(), 0, 0, back.slot.columns(), true});
  }
  of_slot.settle(device);
}

/// What is added to for the gradient of `input`; a place that is thrown away where it needs none.
Tensor added_or_ignored(Tape& tape, const Var& input) {
  const Tensor &gradient = tape.added_gradient(input), &like = input->value;
  return gradient.defined() ? gradient : tape.device().allocate(like.rows(), like.columns(), like.type());
}

}  // namespace

Var neighbour_attention(Tape& tape, const Var& q, const Var& vertex, const Var& slot, const RootSlots& slots,
                        std::int64_t heads, AttentionScale scale, const NeighbourDropout& dropout) {
  Device& device = tape.device();
  const Tensor& queries = q->value;
  NeighbourAttention op{queries, vertex->value, slot->value, slots.rows, slots.offsets, {}, {}, heads, scale, dropout};
  op.y = device.allocate(queries.rows(), queries.columns(), queries.type());
  if (tape.recording()) op.coefficients = device.allocate(slot->value.rows(), heads, queries.type());
  device.run(op);
  return tape.record(
      op.y, {q, vertex, slot},
      [&tape, q, vertex, slot, slots, heads, scale, dropout, coefficients = op.coefficients](const Variable& result) {
        neighbour_attention_back(tape,
                                 {q->value,
                                  vertex->value,
                                  slot->value,
                                  slots.rows,
                                  slots.offsets,
                                  coefficients,
                                  result.gradient,
                                  {},
                                  {},
                                  heads,
                                  scale,
                                  dropout},
                                 q, vertex, slot);
      });
}

Var pair_scores(Tape& tape, const Var& a, const Var& b, const Var& w, const Var& bias) {
  const Tensor &events = a->value, &candidates = b->value;
  const std::int64_t each = events.rows() == 0 ? 0 : candidates.rows() / events.rows();
  const Tensor y = tape.device().allocate(events.rows(), each, events.type());
  tape.device().run(PairScores{events, candidates, w->value, bias->value, y});
  return tape.record(y, {a, b, w, bias}, [&tape, a, b, w, bias](const Variable& result) {
    Device& device = tape.device();
    const StoredGradient of_a(tape, a), of_b(tape, b);
    device.run(PairScoresBackward{a->value, b->value, w->value, result.gradient, of_a.tensor, of_b.tensor,
                                  added_or_ignored(tape, w), added_or_ignored(tape, bias)});
    of_a.settle(device);
    of_b.settle(device);
  });
}

void binary_cross_entropy(Tape& tape, const Var& logits, double scale, const Tensor& loss, const Tensor& targets) {
  const GradientTarget gradient = tape.target(logits);
  if (gradient.accumulate) throw Error("binary_cross_entropy: these logits already have a gradient");
  tape.device().run(BinaryCrossEntropy{logits->value, gradient.tensor, loss, scale, targets});
}

}  // namespace strobe
