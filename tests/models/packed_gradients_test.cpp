// Recurrences and attention over packed sequences, compared with finite differences, and with the same sequences one by
// one through the operations of timelines. Also normalisation over steps of different numbers of cells.
#include <numeric>

#include "models/ops/ops.hpp"
#include "models/ops/ops_attention.hpp"
#include "models/ops/ops_recurrent.hpp"
#include "models/ops/ops_statistics.hpp"
#include "tests/conformance/operations/packed_bins.hpp"
#include "tests/models/differences.hpp"

namespace strobe {
namespace {

using conformance::PackedBins;
using conformance::Piece;
using conformance::random_packing;

constexpr std::int64_t units = 2;

template <class T>
Tensor listed(Device& device, const std::vector<T>& values, std::int64_t columns = 1) {
  const ElementType type = sizeof(T) == 8 ? ElementType::i64 : ElementType::i32;
  return device.move_in(values.data(), static_cast<std::int64_t>(values.size()) / columns, columns, type);
}

PackedSequences sequences_of(Device& device, const PackedBins& packed) {
  return {listed(device, packed.restarts()), listed(device, packed.end_rows()), listed(device, packed.last_rows())};
}

/// One form of a recurrence: the sizes of its values without x (its rows follow the packing) and start, and its run.
struct Form {
  std::int64_t inputs;
  int states;  // blocks of start
  std::vector<std::pair<std::int64_t, std::int64_t>> weights;
  std::function<Recurrence(Tape&, const Var& x, const std::vector<Var>& weights, std::int64_t steps, const Var& start,
                           bool want_state, const PackedSequences&)>
      run;
};

Form lstm_form(std::int64_t inputs) {
  return {inputs,
          2,
          {{inputs, 4 * units}, {units, 4 * units}, {1, 4 * units}},
          [](Tape& tape, const Var& x, const std::vector<Var>& w, std::int64_t steps, const Var& start, bool want,
             const PackedSequences& packed) {
            return lstm_sequence(tape, {x}, w[0], w[1], w[2], steps, start, want, packed);
          }};
}

Form skip_lstm_form(std::int64_t made) {
  return {3,
          2,
          {{3, made}, {3 + made, 4 * units}, {units, 4 * units}, {1, 4 * units}},
          [](Tape& tape, const Var& x, const std::vector<Var>& w, std::int64_t steps, const Var& start, bool want,
             const PackedSequences& packed) {
            return skip_lstm_sequence(tape, x, w[0], w[1], w[2], w[3], steps, start, want, packed);
          }};
}

Form gru_form(std::int64_t inputs, bool own) {
  return {own ? 3 * inputs : inputs,
          1,
          {{3 * inputs, units}, {3 * units, units}, {3, units}},
          [](Tape& tape, const Var& x, const std::vector<Var>& w, std::int64_t steps, const Var& start, bool want,
             const PackedSequences& packed) {
            return gru_sequence(tape, x, w[0], w[1], w[2], steps, start, want, packed);
          }};
}

std::vector<Form> forms() {
  return {lstm_form(3),       lstm_form(60),       skip_lstm_form(3), skip_lstm_form(60),
          gru_form(3, false), gru_form(50, false), gru_form(3, true), gru_form(50, true)};  // wide ones keep gates
}

/// Values of a form: x, weights and, last, the rows of start.
std::vector<Tensor> values_of(Device& device, const Form& form, const PackedBins& packed) {
  std::vector<Tensor> values{random_tensor(device, packed.rows(), form.inputs, 1)};
  std::uint32_t key = 2;
  for (const auto& [rows, columns] : form.weights) values.push_back(random_tensor(device, rows, columns, key++));
  values.push_back(random_tensor(device, form.states * packed.starts, units, 20));
  return values;
}

Var run_packed(Tape& tape, const Form& form, const PackedBins& packed, const std::vector<Var>& v) {
  const std::vector<Var> weights(v.begin() + 1, v.end() - 1);
  const Recurrence all =
      form.run(tape, v[0], weights, packed.steps, v.back(), true, sequences_of(tape.device(), packed));
  return concat_rows(tape, {all.y, all.state});
}

/// Rows of `x` by their numbers.
Var rows_of(Tape& tape, const Var& x, const std::vector<std::int64_t>& rows) {
  return gather_rows(tape, x, {listed(tape.device(), rows)}, static_cast<std::int64_t>(rows.size()));
}

/// The state that `piece` is given, of all starts; null where it begins from zero.
Var start_of(Tape& tape, const Piece& piece, const PackedBins& packed, const Var& starts, int states) {
  if (piece.start < 0) return nullptr;
  return rows_of(tape, starts,
                 states == 1 ? std::vector{piece.start} : std::vector{piece.start, packed.starts + piece.start});
}

std::vector<std::int64_t> piece_rows(const PackedBins& packed, const Piece& piece) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < piece.length; ++i) rows.push_back(packed.row(piece, i));
  return rows;
}

