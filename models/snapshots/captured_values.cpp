#include "models/snapshots/captured_values.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_block.hpp"
#include "models/ops/ops_gate.hpp"
#include "models/ops/ops_memory.hpp"

namespace strobe {

Var CapturedValues::get(std::size_t value) {
  Var& known = values_[value];
  if (known) return known;
  if (value < graph_.first_weight()) throw Error("a captured stage reads a value that it is not given");
  if (value < graph_.first_result()) return known = parameters_.at(graph_.weights[value - graph_.first_weight()].name);
  return known = compute(graph_.operations[value - graph_.first_result()]);
}

Var CapturedValues::beside(const std::vector<std::size_t>& values) {
  if (values.size() == 1) return get(values[0]);
  return concat_columns(tape_, distinct(values));
}

/// Any operation but those whose results the caller sets, such as a product.
Var CapturedValues::compute(const CapturedOperation& op) {
  const auto read = [&](std::size_t i) { return get(op.reads[i]); };
  switch (op.kind) {
    case CapturedKind::dense:
      return dense(tape_, read(0), read(1), op.reads.size() == 3 ? read(2) : nullptr, op.activation);
    case CapturedKind::combine:
      return combine(tape_, read(0), op.p, read(1), op.q);
    case CapturedKind::multiply:
      return multiply(tape_, read(0), read(1));
    case CapturedKind::pointwise:
      return pointwise(tape_, read(0), op.curve, op.p, op.q);
    case CapturedKind::tanh:
      return tanh_of(tape_, read(0));
    case CapturedKind::concat:
      return beside(op.reads);
    case CapturedKind::columns:
      return slice_columns(tape_, read(0), op.first, op.count);
    case CapturedKind::rows:
      return slice_rows(tape_, read(0), op.first, op.count);
    case CapturedKind::stack:
      return concat_rows(tape_, distinct(op.reads));
    case CapturedKind::transpose:
      return transpose_blocks(tape_, read(0), 1);
    case CapturedKind::layer_norm:
      return layer_norm(tape_, read(0), read(1), read(2));
    default:
      break;
  }
  throw Error("a captured stage computes a value that its caller has not set");
}

/// The values, a copy of each that is there again. Two values may be one variable.
std::vector<Var> CapturedValues::distinct(const std::vector<std::size_t>& values) {
  std::vector<Var> parts;
  for (const std::size_t value : values) {
    const Var var = get(value);
    const bool again = std::find(parts.begin(), parts.end(), var) != parts.end();
    parts.push_back(again ? pointwise(tape_, var, Curve::affine) : var);
  }
  return parts;
}

}  // namespace strobe
