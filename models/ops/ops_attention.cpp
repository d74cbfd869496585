#include "models/ops/ops_attention.hpp"

#include "models/ops/stored_gradient.hpp"

namespace strobe {
namespace {

/// The operation with its outputs allocated.
GraphAttention forward_of(Device& device, const SparseMatrix& a, const Tensor& f, const Tensor& left,
                          const Tensor& right, std::int64_t heads, bool weighted, const AttentionDropout& dropout) {
  const std::int64_t width = f.columns();
  GraphAttention op;
  op.a = a;
  op.f = f;
  op.left = left;
  op.right = right;
  op.y = device.allocate(a.rows, width, f.type());
  op.z = device.allocate(a.rows, width, f.type());
  op.slopes = device.allocate(a.rows, width, f.type());
  op.row_stats = device.allocate(a.rows, 2 * heads, f.type());
  op.workspace = device.allocate(graph_attention_workspace(a.rows, a.columns, heads, width, false), 1, f.type());
  op.heads = heads;
  op.weighted = weighted;
  op.dropout = dropout;
  return op;
}

}  // namespace

Var graph_attention(Tape& tape, const SparseMatrix& a, const Var& f, const Var& left, const Var& right,
                    std::int64_t heads, bool weighted, const AttentionDropout& dropout) {
  Device& device = tape.device();
  const GraphAttention op = forward_of(device, a, f->value, left->value, right->value, heads, weighted, dropout);
  device.run(op);
  return tape.record(op.y, {f, left, right},
                     [&tape, f, left, right, a, z = op.z, slopes = op.slopes, row_stats = op.row_stats, heads, weighted,
                      dropout](const Variable& result) {
                       GraphAttentionBackward back;
                       back.a = a;
                       back.f = f->value;
                       back.left = left->value;
                       back.right = right->value;
                       back.z = z;
                       back.slopes = slopes;
                       back.row_stats = row_stats;
                       back.dy = result.gradient;
                       const GradientTarget target = tape.target(f);
                       back.df = target.tensor;
                       back.accumulate_df = target.accumulate;
                       back.dleft = left->gradient;
                       back.dright = right->gradient;
                       back.workspace = tape.device().allocate(
                           graph_attention_workspace(a.rows, a.columns, heads, back.f.columns(), true), 1,
                           back.f.type());
                       back.heads = heads;
                       back.weighted = weighted;
                       back.dropout = dropout;
                       tape.device().run(back);
                     });
}

Var temporal_attention(Tape& tape, const Var& projected, const Var& offsets, std::int64_t first, std::int64_t steps,
                       std::int64_t heads, double scale, const AttentionDropout& dropout) {
  const Tensor& x = projected->value;
  const std::int64_t vertices = first + steps == 0 ? 0 : x.rows() / (first + steps);
  const Tensor o = tape.device().allocate(steps * vertices, x.columns() / 3, x.type());
  tape.device().run(TemporalAttention{x, offsets->value, o, first, steps, heads, scale, dropout});
  return tape.record(
      o, {projected, offsets},
      [&tape, projected, offsets, first, steps, heads, scale, dropout](const Variable& result) {
        Device& device = tape.device();
        const StoredGradient of_projected(tape, projected), of_offsets(tape, offsets);
        device.run(TemporalAttentionBackward{projected->value, offsets->value, result.gradient, of_projected.tensor,
                                             of_offsets.tensor, first, steps, heads, scale, dropout});
        of_projected.settle(device);
        of_offsets.settle(device);
      });
}

Var packed_temporal_attention(Tape& tape, const Var& projected, std::int64_t steps, std::int64_t heads, double scale,
                              const PackedPast& past, const AttentionDropout& dropout) {
  const Tensor& x = projected->value;
  const Tensor o = tape.device().allocate(x.rows(), x.columns() / 3, x.type());
  tape.device().run(TemporalAttention{x, {}, o, 0, steps, heads, scale, dropout, past.sequences, past.pairs});
  return tape.record(o, {projected}, [&tape, projected, steps, heads, scale, past, dropout](const Variable& result) {
    const StoredGradient of_projected(tape, projected);
    TemporalAttentionBackward back{projected->value, {}, result.gradient, of_projected.tensor, {}, 0, steps};
    back.heads = heads;
    back.scale = scale;
    back.dropout = dropout;
    back.sequences = past.sequences;
    back.packed_pairs = past.pairs;
    tape.device().run(back);
    of_projected.settle(tape.device());
  });
}

Var edge_attention(Tape& tape, const SparseMatrix& a, const EdgeScore& score, const Var& q, const Var& k, const Var& v,
                   const Var& w) {
  Device& device = tape.device();
  const Tensor y = device.allocate(a.rows, v->value.columns(), v->value.type());
  const Tensor log_sums = device.allocate(a.rows, score.heads, v->value.type());
  device.run(EdgeAttention{a, q->value, k->value, v->value, w ? w->value : Tensor(), y, log_sums, score});
  std::vector<Var> inputs = {q, k, v};
  if (w) inputs.push_back(w);
  return tape.record(y, inputs, [&tape, a, score, q, k, v, w, log_sums](const Variable& result) {
    EdgeAttentionBackward back;
    back.a = a;
    back.q = q->value, back.k = k->value, back.v = v->value, back.w = w ? w->value : Tensor();
    back.y = result.value;
    back.log_sums = log_sums;
    back.dy = result.gradient;
    const auto target = [&tape](const Var& input, Tensor& gradient, bool& accumulate) {
      if (!input->needs_gradient) return;
      const GradientTarget to = tape.target(input);
      gradient = to.tensor;
      accumulate = to.accumulate;
    };
    target(q, back.dq, back.accumulate_q);
    target(k, back.dk, back.accumulate_k);
    target(v, back.dv, back.accumulate_v);
    if (w) back.dw = tape.added_gradient(w);
    back.score = score;
    tape.device().run(back);
  });
}

Var sum_of(Tape& tape, const Var& a, const Var& b) {
  Device& device = tape.device();
  const Tensor& first = a->value;
  const Tensor y = device.allocate(first.rows(), first.columns(), first.type());
  device.run(CopyRows{first, y, {}, {}, first.rows(), 0, 0, first.columns(), false});
  device.run(AddScaled{b->value, y, 1.0});
  return tape.record(y, {a, b}, [&tape, a, b](const Variable& result) {
    const Tensor& dy = result.gradient;
    for (const Var& input : {a, b}) {
      if (!input->needs_gradient) continue;
      const GradientTarget target = tape.target(input);
      tape.device().run(CopyRows{dy, target.tensor, {}, {}, dy.rows(), 0, 0, dy.columns(), target.accumulate});
    }
  });
}

}  // namespace strobe
