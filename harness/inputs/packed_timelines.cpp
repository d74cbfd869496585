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

  /// What is remembered behind a block: the states of the cells of its last step, -1 where nothing is.
  struct BlockBorder {
    std::int64_t last_step = -1, first_row = 0, rows = 0, rows_per_vertex = 1;
  };

  PackedRound round(Device& device, std::size_t k, const BlockBorder& border) const {
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
    if (border.last_step >= 0) remember(device, k, border, round, ends, last_rows);
    round.timelines.sequences = {list_of(device, restarts, lanes.rows(), 1), list_of(device, ends, lanes.rows(), 1),
                                 list_of(device, last_rows, static_cast<std::int64_t>(last_rows.size()))};
    return round;
  }

 private:
  /// Pieces that reach the border hand their states on behind those that other ranks go on from.
  void remember(Device& device, std::size_t k, const BlockBorder& border, PackedRound& round,
                std::vector<std::int32_t>& ends, std::vector<std::int64_t>& last_rows) const {
    std::vector<std::int64_t> cell;  // of the border's step, by the order of its rows
    for (std::size_t i = 0; i < own_[k]->size(); ++i) {
      const SequencePiece& piece = (*own_[k])[i];
      if (piece.first + piece.steps - 1 != border.last_step) continue;
      const std::size_t lane_row = at(lanes_[k], i, piece.steps - 1);
      cell.push_back(rows_[k][lane_row] - border.first_row);
      ends[lane_row] = static_cast<std::int32_t>(last_rows.size());
      last_rows.push_back(static_cast<std::int64_t>(lane_row));
    }
    const auto left = static_cast<std::int64_t>(last_rows.size());
    std::vector<std::int64_t> handed, rows, places;
    for (std::int64_t block = 0; block < border.rows_per_vertex; ++block) {
      for (std::int64_t i = 0; i < round.handed; ++i) handed.push_back(block * left + i);
      for (std::size_t i = 0; i < cell.size(); ++i) {
        rows.push_back(block * border.rows + cell[i]);
        places.push_back(block * left + round.handed + static_cast<std::int64_t>(i));
      }
    }
    const auto count = static_cast<std::int64_t>(rows.size());
    round.handed_rows = list_of(device, handed, static_cast<std::int64_t>(handed.size()));
    round.remembered = {list_of(device, rows, count), list_of(device, places, count), count};
  }

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

/// Rows of a rank's cells of steps before the block.
std::int64_t rows_before(const Placement& placement, Rank rank, std::int64_t steps) {
  std::int64_t rows = 0;
  for (Step t = 0; t < static_cast<Step>(steps); ++t) rows += placement.step_rows(rank, t);
  return rows;
}

/// The lists of lanes of sequences, as the host has them.
struct PastLists {
  std::vector<std::int64_t> rows, own_rows, numbers;
  std::vector<std::int32_t> sequences, step_of;  // [lane rows, 3], [lane rows]
  double pairs = 0;
};

PastLists past_lists(const VisibleCells& cells, const PlacedCells& placed, const EarlierSteps& steps,
                     std::int64_t vertices, std::int64_t rows_before_block) {
  const auto lane_rows = static_cast<std::size_t>(placed.lanes.rows());
  PastLists lists;
  lists.rows.assign(lane_rows, -1), lists.own_rows.assign(lane_rows, -1), lists.numbers.assign(lane_rows, 0);
  lists.sequences.assign(3 * lane_rows, 0), lists.step_of.assign(lane_rows, -1);
  for (std::size_t place = 0; place < lane_rows; ++place)
    lists.sequences[3 * place] = static_cast<std::int32_t>(place / static_cast<std::size_t>(placed.lanes.lanes));
  for (std::size_t c = 0; c < cells.row.size(); ++c) {
    const auto place = static_cast<std::size_t>(placed.place[c]);
    const auto step = static_cast<std::int32_t>(steps.first_step + cells.step[c]);
    lists.rows[place] = cells.row[c];
    lists.step_of[place] = step;
    lists.numbers[place] = step * vertices + cells.vertex[c];
    lists.sequences[3 * place] = placed.lane_begin[c];
    lists.sequences[3 * place + 1] = step;
    if (!cells.own(c) || cells.step[c] < steps.earlier) continue;
    lists.own_rows[place] = cells.row[c] - rows_before_block;
    lists.sequences[3 * place + 2] = 1;
    lists.pairs += static_cast<double>(placed.place[c] / placed.lanes.lanes - placed.lane_begin[c] + 1);
  }
  return lists;
}

}  // namespace