TEST(PackedGradients, Recurrences) {
  const auto device = cpu();
  for (const Form& form : forms()) {
    for (const std::uint32_t key : {1u, 2u}) {
      const PackedBins packed = random_packing(5, 3, 3, key);
      ASSERT_GT(packed.starts, 0);
      ASSERT_GT(packed.ends, 0);
      check_gradients(*device, values_of(*device, form, packed),
                      [&](Tape& tape, const std::vector<Var>& v) { return run_packed(tape, form, packed, v); });
    }
  }
}

/// The rows of y of every piece, followed by the state that it hands on, of all pieces run together or one by one.
Var piece_results(Tape& tape, const Form& form, const PackedBins& packed, const std::vector<Var>& v, bool together) {
  const Var all = together ? run_packed(tape, form, packed, v) : nullptr;
  std::vector<Var> results;
  for (const Piece& piece : packed.pieces) {
    std::vector<std::int64_t> rows = piece_rows(packed, piece);
    if (together) {
      for (int s = 0; s < form.states && piece.end >= 0; ++s)
        rows.push_back(packed.rows() + s * packed.ends + piece.end);
      results.push_back(rows_of(tape, all, rows));
      continue;
    }
    const Recurrence own = form.run(tape, rows_of(tape, v[0], rows), {v.begin() + 1, v.end() - 1}, piece.length,
                                    start_of(tape, piece, packed, v.back(), form.states), piece.end >= 0, {});
    results.push_back(piece.end >= 0 ? concat_rows(tape, {own.y, own.state}) : own.y);
  }
  return concat_rows(tape, results);
}

/// These results, followed by the gradients of all values.
std::vector<double> results_and_gradients(Device& device, const Form& form, const PackedBins& packed, bool together) {
  Tape tape(device);
  std::vector<Var> v;
  std::vector<Tensor> tensors;
  for (const Tensor& value : values_of(device, form, packed)) {
    tensors.push_back(zeros(device, value));
    v.push_back(Tape::leaf(value, tensors.back()));
  }
  const Var result = piece_results(tape, form, packed, v, together);
  result->gradient = random_tensor(device, result->value.rows(), units, 30);
  tape.backward();
  tensors.push_back(result->value);
  std::vector<double> numbers;
  for (const Tensor& t : tensors) numbers.insert(numbers.end(), t.data<double>(), t.data<double>() + t.elements());
  return numbers;
}

TEST(PackedGradients, RecurrencesOfOneSequenceAtATime) {
  const auto device = cpu();
  for (const Form& form : forms()) {
    for (std::uint32_t key = 3; key < 8; ++key) {
      const PackedBins packed = random_packing(7, 9 + 8 * (key % 3), key % 2 == 0 ? 4 : 9, key);
      const std::vector<double> together = results_and_gradients(*device, form, packed, true),
                                single = results_and_gradients(*device, form, packed, false);
      ASSERT_EQ(together.size(), single.size());
      for (std::size_t i = 0; i < single.size(); ++i) ASSERT_NEAR(together[i], single[i], 1e-11) << i;
    }
  }
}

