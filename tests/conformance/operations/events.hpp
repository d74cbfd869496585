// Cases and judges of the operations over roots of events: attention over sampled neighbours on a tape of scalars, slot
// by slot, which gives the gradients as well.
#pragma once

#include "backends/operations/operations_events.hpp"
#include "tests/conformance/operations/evolve.hpp"

namespace strobe::conformance {

/// An attention of `roots` roots with up to `most` slots each (`even`: exactly that many; else every seventh root has
/// none and root 5 has 40), over `vertices` vertices, the last one in no slot and
/// the first one in every third slot. Queries times `sharpness`. Codes are `codes` columns wide.
struct NeighbourShape {
  std::int64_t roots, vertices, most, heads, depth;
  AttentionScale scale = AttentionScale::neighbours;
  bool even = false;
  double dropped = 0, sharpness = 1;
  bool kept = true;  // coefficients are wanted
  std::int64_t codes = 5;

  std::int64_t width() const { return heads * depth; }
  std::string name() const {
    const char* const scales[] = {"neighbours", "head", "leaky"};
    return std::to_string(roots) + " roots of " + (even ? "" : "up to ") + std::to_string(most) + " slots, " +
           std::to_string(heads) + " heads of " + std::to_string(depth) + ", " +
           scales[static_cast<std::size_t>(scale)] + (dropped > 0 ? ", dropout" : "") +
           (sharpness > 1 ? ", sharp" : "") + (kept ? "" : ", coefficients not kept") + ", codes of " +
           std::to_string(codes);
  }
};

inline std::vector<NeighbourShape> neighbour_shapes() {
  std::vector<NeighbourShape> shapes{{0, 3, 4, 1, 1},
                                     {4, 3, 0, 2, 3, AttentionScale::neighbours, true},
                                     {1, 1, 1, 1, 1, AttentionScale::neighbours, true},
                                     {1, 30, 40, 2, 3, AttentionScale::neighbours, true},
                                     {300, 50, 10, 2, 8, AttentionScale::leaky, true},
                                     {40, 9, 6, 6, 2, AttentionScale::head, false, 0.4},
                                     {20, 9, 6, 9, 3, AttentionScale::neighbours, false, 0.2},
                                     {3, 9, 70, 2, 65, AttentionScale::leaky, true, 0.1}};
  for (const AttentionScale scale : {AttentionScale::neighbours, AttentionScale::head, AttentionScale::leaky}) {
    for (const std::int64_t heads : {1, 2, 4}) {
      shapes.push_back({30, 40, 10, heads, 100 / heads, scale, false, 0, 1, true, 100});
      shapes.push_back({25, 40, 10, heads, 4, scale, true, 0.3});
      shapes.push_back({12, 7, 10, heads, 5, scale, false, 0.0, 1000});
    }
    shapes.push_back({17, 20, 10, 2, 50, scale, true, 0.5, 1, true, 272});
    shapes.push_back({10, 20, 10, 2, 8, scale, false, 0.1, 1.0, false});
  }
  for (std::int64_t width = 1; width <= 17; ++width) {
    for (const std::int64_t heads : {1, 2, 4}) {
      if (width % heads == 0)
        shapes.push_back({9, 8, 7, heads, width / heads, AttentionScale::leaky, false, 0, 1, true, 34 - 2 * width + 1});
    }
  }
  return shapes;
}

/// The case on the host.
struct NeighbourInput {
  std::vector<std::int64_t> rows, offsets{0}, numbers;
  std::vector<double> q, vertex, code, code_query, dy, dmixed;

  explicit NeighbourInput(const NeighbourShape& s) {
    const RandomStream random(6, random_purpose::test, 161);
    for (std::int64_t r = 0; r < s.roots; ++r) {
      const std::int64_t drawn = random.below(static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(s.most) + 1);
      const std::int64_t count = s.even ? s.most : r % 7 == 3 ? 0 : r == 5 ? 40 : drawn;
      offsets.push_back(offsets.back() + count);
      numbers.push_back(7 * r + (r % 3 << 33));
    }
    for (std::int64_t i = 0; i < offsets.back(); ++i) {
      const std::uint64_t others = std::max<std::int64_t>(1, s.vertices - 1);
      rows.push_back(
          i % 3 == 0 ? 0 : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(1000 + i), others)));
    }
    q = random_values(s.roots * s.width(), 162), vertex = random_values(s.vertices * 2 * s.width(), 163);
    code = random_values(offsets.back() * s.codes, 164), code_query = random_values(s.roots * s.heads * s.codes, 166);
    dy = random_values(s.roots * s.width(), 165), dmixed = random_values(s.roots * s.heads * s.codes, 167);
    for (double& value : q) value *= s.sharpness;
    for (double& value : code_query) value *= s.sharpness;
  }

  std::int64_t slots() const { return offsets.back(); }
  /// Seed and roots' numbers beyond 32 bits.
  NeighbourDropout dropout(Device& device, const NeighbourShape& s) const {
    if (s.dropped == 0) return {};
    return {s.dropped, (std::uint64_t{5} << 40) + 7, 67, upload(device, numbers)};
  }
};

