// Cases and judges of making snapshots on the device. The judge holds snapshots as ordered maps from (row, column) to a
// value and adds or removes one entry at a time.
#pragma once

#include <map>
#include <utility>

#include "backends/operations/operations_store.hpp"
#include "tests/conformance/operations/operations.hpp"
#include "tests/conformance/operations/sparse.hpp"

namespace strobe::conformance {

/// Two snapshots of `rows` rows: entries of the first stay with probability `overlap`, and as many others are drawn.
struct StoreRecipe {
  const char* name;
  std::int64_t rows, columns;
  double mean_entries;  // per row
  double overlap;
  std::int64_t before_entries, before_columns;  // entries and columns in front of the first snapshot in its stack
};

inline const std::vector<StoreRecipe>& store_recipes() {
  static const std::vector<StoreRecipe> recipes{
      {"one vertex", 1, 1, 1.0, 0.5, 0, 0},           {"empty", 4, 4, 0.0, 1.0, 3, 4},
      {"from empty", 30, 30, 0.0, -1.0, 0, 0},        {"all removed", 40, 40, 3.0, -2.0, 7, 40},
      {"equal", 200, 200, 5.0, 1.0, 11, 200},         {"half", 1000, 1000, 4.0, 0.5, 0, 0},
      {"near", 3000, 3000, 13.0, 0.97, 500, 6000},    {"disjoint", 500, 500, 6.0, 0.0, 5, 500},
      {"one long row", 3, 90000, 30000.0, 0.9, 1, 0}, {"many tasks", 20000, 20000, 9.0, 0.9, 100, 20000}};
  return recipes;
}

using EntryMap = std::map<std::pair<std::int64_t, std::int64_t>, double>;

struct SnapshotPair {
  EntryMap before, after;
};

inline SnapshotPair draw_pair(const StoreRecipe& recipe) {
  const RandomStream random(11, random_purpose::test, static_cast<std::uint32_t>(recipe.rows));
  std::uint64_t drawn = 0;
  const auto entries = static_cast<std::int64_t>(recipe.mean_entries * static_cast<double>(recipe.rows));
  const auto value = [&] { return static_cast<double>(static_cast<float>(random.uniform(drawn++) - 0.5)); };
  const auto draw = [&](EntryMap& to, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k) {
      // Every third row is left without entries that are drawn here.
      const std::int64_t row = random.below(drawn++, static_cast<std::uint64_t>(recipe.rows));
      const std::int64_t column = random.below(drawn++, static_cast<std::uint64_t>(recipe.columns));
      if (row % 3 != 1) to.emplace(std::pair(row, column), value());
    }
  };
  SnapshotPair pair;
  draw(pair.before, entries);
  for (const auto& [place, old] : pair.before) {
    if (random.uniform(drawn++) < recipe.overlap) pair.after.emplace(place, drawn % 4 == 0 ? value() : old);
  }
  const double fresh = recipe.overlap == -1.0 ? 100.0 : static_cast<double>(entries) * (1.0 - recipe.overlap);
  if (recipe.overlap != -2.0) draw(pair.after, static_cast<std::int64_t>(fresh));
  return pair;
}

/// The pair of a recipe; drawn once.
inline const SnapshotPair& make_pair_of(const StoreRecipe& recipe) {
  static std::map<std::string, SnapshotPair> drawn;
  const auto position = drawn.find(recipe.name);
  return position != drawn.end() ? position->second : drawn.emplace(recipe.name, draw_pair(recipe)).first->second;
}

/// Offsets from `first_entry` on and columns from `first_column` on.
inline HostCsr to_csr(const EntryMap& entries, std::int64_t rows, std::int64_t first_entry, std::int64_t first_column) {
  HostCsr csr{std::vector<std::int64_t>(static_cast<std::size_t>(rows) + 1, 0), {}, {}};
  for (const auto& [place, value] : entries) {
    ++csr.offsets[static_cast<std::size_t>(place.first) + 1];
    csr.indices.push_back(static_cast<std::int32_t>(place.second + first_column));
    csr.values.push_back(value);
  }
  csr.offsets[0] = first_entry;
  for (std::size_t r = 1; r < csr.offsets.size(); ++r) csr.offsets[r] += csr.offsets[r - 1];
  return csr;
}

template <class T>
std::vector<double> download_integers(Device& device, const Tensor& tensor) {
  std::vector<T> values(tensor.elements());
  device.move_out(tensor, values.data());
  return {values.begin(), values.end()};
}