AttentionDropout dropout_of(Device& device, const std::vector<std::int64_t>& ids, double rate) {
  if (rate == 0) return {};
  return {rate, 9, 64, listed(device, ids), {}, 100};
}

/// Vertices of a packing's rows: every piece is of one.
std::vector<std::int64_t> row_ids(const PackedBins& packed) {
  std::vector<std::int64_t> ids(packed.rows(), 0);
  std::int64_t vertex = 0;
  for (const Piece& piece : packed.pieces) {
    for (std::int64_t i = 0; i < piece.length; ++i)
      ids[packed.row(piece, i)] = (piece.graph_step + i) * 100 + vertex % 100;
    ++vertex;
  }
  return ids;
}

Var attend(Tape& tape, const PackedBins& packed, const Var& projected, double rate) {
  Device& device = tape.device();
  return packed_temporal_attention(tape, projected, packed.steps, 2, 0.7,
                                   {listed(device, packed.sequences(), 3), packed.pairs()},
                                   dropout_of(device, row_ids(packed), rate));
}

TEST(PackedGradients, Past) {
  const auto device = cpu();
  for (const double rate : {0.0, 0.4}) {
    for (const std::uint32_t key : {11u, 12u}) {
      const PackedBins packed = random_packing(6, 3, 4, key);
      check_gradients(*device, {random_tensor(*device, packed.rows(), 12, 1)},
                      [&](Tape& tape, const std::vector<Var>& v) { return attend(tape, packed, v[0], rate); });
    }
  }
}

/// Each sequence by itself, as a timeline whose first steps nobody asks for; without dropout, whose factors go by the
/// steps of the graph.
TEST(PackedGradients, PastOfOneSequenceAtATime) {
  const auto device = cpu();
  for (std::uint32_t key = 13; key < 18; ++key) {
    const PackedBins packed = random_packing(9, 11 + 10 * (key % 2), key % 2 == 0 ? 4 : 12, key);
    const Tensor values = random_tensor(*device, packed.rows(), 12, key);
    const Tensor weights = random_tensor(*device, packed.rows(), 4, 40);
    Tape tape(*device);
    const Tensor gradient = zeros(*device, values), expected = zeros(*device, values);
    const Var together = attend(tape, packed, Tape::leaf(values, gradient), 0);
    together->gradient = weights;
    tape.backward();
    std::vector<double> o(packed.rows() * 4, 0.0);
    for (const Piece& piece : packed.pieces) {
      if (piece.wanted == piece.length) continue;
      Tape own(*device);
      const std::vector<std::int64_t> rows = piece_rows(packed, piece);
      const Tensor nothing = zeros(*device, random_tensor(*device, piece.length, 12, 1));
      const Var x = rows_of(own, Tape::leaf(values, expected), rows);
      const Var y =
          temporal_attention(own, x, Tape::constant(nothing), piece.wanted, piece.length - piece.wanted, 2, 0.7);
      const std::vector<std::int64_t> asking(rows.begin() + piece.wanted, rows.end());
      y->gradient = rows_of(own, Tape::constant(weights), asking)->value;
      own.backward();
      for (std::size_t i = 0; i < asking.size(); ++i)
        std::copy_n(y->value.data<double>() + 4 * i, 4, o.begin() + 4 * asking[i]);
    }
    for (std::size_t i = 0; i < o.size(); ++i) ASSERT_NEAR(together->value.data<double>()[i], o[i], 1e-13) << i;
    for (std::int64_t i = 0; i < values.elements(); ++i)
      ASSERT_NEAR(gradient.data<double>()[i], expected.data<double>()[i], 1e-12) << i;
  }
}

