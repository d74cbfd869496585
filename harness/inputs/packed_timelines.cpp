#include "harness/inputs/packed_timelines.hpp"

#include <utility>

#include "backends/matrix/host_csr.hpp"
#include "backends/matrix/matrix_use.hpp"
#include "harness/inputs/lane_packing.hpp"
#include "harness/inputs/visible_cells.hpp"

namespace strobe {
namespace {

Tensor list_of(Device& device, const std::vector<std::int64_t>& values, std::int64_t count) {
  return device.move_in(values.data(), count, 1, ElementType::i64);
}

Tensor list_of(Device& device, const std::vector<std::int32_t>& values, std::int64_t rows, std::int64_t columns) {
  return device.move_in(values.data(), rows, columns, ElementType::i32);
}

/// The cells of lanes by their lane rows, -1 where a lane is filled up, as lists of rows and of lane rows.
PackedRows rows_in_lanes(Device& device, const std::vector<std::int64_t>& row_of_lane_row) {
  std::vector<std::int64_t> rows, places;
  for (std::size_t place = 0; place < row_of_lane_row.size(); ++place) {
    if (row_of_lane_row[place] < 0) continue;
    rows.push_back(row_of_lane_row[place]);
    places.push_back(static_cast<std::int64_t>(place));
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  return {list_of(device, rows, count), list_of(device, places, count), count};
}

/// The pieces of one rank in all rounds, and which of them each vertex's cells belong to.
class OwnPieces {
 public:
  OwnPieces(const std::vector<RoundPieces>& rounds, Rank rank, std::int64_t vertices)
      : next_(rounds.size(), 0), active_(static_cast<std::size_t>(vertices)) {
    for (const RoundPieces& round : rounds) {
      own_.push_back(&round[static_cast<std::size_t>(rank)]);
      std::vector<std::int32_t> lengths;
      for (const SequencePiece& piece : *own_.back()) lengths.push_back(piece.steps);
      lanes_.push_back(pack_lanes(lengths));
      rows_.emplace_back(static_cast<std::size_t>(lanes_.back().rows()), -1);
    }
  }

  /// The pieces that begin at step t become those of their vertices.
  void begin(Step t) {
    for (std::size_t k = 0; k < own_.size(); ++k) {
      for (; next_[k] < own_[k]->size() && (*own_[k])[next_[k]].first == t; ++next_[k])
        active_[static_cast<std::size_t>((*own_[k])[next_[k]].vertex)] = {k, next_[k]};
    }
  }
  /// Cell (v, t) lies in row `row`.
  void place(VertexId v, Step t, std::int64_t row) {
    const auto [k, piece] = active_[static_cast<std::size_t>(v)];
    const std::int64_t step = t - (*own_[k])[piece].first;
    rows_[k][static_cast<std::size_t>(lanes_[k].first_row[piece] + step * lanes_[k].lanes)] = row;
  }

  PackedRound round(Device& device, std::size_t k) const {
    const LanePacking& lanes = lanes_[k];
    const auto size = static_cast<std::size_t>(lanes.rows());
    std::vector<std::int32_t> restarts(size, -2), ends(size, -1);
    std::vector<std::int64_t> last_rows;
    PackedRound round;
    round.steps = lanes.steps;
    round.lanes = lanes.lanes;
    for (std::size_t i = 0; i < own_[k]->size(); ++i) {
      const SequencePiece& piece = (*own_[k])[i];
      for (std::int32_t s = 0; s < piece.steps; ++s) restarts[at(lanes, i, s)] = -1;
      restarts[at(lanes, i, 0)] = piece.given ? static_cast<std::int32_t>(round.given++) : -2;
      if (!piece.hands_on) continue;
      ends[at(lanes, i, piece.steps - 1)] = static_cast<std::int32_t>(round.handed++);
      last_rows.push_back(static_cast<std::int64_t>(at(lanes, i, piece.steps - 1)));
    }
    round.in = round.out = rows_in_lanes(device, rows_[k]);
    round.timelines.sequences = {list_of(device, restarts, lanes.rows(), 1), list_of(device, ends, lanes.rows(), 1),
                                 list_of(device, last_rows, round.handed)};
    return round;
  }

 private:
  static std::size_t at(const LanePacking& lanes, std::size_t piece, std::int64_t step) {
    return static_cast<std::size_t>(lanes.first_row[piece] + step * lanes.lanes);
  }

  struct Active {
    std::size_t round = 0, piece = 0;
  };
  std::vector<const std::vector<SequencePiece>*> own_;  // [rounds]
  std::vector<LanePacking> lanes_;
  std::vector<std::vector<std::int64_t>> rows_;  // [rounds][lane rows]
  std::vector<std::size_t> next_;
  std::vector<Active> active_;  // [N]
};

/// Where each sequence of visible cells begins in the lanes, and the cells' places.
struct PlacedCells {
  LanePacking lanes;
  std::vector<std::int64_t> place;       // of each visible cell
  std::vector<std::int32_t> lane_begin;  // step of its lane at which its sequence begins
};

PlacedCells place_sequences(const VisibleCells& cells) {
  std::vector<std::size_t> sequence(cells.row.size());
  std::vector<std::int32_t> lengths, position(cells.row.size(), 0);
  for (std::size_t c = 0; c < cells.row.size(); ++c) {
    if (cells.before[c] < 0) {
      sequence[c] = lengths.size();
      lengths.push_back(1);
      continue;
    }
    const auto before = static_cast<std::size_t>(cells.before[c]);
    sequence[c] = sequence[before];
    position[c] = position[before] + 1;
    ++lengths[sequence[c]];
  }
  PlacedCells placed;
  placed.lanes = pack_lanes(lengths);
  for (std::size_t c = 0; c < cells.row.size(); ++c) {
    const std::int64_t first = placed.lanes.first_row[sequence[c]];
    placed.place.push_back(first + position[c] * placed.lanes.lanes);
    placed.lane_begin.push_back(static_cast<std::int32_t>(first / placed.lanes.lanes));
  }
  return placed;
}

/// A matrix of one block, its transpose prepared for the way back.
SparseMatrix matrix_of(Device& device, HostCsr csr, std::int64_t halo_begin, std::int64_t columns,
                       std::int64_t product_columns) {
  SparseMatrix a;
  a.rows = static_cast<std::int64_t>(csr.offsets.size()) - 1;
  a.columns = columns;
  a.halo_begin = halo_begin;
  a.steps = 1;
  a.nonzeros = csr.offsets.back();
  const std::vector<std::int64_t> rows = {0, a.rows}, halo = {0, columns - halo_begin};
  csr.step_rows = rows;
  csr.has_entries = true;
  MatrixUse use;
  use.lasting = true;
  use.products.push_back({product_columns, true, {}});
  a.row_offsets = device.move_in(csr.offsets.data(), a.rows + 1, 1, ElementType::i64);
  a.column_indices = device.move_in(csr.columns.data(), a.nonzeros, 1, ElementType::i32);
  a.values = device.move_in(csr.values(device.precision()), a.nonzeros, 1, device.precision());
  device.prepare(a, csr, use);
  a.step_rows = device.move_in(rows.data(), 2, 1, ElementType::i64);
  a.step_halo = device.move_in(halo.data(), 2, 1, ElementType::i64);
  return a;
}

void add_entry(HostCsr& csr, bool fp64, std::int64_t column, double value) {
  csr.columns.push_back(static_cast<std::int32_t>(column));
  fp64 ? csr.values64.push_back(value) : csr.values32.push_back(static_cast<float>(value));
}

/// A row of the M-transform: cells of its sequence, oldest first.
void add_window_row(HostCsr& csr, bool fp64, const VisibleCells& cells, std::size_t own, std::int64_t window,
                    bool fades) {
  std::vector<std::int64_t> columns;
  for (std::int64_t c = static_cast<std::int64_t>(own); c >= 0 && static_cast<std::int64_t>(columns.size()) < window;
       c = cells.before[static_cast<std::size_t>(c)]) {
    columns.push_back(cells.row[static_cast<std::size_t>(c)]);
  }
  for (std::size_t age = columns.size(); age-- > 0;) {
    const double weight = fades ? 1.0 / static_cast<double>(age + 1) : 1.0 / static_cast<double>(columns.size());
    add_entry(csr, fp64, columns[age], weight);
  }
  csr.offsets.push_back(static_cast<std::int64_t>(csr.columns.size()));
}

}  // namespace

PackedStage pack_rounds(Device& device, const Placement& placement, const std::vector<RoundPieces>& rounds) {
  OwnPieces own(rounds, device.rank(), placement.vertices);
  std::int64_t row = 0;
  for (Step t = 0; t < static_cast<Step>(placement.steps()); ++t) {
    own.begin(t);
    for (const Run& run : placement.map(t).runs_of(device.rank())) {
      for (std::int64_t i = 0; i < run.count; ++i) own.place(static_cast<VertexId>(run.first + i), t, row++);
    }
  }
  PackedStage stage;
  stage.rows = row;
  for (std::size_t k = 0; k < rounds.size(); ++k) stage.rounds.push_back(own.round(device, k));
  return stage;
}

PackedStage pack_pasts(Device& device, const Placement& placement, const HaloNeeds& needs, bool ids,
                       std::int64_t columns) {
  const VisibleCells cells = visible_cells(placement, needs, device.rank());
  const PlacedCells placed = place_sequences(cells);
  const auto lane_rows = static_cast<std::size_t>(placed.lanes.rows());
  std::vector<std::int64_t> rows(lane_rows, -1), own_rows(lane_rows, -1), numbers(lane_rows, 0);
  std::vector<std::int32_t> sequences(3 * lane_rows, 0), step_of(lane_rows, -1);
  for (std::size_t place = 0; place < lane_rows; ++place)
    sequences[3 * place] = static_cast<std::int32_t>(place / static_cast<std::size_t>(placed.lanes.lanes));
  PackedStage stage;
  PackedRound& round = stage.rounds.emplace_back();
  for (std::size_t c = 0; c < cells.row.size(); ++c) {
    const auto place = static_cast<std::size_t>(placed.place[c]);
    rows[place] = cells.row[c];
    step_of[place] = cells.step[c];
    numbers[place] = static_cast<std::int64_t>(cells.step[c]) * placement.vertices + cells.vertex[c];
    sequences[3 * place] = placed.lane_begin[c];
    sequences[3 * place + 1] = cells.step[c];
    if (!cells.own(c)) continue;
    own_rows[place] = cells.row[c];
    sequences[3 * place + 2] = 1;
    round.timelines.past.pairs += static_cast<double>(placed.place[c] / placed.lanes.lanes - placed.lane_begin[c] + 1);
  }
  stage.rows = cells.own_rows;
  round.steps = placed.lanes.steps;
  round.lanes = placed.lanes.lanes;
  round.in = rows_in_lanes(device, rows);
  round.out = rows_in_lanes(device, own_rows);
  round.timelines.past.sequences = list_of(device, sequences, placed.lanes.rows(), 3);
  if (ids) round.timelines.ids = list_of(device, numbers, placed.lanes.rows());
  HostCsr steps;
  steps.offsets = {0};
  for (const std::int32_t step : step_of) {
    if (step >= 0) add_entry(steps, device.precision() == ElementType::f64, step, 1.0);
    steps.offsets.push_back(static_cast<std::int64_t>(steps.columns.size()));
  }
  round.timelines.steps = std::make_shared<SparseMatrix>(
      matrix_of(device, std::move(steps), placement.steps(), placement.steps(), columns));
  return stage;
}

PackedStage window_products(Device& device, const Placement& placement, const HaloNeeds& needs, std::int64_t window,
                            bool fades, std::int64_t columns) {
  const VisibleCells cells = visible_cells(placement, needs, device.rank());
  const bool fp64 = device.precision() == ElementType::f64;
  HostCsr csr;
  csr.offsets = {0};
  for (std::size_t c = 0; c < cells.row.size(); ++c) {
    if (cells.own(c)) add_window_row(csr, fp64, cells, c, window, fades);
  }
  PackedStage stage;
  stage.rows = cells.own_rows;
  stage.rounds.emplace_back().timelines.window = std::make_shared<SparseMatrix>(
      matrix_of(device, std::move(csr), cells.own_rows, cells.own_rows + cells.halo_rows, columns));
  return stage;
}

}  // namespace strobe
