#include "models/ops/ops_events.hpp"

#include "models/ops/stored_gradient.hpp"

namespace strobe {
namespace {

/// The inputs of attention.
struct AttentionInputs {
  Var q, vertex, code, code_query;
};

/// NeighbourAttention or its backward pass with what both read.
template <class Op>
Op reading(const AttentionInputs& in, const RootSlots& slots, std::int64_t heads, AttentionScale scale,
           const NeighbourDropout& dropout) {
  Op op;
  op.q = in.q->value, op.vertex = in.vertex->value;
  op.code = in.code->value, op.code_query = in.code_query->value;
  op.rows = slots.rows, op.offsets = slots.offsets;
  op.heads = heads, op.scale = scale, op.dropout = dropout;
  return op;
}

/// Gradients of the inputs from those of y and mixed. The gradient of a vertex is the sum over the slots that look at
/// it.
void neighbour_attention_back(Tape& tape, NeighbourAttentionBackward back, const AttentionInputs& in) {
  Device& device = tape.device();
  const StoredGradient of_q(tape, in.q), of_code(tape, in.code), of_code_query(tape, in.code_query);
  back.dq = of_q.tensor;
  back.dcode = of_code.tensor;
  back.dcode_query = of_code_query.tensor;
  back.dseen = device.allocate(back.code.rows(), back.vertex.columns(), back.vertex.type());
  device.run(back);
  of_q.settle(device);
  of_code.settle(device);
  of_code_query.settle(device);
  if (const Tensor dvertex = tape.added_gradient(in.vertex); dvertex.defined()) {
    device.run(CopyRows{back.dseen, dvertex, {}, back.rows, back.dseen.rows(), 0, 0, back.dseen.columns(), true});
  }
}

}  // namespace

AttendedRoots neighbour_attention(Tape& tape, const Var& q, const Var& vertex, const Var& code, const Var& code_query,
                                  const RootSlots& slots, std::int64_t heads, AttentionScale scale,
                                  const NeighbourDropout& dropout) {
  Device& device = tape.device();
  const AttentionInputs in{q, vertex, code, code_query};
  const Tensor &queries = q->value, &code_queries = code_query->value;
  NeighbourAttention op = reading<NeighbourAttention>(in, slots, heads, scale, dropout);
  op.y = device.allocate(queries.rows(), queries.columns(), queries.type());
  op.mixed = device.allocate(code_queries.rows(), code_queries.columns(), queries.type());
  if (tape.recording()) op.coefficients = device.allocate(code->value.rows(), heads, queries.type());
  device.run(op);
  // As for both gates of a GRU (ops_gate.cpp): the gradient of `mixed` is complete when the record of y is reached.
  const bool needs = tape.recording() && (q->needs_gradient || vertex->needs_gradient || code->needs_gradient ||
                                          code_query->needs_gradient);
  const Var mixed = std::make_shared<Variable>(Variable{op.mixed, {}, needs});
  const Var y = tape.record(
      op.y, {q, vertex, code, code_query},
      [&tape, in, slots, heads, scale, dropout, mixed, coefficients = op.coefficients](const Variable& result) {
        auto back = reading<NeighbourAttentionBackward>(in, slots, heads, scale, dropout);
        back.coefficients = coefficients;
        back.dy = result.gradient;
        back.dmixed = tape.added_gradient(mixed);
        neighbour_attention_back(tape, back, in);
        mixed->gradient = Tensor();
      });
  return {y, mixed};
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