/// Dropout's factors are those of the cells, wherever these lie: a packing of whole timelines of one length gives the
/// same results as the timelines.
TEST(PackedGradients, DropoutFollowsTheStepsOfTheGraph) {
  const auto device = cpu();
  const std::int64_t n = 5, steps = 6;
  std::vector<std::int64_t> ids, vertices;
  PackedBins packed{steps, n};
  for (std::int64_t v = 0; v < n; ++v) packed.pieces.push_back({v, 0, steps}), vertices.push_back(3 + 7 * v);
  for (std::int64_t r = 0; r < steps * n; ++r) ids.push_back(r / n * 100 + vertices[r % n]);
  const Tensor x = random_tensor(*device, steps * n, 12, 1);
  Tape tape(*device);
  const Tensor nothing = zeros(*device, random_tensor(*device, steps, 12, 1));
  const Var whole = temporal_attention(tape, Tape::constant(x), Tape::constant(nothing), 0, steps, 2, 0.7,
                                       dropout_of(*device, vertices, 0.4));
  const Var bins = packed_temporal_attention(tape, Tape::constant(x), steps, 2, 0.7,
                                             {listed(*device, packed.sequences(), 3), packed.pairs()},
                                             dropout_of(*device, ids, 0.4));
  for (std::int64_t i = 0; i < whole->value.elements(); ++i)
    EXPECT_NEAR(bins->value.data<double>()[i], whole->value.data<double>()[i], 1e-15);
  // The same timelines end to end in one bin, at other steps of the bin.
  PackedBins one{steps * n, 1};
  std::vector<std::int64_t> order, own_ids;
  for (std::int64_t v = 0; v < n; ++v) {
    one.pieces.push_back({0, v * steps, steps});
    for (std::int64_t t = 0; t < steps; ++t) order.push_back(t * n + v), own_ids.push_back(ids[t * n + v]);
  }
  const Var line =
      packed_temporal_attention(tape, rows_of(tape, Tape::constant(x), order), steps * n, 2, 0.7,
                                {listed(*device, one.sequences(), 3), one.pairs()}, dropout_of(*device, own_ids, 0.4));
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t f = 0; f < 4; ++f) {
      EXPECT_NEAR(line->value.data<double>()[4 * i + f],
                  whole->value.data<double>()[4 * static_cast<std::size_t>(order[i]) + f], 1e-15);
    }
  }
}

/// Sums over the only rank there is.
class SingleRank final : public RankSums {
 public:
  int ranks() const override { return 1; }
  int rank() const override { return 0; }
  Var sum(Tape&, const Var& part) const override { return part; }
};

/// Steps of 4, 0, 1 and 6 existing cells, of 9 vertices: every step is normalised over its own cells.
TEST(PackedGradients, BatchNormOfCellsThatExist) {
  const auto device = cpu();
  const std::vector<std::int64_t> counts = {4, 0, 1, 6}, rows = {0, 4, 4, 5, 11};
  const SingleRank one;
  Pass pass;
  pass.ranks = &one;
  CellRows cells;
  cells.vertices = 9;
  cells.steps = 4;
  cells.step_rows = rows;
  cells.step_rows_on_device = listed(*device, rows);
  cells.existing = listed(*device, counts);
  const Tensor x = random_tensor(*device, 11, 3, 1), gain = random_tensor(*device, 1, 3, 2),
               shift = random_tensor(*device, 1, 3, 3);
  check_gradients(*device, {x, gain, shift}, [&](Tape& tape, const std::vector<Var>& v) {
    return batch_norm(tape, v[0], v[1], v[2], cells, pass);
  });
  Tape tape(*device);
  const Var y = batch_norm(tape, Tape::constant(x), Tape::constant(gain), Tape::constant(shift), cells, pass);
  for (std::size_t s = 0; s < counts.size(); ++s) {
    for (std::int64_t f = 0; f < 3; ++f) {
      double mean = 0, square = 0;
      const double n = counts[s];
      for (std::int64_t r = rows[s]; r < rows[s + 1]; ++r) mean += x.data<double>()[3 * r + f] / n;
      for (std::int64_t r = rows[s]; r < rows[s + 1]; ++r)
        square += std::pow(x.data<double>()[3 * r + f] - mean, 2) / n;
      for (std::int64_t r = rows[s]; r < rows[s + 1]; ++r) {
        const double off = (x.data<double>()[3 * r + f] - mean) / std::sqrt(square + 1e-5);
        EXPECT_NEAR(y->value.data<double>()[3 * r + f], gain.data<double>()[f] * off + shift.data<double>()[f], 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace strobe
