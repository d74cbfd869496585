#include "models/ops/ops.hpp"

#include "backends/operations/operations_fused.hpp"
#include "backends/operations/operations_gather.hpp"
#include "backends/operations/operations_pair.hpp"
#include "models/ops/stored_gradient.hpp"

namespace strobe {

Var dense(Tape& tape, const Var& x, const Var& w, const Var& bias, Activation activation) {
  Device& device = tape.device();
  const Tensor y = device.allocate(x->value.rows(), w->value.columns(), x->value.type());
  device.run(Dense{x->value, w->value, bias ? bias->value : Tensor(), y, activation});
  std::vector<Var> inputs = {x, w};
  if (bias) inputs.push_back(bias);
  return tape.record(y, inputs, [&tape, x, w, bias, activation](const Variable& result) {
    DenseBackward op;
    op.x = x->value;
    op.w = w->value;
    op.y = result.value;
    op.dy = result.gradient;
    op.activation = activation;
    if (x->needs_gradient) {
      const GradientTarget target = tape.target(x);
      op.dx = target.tensor;
      op.accumulate_dx = target.accumulate;
    }
    op.dw = added_or_ignored(tape, w);
    if (bias) op.dbias = tape.added_gradient(bias);
    tape.device().run(op);
  });
}

Var spmm(Tape& tape, const SparseMatrix& a, const Var& x) {
  const Tensor y = tape.device().allocate(a.rows, x->value.columns(), x->value.type());
  tape.device().run(Spmm{a, x->value, y});
  return tape.record(y, {x}, [&tape, a, x](const Variable& result) {
    if (!x->needs_gradient) return;
    const GradientTarget dx = tape.target(x);
    tape.device().run(SpmmTransposed{a, result.gradient, dx.tensor, dx.accumulate});
  });
}

std::array<Var, 2> spmm_pair(Tape& tape, const SparseMatrix& a, const Var& x, const SparseMatrix& b, const Var& z) {
  Device& device = tape.device();
  const Tensor ax = device.allocate(a.rows, x->value.columns(), x->value.type());
  const Tensor bz = device.allocate(b.rows, z->value.columns(), z->value.type());
  device.run(SpmmPair{{a, x->value, ax}, {b, z->value, bz}});
  // As for both gates of a GRU (ops_gate.cpp): the second result's gradient is complete when the first one's record is
  // reached.
  const bool needs = tape.recording() && (x->needs_gradient || z->needs_gradient);
  const Var second = std::make_shared<Variable>(Variable{bz, {}, needs});
  const Var first = tape.record(ax, {x, z}, [&tape, a, x, b, z, second](const Variable& result) {
    Device& on = tape.device();
    const auto transposed = [&](const SparseMatrix& matrix, const Tensor& dy, const Var& of) {
      const GradientTarget target = tape.target(of);
      return SpmmTransposed{matrix, dy, target.tensor, target.accumulate};
    };
    const bool both = x->needs_gradient && z->needs_gradient && second->gradient.defined();
    if (both) {
      const SpmmTransposed dx = transposed(a, result.gradient, x);
      on.run(SpmmTransposedPair{dx, transposed(b, second->gradient, z)});
    } else {
      if (x->needs_gradient) on.run(transposed(a, result.gradient, x));
      if (z->needs_gradient && second->gradient.defined()) on.run(transposed(b, second->gradient, z));
    }
    second->gradient = Tensor();
  });
  return {first, second};
}

Var graph_convolution(Tape& tape, const SparseMatrix& a, const Var& x, const Var& w, Activation activation) {
  Device& device = tape.device();
  const ElementType type = x->value.type();
  const Tensor aggregated = device.allocate(a.rows, x->value.columns(), type);
  const Tensor y = device.allocate(a.rows, w->value.columns(), type);
  device.run(GraphConvolution{a, x->value, w->value, aggregated, y, activation});
  return tape.record(y, {x, w}, [&tape, a, x, w, aggregated, activation](const Variable& result) {
    Device& on = tape.device();
    if (x->needs_gradient) {
      const Tensor ds = on.allocate(aggregated.rows(), aggregated.columns(), aggregated.type());
      const GradientTarget dx = tape.target(x);
      on.run(GraphConvolutionBackward{a, aggregated, w->value, result.value, result.gradient, dx.tensor, w->gradient,
                                      ds, activation, dx.accumulate});
      return;
    }
    DenseBackward op;
    op.x = aggregated;
    op.w = w->value;
    op.y = result.value;
    op.dy = result.gradient;
    op.dw = w->gradient;
    op.activation = activation;
    on.run(op);
  });
}

Var m_transform(Tape& tape, const Var& x, std::int64_t steps, std::int64_t window) {
  const Tensor y = tape.device().allocate(x->value.rows(), x->value.columns(), x->value.type());
  tape.device().run(MTransform{x->value, y, steps, window, false, false});
  return tape.record(y, {x}, [&tape, x, steps, window](const Variable& result) {
    const GradientTarget target = tape.target(x);
    tape.device().run(MTransform{result.gradient, target.tensor, steps, window, true, target.accumulate});
  });
}

Var dense_m_transform(Tape& tape, const Var& x, const Var& w, Activation activation, std::int64_t steps,
                      std::int64_t window) {
  if (x->needs_gradient || window > DenseMTransform::longest_window) {
    return m_transform(tape, dense(tape, x, w, nullptr, activation), steps, window);
  }
  const Tensor y = tape.device().allocate(x->value.rows(), w->value.columns(), x->value.type());
  tape.device().run(DenseMTransform{x->value, w->value, y, steps, window, activation});
  return tape.record(y, {w}, [&tape, x, w, activation, steps, window](const Variable& result) {
    tape.device().run(
        DenseMTransformBackward{x->value, w->value, result.gradient, w->gradient, steps, window, activation});
  });
}

Var slice_rows(Tape& tape, const Var& x, std::int64_t first, std::int64_t count) {
  if (first == 0 && count == x->value.rows()) return x;
  return tape.record(x->value.slice_rows(first, count), {x}, [&tape, x, first, count](const Variable& result) {
    const Tensor dx = tape.added_gradient(x);
    tape.device().run(AddScaled{result.gradient, dx.slice_rows(first, count), 1.0});
  });
}

namespace {

/// to (+)= from, row by row.
void copy_all(Device& device, const Tensor& from, const Tensor& to, bool accumulate) {
  device.run(CopyRows{from, to, {}, {}, from.rows(), 0, 0, from.columns(), accumulate});
}

}  // namespace

Var concat_rows(Tape& tape, const std::vector<Var>& parts) {
  std::int64_t rows = 0;
  for (const Var& part : parts) rows += part->value.rows();
  const Tensor y = tape.device().allocate(rows, parts.at(0)->value.columns(), parts[0]->value.type());
  std::int64_t next = 0;
  for (const Var& part : parts) {
    copy_all(tape.device(), part->value, y.slice_rows(next, part->value.rows()), false);
    next += part->value.rows();
  }
  return tape.record(y, parts, [&tape, parts](const Variable& result) {
    std::int64_t first = 0;
    for (const Var& part : parts) {
      const std::int64_t count = part->value.rows();
      // The whole gradient has no further reader, so its rows become the parts' own.
      if (part->needs_gradient) tape.add_gradient(part, result.gradient.slice_rows(first, count));
      first += count;
    }
  });
}

Var gather_rows(Tape& tape, const Var& x, const std::vector<Tensor>& lists, std::int64_t count) {
  Device& device = tape.device();
  const std::int64_t width = x->value.columns();
  const Tensor y = device.allocate(count, width * static_cast<std::int64_t>(lists.size()), x->value.type());
  for (std::size_t k = 0; k < lists.size(); ++k) {
    device.run(CopyRows{x->value, y, lists[k], {}, count, 0, static_cast<std::int64_t>(k) * width, width, false});
  }
  return tape.record(y, {x}, [&tape, x, lists, count, width](const Variable& result) {
    const Tensor dx = tape.added_gradient(x);
    for (std::size_t k = 0; k < lists.size(); ++k) {
      tape.device().run(
          CopyRows{result.gradient, dx, {}, lists[k], count, static_cast<std::int64_t>(k) * width, 0, width, true});
    }
  });
}

Var gathered_dense(Tape& tape, const Var& x, const std::vector<Tensor>& lists, std::int64_t count, const Var& w,
                   const Var& bias) {
  if (tape.device().wants_joined_inputs())
    return dense(tape, gather_rows(tape, x, lists, count), w, bias, Activation::none);
  const Tensor y = tape.device().allocate(count, w->value.columns(), x->value.type());
  tape.device().run(GatheredDense{x->value, lists, w->value, bias ? bias->value : Tensor(), y});
  std::vector<Var> inputs = {x, w};
  if (bias) inputs.push_back(bias);
  return tape.record(y, inputs, [&tape, x, lists, w, bias](const Variable& result) {
    GatheredDenseBackward op;
    op.x = x->value;
    op.rows = lists;
    op.w = w->value;
    op.dy = result.gradient;
    if (x->needs_gradient) op.dx = tape.added_gradient(x);
    op.dw = tape.added_gradient(w);
    if (bias) op.dbias = tape.added_gradient(bias);
    tape.device().run(op);
  });
}

void softmax_cross_entropy(Tape& tape, const Var& logits, const Tensor& labels, double scale, const Tensor& loss) {
  const GradientTarget target = tape.target(logits);
  if (target.accumulate) throw Error("softmax_cross_entropy: these logits already have a gradient");
  tape.device().run(SoftmaxCrossEntropy{logits->value, labels, target.tensor, loss, scale});
}

}  // namespace strobe
