// The rules by which operations of a captured model give the shapes of their results.
#include "models/snapshots/captured_shapes.hpp"

#include "core/errors.hpp"

namespace strobe {
namespace {

/// Checks the shapes that one operation reads, and gives that of its result.
class ShapeRules {
 public:
  explicit ShapeRules(const std::vector<CapturedShape>& shapes) : shapes_(shapes) {}

  CapturedShape result(const CapturedOperation& operation) const {
    const CapturedShape first = shape(operation, 0);
    switch (operation.kind) {
      case CapturedKind::product:
        need(first.rows == 0);
        return first;
      case CapturedKind::attention:
      case CapturedKind::added_attention:
        return attention(operation);
      case CapturedKind::dense:
        return dense(operation);
      case CapturedKind::combine:
      case CapturedKind::multiply:
        need(first == shape(operation, 1));
        return first;
      case CapturedKind::pointwise:
      case CapturedKind::tanh:
        return first;
      case CapturedKind::concat:
      case CapturedKind::stack:
        return joined(operation);
      case CapturedKind::columns:
        need(operation.first >= 0 && operation.count > 0 && operation.first <= first.columns - operation.count);
        return {first.rows, operation.count};
      case CapturedKind::rows:
        need(operation.first >= 0 && operation.count > 0 && operation.first <= first.rows - operation.count);
        return {operation.count, first.columns};
      case CapturedKind::transpose:
        need(first.rows > 0);
        return {first.columns, first.rows};
      case CapturedKind::add_row:
        need(shape(operation, 1) == CapturedShape{1, first.columns});
        return first;
      case CapturedKind::layer_norm:
        need(shape(operation, 1) == CapturedShape{1, first.columns} && shape(operation, 2) == shape(operation, 1));
        return first;
      default:
        return of_events(operation);
    }
  }

 private:
  static void need(bool fits) {
    if (!fits) throw Error("shapes do not fit");
  }
  CapturedShape shape(const CapturedOperation& operation, std::size_t i) const { return shapes_[operation.reads[i]]; }

  CapturedShape of_events(const CapturedOperation& operation) const {
    const CapturedShape first = shape(operation, 0);
    const bool slots = first.rows == CapturedShape::slot_rows;
    switch (operation.kind) {
      case CapturedKind::spread:
        need(first.rows == 0);
        return {CapturedShape::slot_rows, first.columns};
      case CapturedKind::head_sums:
        need((slots || first.rows == 0) && operation.count > 0 && first.columns % operation.count == 0);
        return {first.rows, operation.count};
      case CapturedKind::attend: {
        const CapturedShape values = shape(operation, 1);
        need(slots && values.rows == first.rows && values.columns % first.columns == 0);
        return {0, values.columns};
      }
      default:
        need(first.rows == 0);
        return first;
    }
  }

  CapturedShape dense(const CapturedOperation& operation) const {
    const CapturedShape x = shape(operation, 0), w = shape(operation, 1);
    need(w.rows > 0 && x.columns == w.rows);
    need(operation.reads.size() == 2 || shape(operation, 2) == CapturedShape{1, w.columns});
    return {x.rows, w.columns};
  }

  CapturedShape attention(const CapturedOperation& operation) const {
    const CapturedShape q = shape(operation, 0), v = shape(operation, 2);
    need(q.rows == 0 && q == shape(operation, 1) && v.rows == 0);
    need(q.columns % operation.heads == 0 && v.columns % operation.heads == 0);
    need(operation.reads.size() == 3 || shape(operation, 3) == CapturedShape{1, q.columns});
    return v;
  }

  CapturedShape joined(const CapturedOperation& operation) const {
    const bool below = operation.kind == CapturedKind::stack;
    CapturedShape sum = shape(operation, 0);
    need(!below || sum.rows > 0);
    for (std::size_t i = 1; i < operation.reads.size(); ++i) {
      const CapturedShape part = shape(operation, i);
      need(below ? part.columns == sum.columns && part.rows > 0 : part.rows == sum.rows);
      (below ? sum.rows : sum.columns) += below ? part.rows : part.columns;
      need(sum.rows <= largest_captured_size && sum.columns <= largest_captured_size);
    }
    return sum;
  }

  const std::vector<CapturedShape>& shapes_;
};

}  // namespace

std::vector<CapturedShape> captured_shapes(const CapturedGraph& graph, std::int64_t features,
                                           const std::string& source) {
  std::vector<CapturedShape> shapes{{0, features}};
  const auto weight_shape = [&](const CapturedWeight& weight) {
    return CapturedShape{weight.rows == 0 ? features : weight.rows, weight.columns};
  };
  for (const CapturedState& state : graph.states) {
    shapes.push_back(state.of_weights() ? weight_shape(graph.weights[state.start - graph.first_weight()])
                                        : CapturedShape{0, state.width});
  }
  for (std::size_t input = 0; input < graph.of_slots.size(); ++input) {
    if (graph.of_slots[input]) shapes[input].rows = CapturedShape::slot_rows;
  }
  for (const CapturedWeight& weight : graph.weights) shapes.push_back(weight_shape(weight));
  const auto refuse = [&](const std::string& why) { throw InvalidInput(source, 0, 0, why); };
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    try {
      shapes.push_back(ShapeRules(shapes).result(graph.operations[i]));
    } catch (const Error&) {
      refuse("has operation " + std::to_string(i + 1) + ", whose shapes do not fit each other");
    }
  }
  if (shapes[graph.output].rows != 0) refuse("has an output that is no value of vertices");
  for (std::size_t s = 0; s < graph.next.size(); ++s) {
    if (shapes[graph.next[s]] != shapes[1 + s]) refuse("hands on a state of another width than it reads");
  }
  return shapes;
}

}  // namespace strobe