/// The factor of one slot and head, from the definition.
inline double judged_neighbour_factor(const NeighbourShape& s, std::int64_t root, std::int64_t slot,
                                      std::int64_t head) {
  if (s.dropped == 0) return 1;
  const auto group = static_cast<std::uint32_t>(head / 4);
  const auto words =
      philox({static_cast<std::uint32_t>(7 * root), (static_cast<std::uint32_t>(root % 3) << 1) ^ (group * 65536u),
              static_cast<std::uint32_t>(slot), 67u},
             {7u, (5u << 8) ^ (35u << 24)});
  const double drawn = static_cast<double>(words[head % 4]) * 0x1.0p-32;
  return drawn < s.dropped ? 0.0 : 1.0 / (1.0 - s.dropped);
}

struct JudgedNeighbours {
  ScalarTape tape;
  std::vector<Scalar> q, vertex, code, code_query, seen;  // seen [S, 2 F]: a slot's own part in its vertex's row
  std::vector<Scalar> y, mixed, coefficients;
  double largest_score = 1;

  JudgedNeighbours(const NeighbourShape& s, const NeighbourInput& in)
      : q(tape.constants(in.q)),
        vertex(tape.constants(in.vertex)),
        code(tape.constants(in.code)),
        code_query(tape.constants(in.code_query)),
        y(in.q.size()),
        mixed(in.code_query.size()),
        coefficients(static_cast<std::size_t>(in.slots() * s.heads)) {
    const std::int64_t columns = 2 * s.width();
    for (std::int64_t i = 0; i < in.slots() * columns; ++i) {
      const std::int64_t at = in.rows[i / columns] * columns + i % columns;
      seen.push_back(tape.scale(vertex[at], 1));
    }
    for (std::int64_t i = 0; i < s.roots * s.heads; ++i) attend(s, in, i / s.heads, i % s.heads);
  }

  /// Judged values after the softmax, which are as uncertain as the scores before it.
  std::vector<Judged> judged_after_softmax(const std::vector<double>& values) const {
    std::vector<Judged> result = against_largest(values);
    for (Judged& one : result) one.magnitude *= largest_score;
    return result;
  }

 private:
  Scalar score(const NeighbourShape& s, std::int64_t root, std::int64_t at, std::int64_t found, std::int64_t head) {
    Scalar sum = tape.constant(0);
    for (std::int64_t c = head * s.depth; c < (head + 1) * s.depth; ++c) {
      sum = tape.multiply_add(q[root * s.width() + c], seen[at * 2 * s.width() + c], sum);
    }
    for (std::int64_t c = 0; c < s.codes; ++c) {
      sum = tape.multiply_add(code_query[(root * s.heads + head) * s.codes + c], code[at * s.codes + c], sum);
    }
    double factor = 1;
    if (s.scale == AttentionScale::neighbours) factor = std::pow(static_cast<double>(found), -0.5);
    if (s.scale == AttentionScale::head) factor = std::pow(static_cast<double>(s.depth), -0.5);
    if (s.scale == AttentionScale::leaky && tape.value(sum) <= 0) factor = 0.2;
    return tape.scale(sum, factor);
  }

  void attend(const NeighbourShape& s, const NeighbourInput& in, std::int64_t root, std::int64_t head) {
    const std::int64_t begin = in.offsets[root], found = in.offsets[static_cast<std::size_t>(root) + 1] - begin;
    std::vector<Scalar> weights;
    double most = -INFINITY;
    for (std::int64_t i = 0; i < found; ++i) {
      weights.push_back(score(s, root, begin + i, found, head));
      most = std::max(most, tape.value(weights.back()));
      largest_score = std::max(largest_score, std::abs(tape.value(weights.back())));
    }
    Scalar total = tape.constant(0);  // the largest score is taken off: it cancels
    for (Scalar& weight : weights) {
      weight = tape.exponential(tape.add(weight, tape.constant(-most)));
      total = tape.add(total, weight);
    }
    for (std::int64_t i = 0; i < found; ++i) {
      Scalar& weight = weights[i];
      weight = tape.divide(weight, total);
      coefficients[(begin + i) * s.heads + head] = weight;
      weight = tape.scale(weight, judged_neighbour_factor(s, root, i, head));
    }
    for (std::int64_t c = head * s.depth; c < (head + 1) * s.depth; ++c) {
      y[root * s.width() + c] = weighted(weights, seen, (begin * 2 + 1) * s.width() + c, 2 * s.width());
    }
    for (std::int64_t c = 0; c < s.codes; ++c) {
      mixed[(root * s.heads + head) * s.codes + c] = weighted(weights, code, begin * s.codes + c, s.codes);
    }
  }