/// Values that have to be met exactly.
template <class T>
std::vector<Judged> exactly(const std::vector<T>& values) {
  std::vector<Judged> judged;
  for (const T value : values) judged.push_back({static_cast<double>(value), 0.0});
  return judged;
}

template <class T>
std::vector<T> keys(const EntryMap& entries, bool columns) {
  std::vector<T> list;
  for (const auto& [place, value] : entries) list.push_back(static_cast<T>(columns ? place.second : place.first));
  return list;
}

inline std::vector<Output> csr_outputs(Device& device, const Tensor& offsets, const Tensor& columns,
                                       const HostCsr& csr) {
  return {{"offsets", download_integers<std::int64_t>(device, offsets), exactly(csr.offsets)},
          {"columns", download_integers<std::int32_t>(device, columns), exactly(csr.indices)}};
}

template <class Index>
std::vector<Output> judge_coo_to_csr(Device& device, const StoreRecipe& r) {
  const EntryMap& entries = make_pair_of(r).before;
  CooToCsr op;
  op.coordinate_rows = upload(device, keys<Index>(entries, false));
  op.coordinate_columns = upload(device, keys<Index>(entries, true));
  op.offsets = device.allocate(r.rows + 1, 1, ElementType::i64);
  op.columns = device.allocate(static_cast<std::int64_t>(entries.size()), 1, ElementType::i32);
  op.first_entry = r.before_entries;
  op.first_column = r.before_columns;
  device.run(op);
  return csr_outputs(device, op.offsets, op.columns, to_csr(entries, r.rows, r.before_entries, r.before_columns));
}

inline std::vector<Output> judge_place_csr(Device& device, const StoreRecipe& r) {
  const EntryMap& entries = make_pair_of(r).before;
  const HostCsr own = to_csr(entries, r.rows, 0, 0);
  PlaceCsr op;
  op.row_pointers = upload(device, std::vector<std::int32_t>(own.offsets.begin(), own.offsets.end()));
  op.offsets = device.allocate(r.rows + 1, 1, ElementType::i64);
  op.columns = upload(device, own.indices);
  op.first_entry = r.before_entries;
  op.first_column = r.before_columns;
  device.run(op);
  return csr_outputs(device, op.offsets, op.columns, to_csr(entries, r.rows, r.before_entries, r.before_columns));
}

inline std::vector<Output> judge_locate(Device& device, const StoreRecipe& r) {
  const EntryMap& entries = make_pair_of(r).before;
  const HostCsr csr = to_csr(entries, r.rows, r.before_entries, r.before_columns);
  std::vector<std::int64_t> rows, columns, positions;
  std::int64_t position = 0;
  for (const auto& [place, value] : entries) {
    if (position % 5 != 1) {
      rows.push_back(place.first);
      columns.push_back(place.second);
      positions.push_back(position);
    }
    ++position;
  }
  LocateEntries op{upload(device, csr.offsets),
                   upload(device, csr.indices),
                   upload(device, rows),
                   upload(device, columns),
                   device.allocate(static_cast<std::int64_t>(positions.size()), 1, ElementType::i32),
                   r.before_columns};
  device.run(op);
  return {{"positions", download_integers<std::int32_t>(device, op.positions), exactly(positions)}};
}

/// The inputs of ApplyDifference, found entry by entry.
struct JudgedDifference {
  std::vector<std::int32_t> removed, changed;
  EntryMap added;
  std::vector<double> changed_values;
};

inline JudgedDifference find_difference(const SnapshotPair& pair) {
  JudgedDifference difference;
  std::int32_t position = 0;
  for (const auto& [place, value] : pair.before) {
    if (!pair.after.contains(place)) difference.removed.push_back(position);
    ++position;
  }
  position = 0;
  for (const auto& [place, value] : pair.after) {
    const auto old = pair.before.find(place);
    if (old == pair.before.end()) difference.added.emplace(place, value);
    if (old != pair.before.end() && old->second != value) {
      difference.changed.push_back(position);
      difference.changed_values.push_back(value);
    }
    ++position;
  }
  return difference;
}

