// Operations of a captured embedding. They are made of those that every device has: a softmax over slots is an
// attention whose scores are the slots' codes. So it needs no kernel of its own.
#include <cmath>

#include "models/events/event_parts.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_block.hpp"
#include "models/ops/ops_pointwise.hpp"
#include "models/snapshots/captured_values.hpp"

namespace strobe {
namespace {

Tensor filled(Device& device, std::int64_t rows, std::int64_t columns, double value) {
  const Tensor tensor = device.allocate(rows, columns);
  device.run(Fill{tensor, value});
  return tensor;
}

Var constant_rows(Tape& tape, std::int64_t rows, std::int64_t columns, double value) {
  return Tape::constant(filled(tape.device(), rows, columns, value));
}

/// Sums of `blocks` equal blocks of columns of x: x times a matrix of ones and zeros.
Var block_sums(Tape& tape, const Var& x, std::int64_t blocks) {
  Device& device = tape.device();
  const std::int64_t width = x->value.columns(), each = width / blocks;
  const Tensor turned = filled(device, blocks, width, 0);
  for (std::int64_t b = 0; b < blocks; ++b) device.run(Fill{turned.view(b * width + b * each, 1, each), 1.0});
  return dense(tape, x, transpose_blocks(tape, Tape::constant(turned), 1), nullptr, Activation::none);
}

/// The sum of `values` [S, F] over each root's slots, weighted head by head by the softmax of `scores` [S, H].
Var softmax_sums(Tape& tape, const Var& scores, const Var& values, const NeighbourLevel& level) {
  Device& device = tape.device();
  const std::int64_t heads = scores->value.columns(), width = values->value.columns(), roots = level.roots;
  // Head h reads column h of the scores. The factor cancels attention's own scale.
  const Tensor chosen = filled(device, 1, heads * heads, 0);
  const std::int64_t width_of_head = width / heads;
  const double factor = std::sqrt(static_cast<double>(width_of_head));
  for (std::int64_t h = 0; h < heads; ++h) device.run(Fill{chosen.view(h * heads + h, 1, 1), factor});
  const Var chooser = dense(tape, constant_rows(tape, roots, 1, 1), Tape::constant(chosen), nullptr, Activation::none);
  const Var keys_and_values = concat_columns(tape, {constant_rows(tape, values->value.rows(), width, 0), values});
  return neighbour_attention(tape, constant_rows(tape, roots, width, 0), keys_and_values, scores, chooser,
                             {level.slot_numbers, level.slots.offsets}, heads, AttentionScale::head)
      .y;
}

/// x [R, F], 0 in the rows of roots without slots.
Var where_found(Tape& tape, const Var& x, const NeighbourLevel& level) {
  const std::int64_t slots = level.slot_numbers.rows();
  const Var one = softmax_sums(tape, constant_rows(tape, slots, 1, 0), constant_rows(tape, slots, 1, 1), level);
  const Var wide = dense(tape, one, constant_rows(tape, 1, x->value.columns(), 1), nullptr, Activation::none);
  return multiply(tape, x, wide);
}

}  // namespace

Var run_embedding(Tape& tape, const Parameters& parameters, const CapturedPart& part, const PartInput& input,
                  const NeighbourLevel& level) {
  CapturedValues values(tape, part.graph, parameters);
  for (std::size_t i = 0; i < part.inputs.size(); ++i) values.set(i, input(part.inputs[i]));
  for (std::size_t i = 0; i < part.graph.operations.size(); ++i) {
    const CapturedOperation& op = part.graph.operations[i];
    const std::size_t value = part.graph.first_result() + i;
    const auto read = [&](std::size_t n) { return values.get(op.reads[n]); };
    if (op.kind == CapturedKind::spread)
      values.set(value, gather_rows(tape, read(0), {level.slot_roots}, level.slot_roots.rows()));
    else if (op.kind == CapturedKind::head_sums)
      values.set(value, block_sums(tape, read(0), op.count));
    else if (op.kind == CapturedKind::attend)
      values.set(value, softmax_sums(tape, read(0), read(1), level));
    else if (op.kind == CapturedKind::found)
      values.set(value, where_found(tape, read(0), level));
  }
  return values.get(part.graph.output);
}

}  // namespace strobe
