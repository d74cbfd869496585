// Cases and judges of recurrences over all steps: the definition, cell by cell, on a tape of scalars, which gives the
// gradients as well. Values pass through many steps, so errors are measured against the largest value of a tensor.
#pragma once

#include <algorithm>

#include "backends/operations/operations_recurrent.hpp"
#include "tests/conformance/operations/operations.hpp"
#include "tests/conformance/operations/packed_bins.hpp"
#include "tests/conformance/operations/scalar_tape.hpp"

namespace strobe::conformance {

/// `own_inputs`: every gate of a GRU reads columns of its own. The last `right` columns of an LSTM's inputs are
/// x_right; w_in makes `made` columns from the others. With `most`, vertices are bins of packed sequences with up to
/// `most` rows. If `start` is set, some begin with a given state and some hand theirs on.
struct RecurrentShape {
  std::int64_t steps, vertices, inputs, hidden;
  bool start, kept, own_inputs;
  std::int64_t right = 0, made = 0, most = 0;

  PackedBins packing() const {
    PackedBins packed = random_packing(steps, vertices, most, static_cast<std::uint32_t>(7 * steps + vertices));
    if (start) return packed;
    packed.starts = packed.ends = 0;
    for (Piece& piece : packed.pieces) piece.start = piece.end = -1;
    return packed;
  }
  /// Sequences that are given a state, and that hand theirs on.
  std::int64_t starts() const { return most > 0 ? packing().starts : vertices; }
  std::int64_t ends() const { return most > 0 ? packing().ends : vertices; }
  /// For every row: its row of start, -1 for the row above, -2 for zero.
  std::vector<std::int32_t> origins() const {
    if (most > 0) return packing().restarts();
    std::vector<std::int32_t> rows(steps * vertices, -1);
    for (std::int64_t v = 0; v < vertices; ++v) rows[v] = static_cast<std::int32_t>(v);
    return rows;
  }
  /// For every row: the row of dlast for its cell state, or -1.
  std::vector<std::int32_t> end_rows() const {
    if (most > 0) return packing().end_rows();
    std::vector<std::int32_t> rows(steps * vertices, -1);
    for (std::int64_t v = 0; v < vertices; ++v)
      rows[rows.size() - static_cast<std::size_t>(vertices - v)] = static_cast<std::int32_t>(v);
    return rows;
  }