inline std::vector<Output> judge_apply(Device& device, const StoreRecipe& r, bool with_values, bool wide_changed) {
  const SnapshotPair& pair = make_pair_of(r);
  const JudgedDifference difference = find_difference(pair);
  const HostCsr before = to_csr(pair.before, r.rows, r.before_entries, r.before_columns);
  const std::int64_t shift = r.rows;
  const HostCsr after = to_csr(pair.after, r.rows, before.offsets.back(), r.before_columns + shift);
  const HostCsr added = to_csr(difference.added, r.rows, 0, r.before_columns + shift);
  const auto column = [&](const std::vector<double>& values) {
    return upload(device, values, static_cast<std::int64_t>(values.size()), 1);
  };
  const std::int64_t entries = after.indices.size();
  ApplyDifference op;
  op.before_offsets = upload(device, before.offsets);
  op.before_columns = upload(device, before.indices);
  op.removed = upload(device, difference.removed);
  op.added_offsets = upload(device, added.offsets);
  op.added_columns = upload(device, added.indices);
  op.offsets = device.allocate(r.rows + 1, 1, ElementType::i64);
  op.columns = device.allocate(entries, 1, ElementType::i32);
  op.column_shift = shift;
  if (with_values) {
    op.before_values = column(before.values);
    op.added_values = column(added.values);
    op.changed = wide_changed
                     ? upload(device, std::vector<std::int64_t>(difference.changed.begin(), difference.changed.end()))
                     : upload(device, difference.changed);
    op.changed_values = column(difference.changed_values);
    op.values = device.allocate(entries, 1);
  }
  device.run(op);
  std::vector<Output> outputs = csr_outputs(device, op.offsets, op.columns, after);
  if (with_values) outputs.push_back({"values", download(device, op.values), exactly(after.values)});
  return outputs;
}

/// Both snapshots of a pair as one stack or, where their columns are more than their rows, the first alone.
inline std::vector<Output> judge_transpose(Device& device, const StoreRecipe& r) {
  const bool square = r.rows == r.columns;
  EntryMap entries = make_pair_of(r).before, transposed;
  if (square) {
    for (const auto& [place, value] : make_pair_of(r).after) {
      entries.emplace(std::pair(place.first + r.rows, place.second + r.rows), value);
    }
  }
  for (const auto& [place, value] : entries) transposed.emplace(std::pair(place.second, place.first), value);
  const std::int64_t rows = square ? 2 * r.rows : r.rows, columns = square ? 2 * r.rows : r.columns;
  const HostCsr csr = to_csr(entries, rows, 0, 0), expected = to_csr(transposed, columns, 0, 0);
  const std::int64_t count = entries.size();
  TransposeCsr op;
  op.offsets = upload(device, csr.offsets);
  op.columns = upload(device, csr.indices);
  op.values = upload(device, csr.values, count, 1);
  op.transposed_offsets = device.allocate(columns + 1, 1, ElementType::i64);
  op.transposed_columns = device.allocate(count, 1, ElementType::i32);
  op.transposed_values = device.allocate(count, 1);
  op.block_rows = square ? r.rows : 0;
  device.run(op);
  std::vector<Output> outputs = csr_outputs(device, op.transposed_offsets, op.transposed_columns, expected);
  outputs.push_back({"values", download(device, op.transposed_values), exactly(expected.values)});
  return outputs;
}

template <class Judge>
std::vector<OperationCase> store_cases(const std::vector<std::pair<std::string, Judge>>& judges) {
  std::vector<OperationCase> cases;
  for (const StoreRecipe& recipe : store_recipes()) {
    for (const auto& [name, judge] : judges) {
      cases.push_back({"", recipe.name + name, [recipe, judge = judge](Device& d) { return judge(d, recipe); }});
    }
  }
  return cases;
}

inline std::vector<OperationFamily> store_families() {
  using Judge = std::function<std::vector<Output>(Device&, const StoreRecipe&)>;
  const auto apply = [](bool values, bool wide) {
    return Judge([=](Device& d, const StoreRecipe& r) { return judge_apply(d, r, values, wide); });
  };
  return {family<CooToCsr>(store_cases<Judge>(
              {{", 4 bytes", judge_coo_to_csr<std::int32_t>}, {", 8 bytes", judge_coo_to_csr<std::int64_t>}})),
          family<PlaceCsr>(store_cases<Judge>({{"", judge_place_csr}})),
          family<LocateEntries>(store_cases<Judge>({{"", judge_locate}})),
          family<TransposeCsr>(store_cases<Judge>({{"", judge_transpose}})),
          family<ApplyDifference>(store_cases<Judge>({{", structure", apply(false, false)},
                                                      {", values", apply(true, false)},
                                                      {", values, 8-byte positions", apply(true, true)}}))};
}

}  // namespace strobe::conformance