  /// The sum of weights[i] values[first + i stride].
  Scalar weighted(const std::vector<Scalar>& weights, const std::vector<Scalar>& values, std::int64_t first,
                  std::int64_t stride) {
    Scalar sum = tape.constant(0);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      sum = tape.multiply_add(weights[i],
                              values[static_cast<std::size_t>(first) + i * static_cast<std::size_t>(stride)], sum);
    }
    return sum;
  }
};

/// `op` with what both directions read.
template <class Op>
Op neighbour_operation(Device& device, const NeighbourShape& s, const NeighbourInput& in) {
  Op op;
  op.q = upload(device, in.q, s.roots, s.width());
  op.vertex = upload(device, in.vertex, s.vertices, 2 * s.width());
  op.code = upload(device, in.code, in.slots(), s.codes);
  op.code_query = upload(device, in.code_query, s.roots, s.heads * s.codes);
  op.rows = upload(device, in.rows);
  op.offsets = upload(device, in.offsets);
  op.heads = s.heads;
  op.scale = s.scale;
  op.dropout = in.dropout(device, s);
  return op;
}

inline std::vector<Output> judge_neighbours(Device& device, const NeighbourShape& s) {
  const NeighbourInput in(s);
  const JudgedNeighbours& judge = judged_once(s.name(), [&] { return JudgedNeighbours(s, in); });
  auto op = neighbour_operation<NeighbourAttention>(device, s, in);
  if (s.kept) op.coefficients = device.allocate(in.slots(), s.heads);
  op.y = device.allocate(s.roots, s.width());
  op.mixed = device.allocate(s.roots, s.heads * s.codes);
  device.run(op);
  std::vector<Output> outputs{
      {"y", download(device, op.y), judge.judged_after_softmax(values_on(judge.tape, judge.y))},
      {"mixed", download(device, op.mixed), judge.judged_after_softmax(values_on(judge.tape, judge.mixed))}};
  if (s.kept) {
    outputs.push_back({"coefficients", download(device, op.coefficients),
                       judge.judged_after_softmax(values_on(judge.tape, judge.coefficients))});
  }
  return outputs;
}

/// Gradients of `values`, in which queries times differences of coefficients count with their sharpness.
inline std::vector<Judged> judged_gradients(const JudgedNeighbours& judge, const std::vector<Scalar>& values,
                                            double sharpness = 1) {
  std::vector<double> gradients;
  for (const Scalar one : values) gradients.push_back(judge.tape.gradient(one));
  std::vector<Judged> judged = against_largest(gradients);
  for (Judged& one : judged) one.magnitude *= sharpness;
  return judged;
}

inline std::vector<Output> judge_neighbours_back(Device& device, const NeighbourShape& s) {
  const NeighbourInput in(s);
  const JudgedNeighbours& judge = judged_once(s.name(), [&] {
    JudgedNeighbours made(s, in);
    for (std::size_t i = 0; i < made.y.size(); ++i) made.tape.gradient(made.y[i]) += in.dy[i];
    for (std::size_t i = 0; i < made.mixed.size(); ++i) made.tape.gradient(made.mixed[i]) += in.dmixed[i];
    made.tape.backward();
    return made;
  });
  auto op = neighbour_operation<NeighbourAttentionBackward>(device, s, in);
  op.coefficients = upload(device, values_on(judge.tape, judge.coefficients), in.slots(), s.heads);
  op.dy = upload(device, in.dy, s.roots, s.width());
  op.dmixed = upload(device, in.dmixed, s.roots, s.heads * s.codes);
  op.dq = device.allocate(s.roots, s.width());
  op.dseen = device.allocate(in.slots(), 2 * s.width());
  op.dcode = device.allocate(in.slots(), s.codes);
  op.dcode_query = device.allocate(s.roots, s.heads * s.codes);
  device.run(op);
  return {{"dq", download(device, op.dq), judged_gradients(judge, judge.q)},
          {"dseen", download(device, op.dseen), judged_gradients(judge, judge.seen, s.sharpness)},
          {"dcode", download(device, op.dcode), judged_gradients(judge, judge.code, s.sharpness)},
          {"dcode_query", download(device, op.dcode_query), judged_gradients(judge, judge.code_query)}};
}

inline std::vector<OperationCase> neighbour_cases(bool backward) {
  std::vector<OperationCase> cases;
  for (const NeighbourShape& shape : neighbour_shapes()) {
    cases.push_back({"", shape.name(), [=](Device& device) {
                       return backward ? judge_neighbours_back(device, shape) : judge_neighbours(device, shape);
                     }});
  }
  return cases;
}

}  // namespace strobe::conformance