PackedStage pack_rounds(Device& device, const Placement& placement, const std::vector<RoundPieces>& rounds,
                        std::int64_t rows_per_vertex, bool remembers) {
  OwnPieces own(rounds, device.rank(), placement.vertices);
  OwnPieces::BlockBorder border;
  std::int64_t row = 0;
  for (Step t = 0; t < static_cast<Step>(placement.steps()); ++t) {
    own.begin(t);
    if (remembers && t + 1 == static_cast<Step>(placement.steps()))
      border = {t, row, placement.step_rows(device.rank(), t), rows_per_vertex};
    for (const Run& run : placement.map(t).runs_of(device.rank())) {
      for (std::int64_t i = 0; i < run.count; ++i) own.place(static_cast<VertexId>(run.first + i), t, row++);
    }
  }
  PackedStage stage;
  stage.rows = row;
  stage.remembered_rows = border.rows * border.rows_per_vertex;
  for (std::size_t k = 0; k < rounds.size(); ++k) stage.rounds.push_back(own.round(device, k, border));
  return stage;
}

PackedStage pack_pasts(Device& device, const Placement& placement, const HaloNeeds& needs, const EarlierSteps& steps,
                       bool ids, std::int64_t columns) {
  const VisibleCells cells = visible_cells(placement, needs, device.rank());
  const PlacedCells placed = place_sequences(cells);
  const std::int64_t before = rows_before(placement, device.rank(), steps.earlier);
  const PastLists lists = past_lists(cells, placed, steps, placement.vertices, before);
  PackedStage stage;
  stage.rows = cells.own_rows - before;
  PackedRound& round = stage.rounds.emplace_back();
  round.steps = placed.lanes.steps;
  round.lanes = placed.lanes.lanes;
  round.in = rows_in_lanes(device, lists.rows);
  round.out = rows_in_lanes(device, lists.own_rows);
  round.timelines.past = {list_of(device, lists.sequences, placed.lanes.rows(), 3), lists.pairs};
  if (ids) round.timelines.ids = list_of(device, lists.numbers, placed.lanes.rows());
  HostCsr steps_of_rows;
  steps_of_rows.offsets = {0};
  for (const std::int32_t step : lists.step_of) {
    if (step >= 0) add_entry(steps_of_rows, device.precision() == ElementType::f64, step, 1.0);
    steps_of_rows.offsets.push_back(static_cast<std::int64_t>(steps_of_rows.columns.size()));
  }
  const std::int64_t all_steps = steps.first_step + placement.steps();
  round.timelines.steps =
      std::make_shared<SparseMatrix>(matrix_of(device, std::move(steps_of_rows), all_steps, all_steps, columns));
  return stage;
}

PackedStage window_products(Device& device, const Placement& placement, const HaloNeeds& needs,
                            const EarlierSteps& steps, std::int64_t window, bool fades, std::int64_t columns) {
  const VisibleCells cells = visible_cells(placement, needs, device.rank());
  const bool fp64 = device.precision() == ElementType::f64;
  HostCsr csr;
  csr.offsets = {0};
  for (std::size_t c = 0; c < cells.row.size(); ++c) {
    if (cells.own(c) && cells.step[c] >= steps.earlier) add_window_row(csr, fp64, cells, c, window, fades);
  }
  PackedStage stage;
  stage.rows = static_cast<std::int64_t>(csr.offsets.size()) - 1;
  stage.rounds.emplace_back().timelines.window = std::make_shared<SparseMatrix>(
      matrix_of(device, std::move(csr), cells.own_rows, cells.own_rows + cells.halo_rows, columns));
  return stage;
}

}  // namespace strobe