  std::string name() const {
    return std::to_string(steps) + " steps, " + std::to_string(vertices) + " x " + std::to_string(inputs) + " to " +
           std::to_string(hidden) + (start ? ", started" : "") + (kept ? ", gates kept" : "") +
           (own_inputs ? ", own inputs" : "") + (right > 0 ? ", " + std::to_string(right) + " on the right" : "") +
           (made > 0 ? ", " + std::to_string(made) + " made" : "") +
           (most > 0 ? ", packed by up to " + std::to_string(most) : "");
  }
};

inline std::vector<RecurrentShape> recurrent_shapes() {
  std::vector<RecurrentShape> shapes;
  const std::vector<std::vector<std::int64_t>> sizes{
      {1, 1, 1, 1},    {3, 5, 2, 2},   {4, 37, 8, 6}, {2, 300, 3, 6}, {3, 33, 12, 6}, {5, 17, 7, 13}, {2, 9, 40, 5},
      {2, 19, 24, 33}, {2, 5, 72, 64}, {70, 2, 1, 2}, {3, 70, 3, 4},  {2, 135, 4, 8}, {3, 37, 9, 16}, {2, 70, 8, 32}};
  for (const auto& s : sizes) {
    for (const int flags : {0, 3}) {
      shapes.push_back({s[0], s[1], s[2], s[3], (flags & 1) != 0, (flags & 2) != 0, flags == 3});
    }
  }
  // Wide ones: several tiles of vertices, of inputs and of units, and what flags leave out above.
  shapes.push_back({4, 70, 3, 12, false, true, false});
  shapes.push_back({2, 34, 5, 40, true, false, false});
  shapes.push_back({3, 3, 70, 66, true, false, true});
  shapes.push_back({1, 9, 130, 40, false, true, true});
  shapes.push_back({3, 33, 3, 33, false, false, true});
  // Narrow ones: the most inputs and units that a bin holds, a last warp of one vertex, more tiles than blocks in
  // fp64.
  shapes.push_back({3, 43, 16, 7, true, false, true});
  shapes.push_back({4, 1, 12, 8, false, true, false});
  shapes.push_back({2, 41, 6, 6, true, false, true});
  shapes.push_back({1, 4101, 2, 1, false, false, false});
  // Packed sequences: short ones, so that every tile restarts, and some longer than a bin is left.
  for (const bool both : {false, true}) {
    shapes.push_back({7, 3, 2, 2, both, both, both, 0, 0, 3});
    shapes.push_back({9, 75, 6, 6, both, both, both, 0, 0, 12});
    shapes.push_back({40, 21, 3, 7, both, false, both, 0, 0, 5});
    shapes.push_back({5, 13, 16, 5, both, true, both, 0, 0, 2});
    shapes.push_back({6, 103, 5, 16, both, both, both, 0, 0, 4});
    shapes.push_back({4, 41, 20, 32, both, both, both, 0, 0, 3});
    shapes.push_back({3, 19, 30, 33, both, both, both, 0, 0, 3});
    shapes.push_back({12, 9, 4, 13, true, both, both, 0, 0, 30});
  }
  return shapes;
}

/// LSTM shapes: also narrow and wide inputs in two parts, and inputs that a layer makes. The last of those is too wide
/// for kernels that make them in cache.
inline std::vector<RecurrentShape> lstm_shapes() {
  std::vector<RecurrentShape> shapes = recurrent_shapes();
  for (const bool both : {false, true}) {
    shapes.push_back({3, 37, 12, 6, both, both, false, 6});
    shapes.push_back({2, 135, 5, 4, both, both, false, 1});
    shapes.push_back({2, 70, 72, 24, both, both, false, 40});
    shapes.push_back({2, 107, 13, 32, both, both, false, 5});
    shapes.push_back({3, 165, 8, 6, both, false, false, 0, 6});
    shapes.push_back({35, 37, 12, 6, both, false, false, 0, 6});
    shapes.push_back({2, 70, 4, 5, both, both, false, 0, 1});
    shapes.push_back({2, 9, 19, 16, both, false, false, 0, 9});
    shapes.push_back({6, 37, 12, 6, both, both, false, 6, 0, 4});
    shapes.push_back({4, 70, 13, 32, both, both, false, 5, 0, 3});
    shapes.push_back({9, 67, 8, 6, both, false, false, 0, 6, 5});
    shapes.push_back({35, 5, 12, 6, both, false, false, 0, 6, 9});
    shapes.push_back({5, 9, 19, 16, both, false, false, 0, 9, 3});
  }
  return shapes;
}

/// All values of a case, in the layout of the operations. Weights shrink with their number, so that gates stay alive.
struct RecurrentInput {
  std::vector<double> x, w_in, w_x, w_h, bias, start, dy, dlast, dx, dw_in, dw_x, dw_h, dbias;
};

inline std::vector<double> scaled(std::vector<double> values, std::int64_t inner) {
  const double factor = 2.0 / std::sqrt(static_cast<double>(inner));
  for (double& value : values) value = static_cast<double>(static_cast<float>(value * factor));
  return values;
}

inline RecurrentInput recurrent_input(const RecurrentShape& s, std::int64_t gates, std::int64_t states) {
  const std::int64_t cells = s.steps * s.vertices;
  const std::int64_t columns = (s.inputs - s.made) * (gates == 3 && s.own_inputs ? 3 : 1);
  RecurrentInput in;
  in.x = random_values(cells * columns, 61);
  in.w_in = random_values(columns * s.made, 72);
  in.w_x = scaled(random_values(s.inputs * gates * s.hidden, 62), s.inputs + s.hidden);
  in.w_h = scaled(random_values(s.hidden * gates * s.hidden, 63), s.inputs + s.hidden);
  in.bias = random_values(gates * s.hidden, 64);
  in.start = s.start ? random_values(states * s.starts() * s.hidden, 65)
                     : std::vector<double>(states * s.starts() * s.hidden, 0.0);
  in.dy = random_values(cells * s.hidden, 66);
  in.dlast = random_values(s.ends() * s.hidden, 67);
  in.dx = random_values(cells * columns, 68);
  in.dw_x = random_values(static_cast<std::int64_t>(in.w_x.size()), 69);
  in.dw_h = random_values(static_cast<std::int64_t>(in.w_h.size()), 70);
  in.dbias = random_values(gates * s.hidden, 71);
  in.dw_in = random_values(columns * s.made, 73);
  return in;
}

/// The judge's tape with the case's inputs and all states.
struct JudgedRecurrence {
  ScalarTape tape;
  std::vector<Scalar> x, w_in, w_x, w_h, bias, start;
  std::vector<Scalar> y, cells, gates;  // row-major as the operation's outputs
};

/// bias_j + sum_f x_f w_x[f][j] + sum_k h_k w_h[k][j] with matrices of `width` columns.
inline Scalar preactivation(JudgedRecurrence& j, Scalar sum, const Scalar* x, std::int64_t inputs, const Scalar* w_x,
                            const Scalar* h, std::int64_t hidden, const Scalar* w_h, std::int64_t width) {
  for (std::int64_t f = 0; f < inputs; ++f) sum = j.tape.multiply_add(x[f], w_x[f * width], sum);
  for (std::int64_t k = 0; k < hidden; ++k) sum = j.tape.multiply_add(h[k], w_h[k * width], sum);
  return sum;
}

inline void load(JudgedRecurrence& j, const RecurrentInput& in) {
  j.x = j.tape.constants(in.x);
  j.w_in = j.tape.constants(in.w_in);
  j.w_x = j.tape.constants(in.w_x);
  j.w_h = j.tape.constants(in.w_h);
  j.bias = j.tape.constants(in.bias);
  j.start = j.tape.constants(in.start);
}

/// The inputs of a row: x, or relu([x | x w_in]).
inline std::vector<Scalar> judged_inputs(JudgedRecurrence& j, const RecurrentShape& s, std::int64_t row) {
  const std::int64_t read = s.inputs - s.made;
  std::vector<Scalar> in(j.x.begin() + row * read, j.x.begin() + (row + 1) * read);
  if (s.made == 0) return in;
  for (std::int64_t g = 0; g < s.made; ++g) {
    Scalar sum = j.tape.constant(0);
    for (std::int64_t f = 0; f < read; ++f) {
      sum = j.tape.multiply_add(in[f], j.w_in[f * s.made + g], sum);
    }
    in.push_back(sum);
  }
  for (Scalar& value : in) value = j.tape.relu(value);
  return in;
}

/// The state before `row`, of `states` or of the rows of start from `first` on.
inline std::vector<Scalar> judged_state(JudgedRecurrence& j, const RecurrentShape& s, std::int64_t row,
                                        std::int64_t origin, const std::vector<Scalar>& states, std::int64_t first) {
  const std::int64_t h = s.hidden;
  if (origin == -2) return std::vector<Scalar>(h, j.tape.constant(0));
  const Scalar* from = origin >= 0 ? j.start.data() + (first + origin) * h : states.data() + (row - s.vertices) * h;
  return {from, from + h};
}

inline void judge_lstm(JudgedRecurrence& j, const RecurrentShape& s) {
  const std::int64_t h = s.hidden, starts = s.starts();
  const std::vector<std::int32_t> origins = s.origins();
  for (std::int64_t row = 0; row < s.steps * s.vertices; ++row) {
    const std::int64_t origin = origins[row];
    const std::vector<Scalar> state = judged_state(j, s, row, origin, j.y, 0);
    const std::vector<Scalar> memory = judged_state(j, s, row, origin, j.cells, starts);
    const std::size_t first = j.gates.size();
    const std::vector<Scalar> in = judged_inputs(j, s, row);
    for (std::int64_t g = 0; g < 4 * h; ++g) {
      const Scalar z =
          preactivation(j, j.bias[g], in.data(), s.inputs, j.w_x.data() + g, state.data(), h, j.w_h.data() + g, 4 * h);
      j.gates.push_back(g / h == 2 ? j.tape.tanh(z) : j.tape.sigmoid(z));
    }
    for (std::int64_t u = 0; u < h; ++u) {
      const Scalar* gate = j.gates.data() + first + static_cast<std::size_t>(u);
      const Scalar kept = j.tape.multiply(gate[h], memory[u]);
      j.cells.push_back(j.tape.multiply_add(gate[0], gate[2 * h], kept));
      j.y.push_back(j.tape.multiply(gate[3 * h], j.tape.tanh(j.cells.back())));
    }
  }
}

inline void judge_gru(JudgedRecurrence& j, const RecurrentShape& s) {
  const std::int64_t h = s.hidden, own = s.own_inputs ? s.inputs : 0;
  const std::int64_t columns = s.inputs * (s.own_inputs ? 3 : 1);
  const std::vector<std::int32_t> origins = s.origins();
  for (std::int64_t row = 0; row < s.steps * s.vertices; ++row) {
    const std::vector<Scalar> state = judged_state(j, s, row, origins[row], j.y, 0);
    std::vector<Scalar> read = state;
    const std::size_t first = j.gates.size();
    for (std::int64_t g = 0; g < 3; ++g) {
      for (std::int64_t u = 0; g == 2 && u < h; ++u) {
        read[u] = j.tape.multiply(j.gates[first + static_cast<std::size_t>(u)], state[u]);
      }
      for (std::int64_t u = 0; u < h; ++u) {
        const Scalar z =
            preactivation(j, j.bias[g * h + u], j.x.data() + row * columns + g * own, s.inputs,
                          j.w_x.data() + g * s.inputs * h + u, read.data(), h, j.w_h.data() + g * h * h + u, h);
        j.gates.push_back(g == 2 ? j.tape.tanh(z) : j.tape.sigmoid(z));
      }
    }
    for (std::int64_t u = 0; u < h; ++u) {
      const Scalar* gate = j.gates.data() + first + static_cast<std::size_t>(u);
      const Scalar fresh = j.tape.multiply(j.tape.complement(gate[h]), gate[2 * h]);
      j.y.push_back(j.tape.multiply_add(gate[h], state[u], fresh));
    }
  }
}

/// `values` with the largest of them, at least 1, as magnitude.
inline std::vector<Judged> against_largest(const std::vector<double>& values) {
  double largest = 1;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  std::vector<Judged> result;
  for (const double value : values) result.push_back({value, largest});
  return result;
}

inline std::vector<Judged> values_of(const JudgedRecurrence& j, const std::vector<Scalar>& scalars) {
  std::vector<double> values;
  for (const Scalar scalar : scalars) values.push_back(j.tape.value(scalar));
  return against_largest(values);
}

/// Gradients of `scalars`, added to `before` when it is not empty.
inline std::vector<Judged> gradients_of(const JudgedRecurrence& j, const std::vector<Scalar>& scalars,
                                        const std::vector<double>& before) {
  std::vector<double> values = before;
  values.resize(scalars.size(), 0.0);
  for (std::size_t i = 0; i < scalars.size(); ++i) values[i] += j.tape.gradient(scalars[i]);
  return against_largest(values);
}

}  // namespace strobe::conformance

#include "tests/conformance/operations/recurrent_inl.hpp"
