#include "models/ops/ops_block.hpp"

#include <algorithm>

#include "backends/operations/operations_block.hpp"
#include "backends/operations/operations_join.hpp"
#include "core/errors.hpp"
#include "models/ops/ops.hpp"

namespace strobe {
namespace {

Var run_blocks(Tape& tape, const Var& left, const BlockDense& forward, const Var& x, const Var& w, const Var& bias) {
  tape.device().run(forward);
  std::vector<Var> inputs = {x, w};
  if (bias) inputs.push_back(bias);
  if (left) inputs.push_back(left);
  return tape.record(
      forward.y, inputs,
      [&tape, left, x, w, bias, blocks = forward.blocks, activation = forward.activation](const Variable& result) {
        BlockDenseBackward op;
        op.x = x->value;
        op.w = w->value;
        op.y = result.value;
        op.dy = result.gradient;
        op.blocks = blocks;
        op.activation = activation;
        if (x->needs_gradient) {
          const GradientTarget target = tape.target(x);
          op.dx = target.tensor;
          op.accumulate_dx = target.accumulate;
        }
        if (left && left->needs_gradient) {  // after dx: where left is x, its gradient is added to the one just stored
          const GradientTarget target = tape.target(left);
          op.dleft = target.tensor;
          op.accumulate_dleft = target.accumulate;
        }
        op.dw = tape.added_gradient(w);  // weights may be a result, as transposed ones are
        if (bias) op.dbias = bias->gradient;
        tape.device().run(op);
      });
}

/// Columns [from, from + width) of `source` to (or added to) columns [to, ...) of `target`.
void copy_columns(Device& device, const Tensor& source, std::int64_t from, const Tensor& target, std::int64_t to,
                  std::int64_t width, bool accumulate) {
  device.run(CopyRows{source, target, {}, {}, source.rows(), from, to, width, accumulate});
}

/// Cases in which inputs are joined: kernels over tiles can read up to this number of parts in place.
constexpr std::size_t most_joined_parts = 16;
constexpr std::int64_t least_joined_weights = 8192;  // of more parts, from which on joining them is worth it

/// The parts' values. Throws Error when one that needs a gradient is there twice: kernels write the parts' gradients at
/// the same time.
std::vector<Tensor> values_of(const std::vector<Var>& parts) {
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i]->needs_gradient && std::find(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(i),
                                              parts[i]) != parts.begin() + static_cast<std::ptrdiff_t>(i))
      throw Error("a part that needs a gradient is joined twice");
    values.push_back(parts[i]->value);
  }
  return values;
}

/// The targets of the parts' gradients, an undefined tensor where none is needed, and whether they are added.
void ask_for_gradients(Tape& tape, const std::vector<Var>& parts, std::vector<Tensor>& tensors,
                       std::vector<bool>& accumulate) {
  for (const Var& part : parts) {
    const GradientTarget target = part->needs_gradient ? tape.target(part) : GradientTarget{};
    tensors.push_back(target.tensor);
    accumulate.push_back(target.accumulate);
  }
}

}  // namespace

Var skip_dense(Tape& tape, const Var& left, const Var& x, const Var& w, Activation activation) {
  BlockDense op;
  op.left = left->value;
  op.x = x->value;
  op.w = w->value;
  op.y = tape.device().allocate(x->value.rows(), left->value.columns() + w->value.columns(), x->value.type());
  op.activation = activation;
  return run_blocks(tape, left, op, x, w, nullptr);
}

Var block_dense(Tape& tape, const Var& x, const Var& w, const Var& bias, std::int64_t blocks, Activation activation) {
  BlockDense op;
  op.x = x->value;
  op.w = w->value;
  if (bias) op.bias = bias->value;
  op.y = tape.device().allocate(x->value.rows(), blocks * w->value.columns(), x->value.type());
  op.blocks = blocks;
  op.activation = activation;
  return run_blocks(tape, nullptr, op, x, w, bias);
}

Var concat_columns(Tape& tape, const std::vector<Var>& parts) {
  JoinColumns op;
  op.parts = values_of(parts);
  std::int64_t columns = 0;
  for (const Tensor& part : op.parts) columns += part.columns();
  op.whole = tape.device().allocate(parts.at(0)->value.rows(), columns, parts[0]->value.type());
  tape.device().run(op);
  return tape.record(op.whole, parts, [&tape, parts](const Variable& result) {
    SplitColumns back;
    back.whole = result.gradient;
    for (const Var& part : parts) back.widths.push_back(part->value.columns());
    ask_for_gradients(tape, parts, back.parts, back.accumulate);
    tape.device().run(back);
  });
}

Var joined_dense(Tape& tape, const std::vector<Var>& parts, const Var& w, const Var& bias) {
  if (tape.device().wants_joined_inputs() && parts.size() > most_joined_parts &&
      w->value.elements() > least_joined_weights) {
    return dense(tape, concat_columns(tape, parts), w, bias, Activation::none);
  }
  JoinedDense op;
  op.parts = values_of(parts);
  op.w = w->value;
  if (bias) op.bias = bias->value;
  op.y = tape.device().allocate(parts.at(0)->value.rows(), w->value.columns(), w->value.type());
  tape.device().run(op);
  std::vector<Var> inputs = parts;
  inputs.push_back(w);
  if (bias) inputs.push_back(bias);
  return tape.record(op.y, inputs, [&tape, parts, w, bias](const Variable& result) {
    JoinedDenseBackward back;
    back.parts = values_of(parts);
    back.w = w->value;
    back.dy = result.gradient;
    ask_for_gradients(tape, parts, back.dparts, back.accumulate);
    back.dw = w->gradient;
    if (bias) back.dbias = bias->gradient;
    tape.device().run(back);
  });
}

Var transpose_blocks(Tape& tape, const Var& x, std::int64_t blocks) {
  const Tensor& from = x->value;
  const Tensor y = tape.device().allocate(blocks * from.columns(), from.rows() / blocks, from.type());
  tape.device().run(TransposeBlocks{from, y, blocks, false});
  return tape.record(y, {x}, [&tape, x, blocks](const Variable& result) {
    const GradientTarget dx = tape.target(x);
    tape.device().run(TransposeBlocks{result.gradient, dx.tensor, blocks, dx.accumulate});
  });
}

Var slice_columns(Tape& tape, const Var& x, std::int64_t first, std::int64_t width) {
  const Tensor y = tape.device().allocate(x->value.rows(), width, x->value.type());
  copy_columns(tape.device(), x->value, first, y, 0, width, false);
  return tape.record(y, {x}, [&tape, x, first, width](const Variable& result) {
    const Tensor dx = tape.added_gradient(x);
    copy_columns(tape.device(), result.gradient, 0, dx, first, width, true);
  });
}

}  // namespace strobe
