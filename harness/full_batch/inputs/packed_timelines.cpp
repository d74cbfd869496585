#include "harness/full_batch/inputs/packed_timelines.hpp"

#include <utility>

#include "backends/matrix/host_csr.hpp"
#include "backends/matrix/matrix_use.hpp"
#include "harness/full_batch/inputs/device_lists.hpp"
#include "harness/full_batch/inputs/sequence_packing.hpp"
#include "harness/full_batch/inputs/visible_cells.hpp"

namespace strobe {
namespace {

/// Where each sequence of visible cells begins in the bins, and the cells' places.
struct PlacedCells {
  SequencePacking bins;
  std::vector<std::int64_t> place;      // of each visible cell
  std::vector<std::int32_t> bin_begin;  // for each visible cell, the step of the bin at which its sequence begins
};

PlacedCells place_sequences(const VisibleCells& cells, bool padded) {
  const VisibleSequences sequences = sequences_of(cells);
  PlacedCells placed;
  placed.bins = padded ? pad_sequences(sequences.lengths) : pack_sequences(sequences.lengths);
  for (std::size_t c = 0; c < cells.row.size(); ++c) {
    const std::int64_t first = placed.bins.first_row[sequences.of_cell[c]];
    placed.place.push_back(first + sequences.position[c] * placed.bins.bins);
    placed.bin_begin.push_back(static_cast<std::int32_t>(first / placed.bins.bins));
  }
  return placed;
}

/// A matrix of one block, with its transpose prepared for the backward pass.
SparseMatrix matrix_of(Device& device, HostCsr csr, std::int64_t halo_begin, std::int64_t columns,
                       std::int64_t product_columns, bool lasting) {
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
  use.lasting = lasting;
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

/// Appends a row of the M-transform: cells of its sequence, oldest first.
void add_window_row(HostCsr& csr, bool fp64, const VisibleCells& cells, std::size_t own, std::int64_t window,
                    bool fades) {
  std::vector<std::int64_t> columns;
  for (std::int64_t c = own; c >= 0 && static_cast<std::int64_t>(columns.size()) < window; c = cells.before[c]) {
    columns.push_back(cells.row[c]);
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

/// The sizes on which the bins of an attention depend.
struct PastShape {
  std::int64_t vertices = 0, rows_before_block = 0, all_steps = 0, columns = 0;
  bool ids = false;
  bool lasting = true;  // MatrixUse::lasting
};

/// The lists of bins of sequences on the host.
struct PastLists {
  std::vector<std::int64_t> rows, own_rows, numbers;
  std::vector<std::int32_t> sequences, step_of;  // [bin rows, 3], [bin rows]
  double pairs = 0;
};

PastLists past_lists(const VisibleCells& cells, const PlacedCells& placed, const EarlierSteps& steps,
                     const PastShape& shape, const UnitRows* unit) {
  const std::size_t bin_rows = placed.bins.rows();
  PastLists lists;
  lists.rows.assign(bin_rows, -1), lists.own_rows.assign(bin_rows, -1), lists.numbers.assign(bin_rows, 0);
  lists.sequences.assign(3 * bin_rows, 0), lists.step_of.assign(bin_rows, -1);
  for (std::size_t place = 0; place < bin_rows; ++place)
    lists.sequences[3 * place] = static_cast<std::int32_t>(place / static_cast<std::size_t>(placed.bins.bins));
  for (std::size_t c = 0; c < cells.row.size(); ++c) {
    const std::size_t place = placed.place[c];
    const auto step = static_cast<std::int32_t>(steps.first_step + cells.step[c]);
    lists.rows[place] = unit == nullptr ? cells.row[c] : unit->read[cells.row[c]];
    lists.step_of[place] = step;
    lists.numbers[place] = step * shape.vertices + cells.vertex[c];
    lists.sequences[3 * place] = placed.bin_begin[c];
    lists.sequences[3 * place + 1] = step;
    if (!cells.own(c) || cells.step[c] < steps.earlier) continue;
    lists.own_rows[place] = lists.rows[place] - shape.rows_before_block;
    lists.sequences[3 * place + 2] = 1;
    const auto position = placed.place[c] / placed.bins.bins;
    lists.pairs += static_cast<double>(position - placed.bin_begin[c] + 1);
  }
  return lists;
}

/// The bins of an attention: of a rank's cells, or of one of its units, whose rows `unit` names.
PackedRound past_round(Device& device, const VisibleCells& cells, const EarlierSteps& steps, const PastShape& shape,
                       const UnitRows* unit) {
  const PlacedCells placed = place_sequences(cells, unit != nullptr);
  const PastLists lists = past_lists(cells, placed, steps, shape, unit);
  PackedRound round;
  round.steps = placed.bins.steps;
  round.bins = placed.bins.bins;
  round.in = rows_in_bins(device, lists.rows);
  round.out = rows_in_bins(device, lists.own_rows);
  round.timelines.past = {list_of(device, lists.sequences, placed.bins.rows(), 3), lists.pairs};
  if (shape.ids) round.timelines.ids = list_of(device, lists.numbers, placed.bins.rows());
  HostCsr steps_of_rows;
  steps_of_rows.offsets = {0};
  for (const std::int32_t step : lists.step_of) {
    if (step >= 0) add_entry(steps_of_rows, device.precision() == ElementType::f64, step, 1.0);
    steps_of_rows.offsets.push_back(static_cast<std::int64_t>(steps_of_rows.columns.size()));
  }
  round.timelines.steps = std::make_shared<SparseMatrix>(
      matrix_of(device, std::move(steps_of_rows), shape.all_steps, shape.all_steps, shape.columns, shape.lasting));
  return round;
}

/// The product of a window: of a rank's rows in their order, or of one of its units, whose rows `unit` names.
/// `rows_before_block`: rows of the rank's cells of earlier steps, which come first.
PackedRound window_round(Device& device, const VisibleCells& cells, const EarlierSteps& steps, const WindowShape& shape,
                         std::int64_t rows_before_block, const UnitRows* unit) {
  const bool fp64 = device.precision() == ElementType::f64;
  HostCsr csr;
  csr.offsets = {0};
  for (std::size_t c = 0; c < cells.row.size(); ++c) {
    if (cells.own(c) && cells.step[c] >= steps.earlier) add_window_row(csr, fp64, cells, c, shape.window, shape.fades);
  }
  PackedRound round;
  round.timelines.window = std::make_shared<SparseMatrix>(matrix_of(
      device, std::move(csr), cells.own_rows, cells.own_rows + cells.halo_rows, shape.columns, shape.lasting));
  if (unit == nullptr) return round;
  round.in = rows_on_device(device, unit->read);
  std::vector<std::int64_t> own = unit->own();
  for (std::int64_t& row : own) row -= rows_before_block;
  round.out = rows_on_device(device, own);
  return round;
}

/// The only round of a recurrence: whole sequences, which start from nothing and hand nothing on.
PackedRound recurrent_round(Device& device, const VisibleCells& cells) {
  const PlacedCells placed = place_sequences(cells, false);
  const std::size_t size = placed.bins.rows();
  std::vector<std::int64_t> rows(size, -1);
  std::vector<std::int32_t> restarts(size, -2);
  for (std::size_t c = 0; c < cells.row.size(); ++c) {
    rows[placed.place[c]] = cells.row[c];
    if (cells.before[c] >= 0) restarts[placed.place[c]] = -1;
  }
  PackedRound round;
  round.steps = placed.bins.steps;
  round.bins = placed.bins.bins;
  round.in = round.out = rows_in_bins(device, rows);
  round.timelines.sequences = {list_of(device, restarts, placed.bins.rows(), 1),
                               list_of(device, std::vector<std::int32_t>(size, -1), placed.bins.rows(), 1),
                               list_of(device, std::vector<std::int64_t>(), 0)};
  return round;
}

/// One round, made by `make` from the rank's cells, or part by part from the cells of its units.
template <class Make>
PackedStage one_round(Device& device, const Placement& placement, const HaloNeeds& needs, const EarlierSteps& steps,
                      const UnitCells& units, const Make& make) {
  PackedStage stage;
  stage.rows = placement.rows(device.rank()) - rows_before(placement, device.rank(), steps.earlier);
  PackedRound& round = stage.rounds.emplace_back();
  if (!units.given()) {
    round = make(visible_cells(placement, needs, device.rank()), nullptr);
    return stage;
  }
  auto unit = static_cast<Rank>(units.own.first);
  for (const UnitRows& rows : unit_rows(placement, needs, units, device.rank()))
    round.units.push_back(make(visible_cells(*units.placement, *units.reads, unit++), &rows));
  return stage;
}

}  // namespace

PackedStage pack_pasts(Device& device, const Placement& placement, const HaloNeeds& needs, const EarlierSteps& steps,
                       bool ids, std::int64_t columns, const UnitCells& units) {
  const PastShape shape{placement.vertices, rows_before(placement, device.rank(), steps.earlier),
                        steps.first_step + placement.steps(), columns, ids};
  return one_round(device, placement, needs, steps, units, [&](const VisibleCells& cells, const UnitRows* unit) {
    return past_round(device, cells, steps, shape, unit);
  });
}

PackedStage window_products(Device& device, const Placement& placement, const HaloNeeds& needs,
                            const EarlierSteps& steps, const WindowShape& shape, const UnitCells& units) {
  const std::int64_t before = rows_before(placement, device.rank(), steps.earlier);
  return one_round(device, placement, needs, steps, units, [&](const VisibleCells& cells, const UnitRows* unit) {
    return window_round(device, cells, steps, shape, before, unit);
  });
}

PackedStage pack_alone(Device& device, const PassTimelines& lines, const LayerShape& layer) {
  PackedStage stage;
  stage.rows = lines.cells.own_rows;
  PackedRound& round = stage.rounds.emplace_back();
  if (layer.need == TemporalNeed::recurrent) {
    round = recurrent_round(device, lines.cells);
  } else if (layer.need == TemporalNeed::all) {
    const PastShape shape{lines.vertices, 0, lines.steps, layer.spatial_width, lines.ids, false};
    round = past_round(device, lines.cells, {}, shape, nullptr);
  } else {
    round = window_round(device, lines.cells, {}, {layer.window, layer.fades, layer.spatial_width, false}, 0, nullptr);
  }
  return stage;
}

}  // namespace strobe
