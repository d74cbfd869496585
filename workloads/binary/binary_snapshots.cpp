// Strobe's binary snapshots, version 1: a graph of steps in the form of binary_file.cpp. Distinct snapshots are
// numbered by their first step. `step_snapshot` [T] holds the snapshot of each step. `row_offsets` [S, N + 1] (each
// from 0 on), `columns` and `values` hold the snapshots in sequence. Steps that share a snapshot still share it after
// reading. Features, labels, targets, sides, beginnings and ends of steps are as in the graph. Older files hold no
// ends, and their sides are counted from their steps. When fp32 rounds values or features, additional sections hold
// them as doubles; older files have no such sections. The reader always checks that every snapshot lies inside its
// section, that rows are in order, that columns are ascending and in range, and that values and features are finite. It
// also checks the checksums of a file that is not sealed.
// Cost: one pass on all threads; one more pass when it is not sealed.
#include "workloads/binary/binary_snapshots.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>

#include "core/errors.hpp"
#include "workloads/graph/exact_values.hpp"
#include "workloads/graph/provenance.hpp"
#include "workloads/graph/sides.hpp"
#include "workloads/reading/ids/vertex_names.hpp"
#include "workloads/storage/binary_file.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe {
namespace {

constexpr BinaryKind snapshots_kind{{'S', 'T', 'R', 'O', 'B', 'E', 'S', '\n'}, 1, "binary snapshots file"};
constexpr std::int64_t most_values = std::int64_t{1} << 44;  // of any section

/// The snapshots of a graph, each once, and which one each step has.
struct Distinct {
  std::vector<const Snapshot*> snapshots;
  std::vector<std::int32_t> of_step;
};

Distinct distinct_snapshots(const SnapshotGraph& graph) {
  Distinct distinct;
  std::map<const Snapshot*, std::int32_t> number;
  for (const auto& snapshot : graph.snapshots) {
    const auto [at, added] = number.try_emplace(snapshot.get(), static_cast<std::int32_t>(distinct.snapshots.size()));
    if (added) distinct.snapshots.push_back(snapshot.get());
    distinct.of_step.push_back(at->second);
  }
  return distinct;
}

/// The exact values of all snapshots in sequence; empty when fp32 holds every one.
std::vector<double> exact_values_of(const Distinct& distinct) {
  std::vector<double> values;
  if (std::none_of(distinct.snapshots.begin(), distinct.snapshots.end(),
                   [](const Snapshot* snapshot) { return !snapshot->exact_values.empty(); }))
    return values;
  for (const Snapshot* snapshot : distinct.snapshots) {
    for (std::size_t i = 0; i < snapshot->values.size(); ++i) values.push_back(exact_value(*snapshot, i));
  }
  return values;
}

/// `names` and `exact_values` must live until the file is written.
std::vector<BinarySection> sections_of(const SnapshotGraph& graph, const Distinct& distinct, const NameColumn& names,
                                       const std::vector<double>& exact_values) {
  std::vector<BinarySection> sections;
  add_section(sections, "step_snapshot", distinct.of_step);
  BinarySection offsets{"row_offsets", binary_type<std::int64_t>(), {}, 0};
  BinarySection columns{"columns", binary_type<VertexId>(), {}, 0}, values{"values", binary_type<float>(), {}, 0};
  for (const Snapshot* snapshot : distinct.snapshots) {
    add_piece(offsets, snapshot->row_offsets);
    add_piece(columns, snapshot->columns);
    add_piece(values, snapshot->values);
  }
  sections.push_back(std::move(offsets));
  if (columns.count > 0) sections.push_back(std::move(columns));
  if (values.count > 0) sections.push_back(std::move(values));
  add_section(sections, "exact_values", exact_values);
  add_section(sections, "features", graph.features);
  add_section(sections, "exact_features", graph.exact_features);
  add_section(sections, "step_begin", graph.step_begin);
  add_section(sections, "step_end", graph.step_end);
  add_section(sections, "side", graph.side);
  add_section(sections, "vertex_label", graph.vertex_label);
  add_section(sections, "cell_label", graph.cell_label);
  add_section(sections, "targets", graph.targets);
  add_section(sections, "original_id", graph.original_id);
  add_section(sections, "name_ends", names.ends());
  add_section(sections, "name_bytes", names.bytes());
  return sections;
}

Json describe(const SnapshotGraph& graph, const Distinct& distinct, const NameColumn& names) {
  std::int64_t nonzeros = 0;
  for (const Snapshot* snapshot : distinct.snapshots) nonzeros += snapshot->nonzeros();
  return {{"vertices", graph.vertices},
          {"steps", graph.steps()},
          {"snapshots", distinct.snapshots.size()},
          {"nonzeros", nonzeros},
          {"feature_width", graph.feature_width},
          {"degree_features", graph.degree_features},
          {"repeats", graph.repeats},
          {"orientation", graph.orientation},
          {"two_sided", !graph.side.empty()},
          {"dated", graph.dated},
          {"name_bytes", names.bytes().size()},
          {"provenance", provenance_to_json(graph.provenance)}};
}

/// Counts of a file, whose products are known to be numbers.
struct Sizes {
  std::int64_t vertices, steps, snapshots, nonzeros, feature_width;
  std::int64_t cells() const { return steps * vertices; }
};

Sizes sizes_of(const BinaryFile& file) {
  const Sizes sizes{file.count("vertices", std::numeric_limits<VertexId>::max()),
                    file.count("steps", std::numeric_limits<Step>::max()),
                    file.count("snapshots", std::numeric_limits<Step>::max()), file.count("nonzeros", most_values),
                    file.count("feature_width", most_binary_features)};
  const auto fits = [](std::int64_t a, std::int64_t b) { return b == 0 || a <= most_values / b; };
  const bool good = sizes.steps > 0 && sizes.snapshots > 0 && sizes.snapshots <= sizes.steps &&
                    fits(sizes.steps, sizes.vertices + 1) && fits(sizes.cells(), sizes.feature_width);
  if (!good) file.refuse("the sizes of the binary snapshots file are impossible");
  return sizes;
}

/// A snapshot in the form of the file.
struct StoredSnapshot {
  Column<std::int64_t> offsets;  // [N + 1]
  Column<VertexId> columns;
  Column<float> values;
  Column<double> exact;  // or empty

  /// Rows are in order, columns ascend and are vertices, values are finite.
  bool sound() const {
    const auto vertices = static_cast<std::int64_t>(offsets.size()) - 1;
    bool good = offsets.front() == 0 && std::is_sorted(offsets.begin(), offsets.end());
    for (std::size_t v = 0; good && v + 1 < offsets.size(); ++v) {
      for (std::int64_t i = offsets[v]; good && i < offsets[v + 1]; ++i) {
        const VertexId column = columns[i];
        good =
            column >= 0 && column < vertices && (i == offsets[v] || columns[static_cast<std::size_t>(i) - 1] < column);
      }
    }
    return good && std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); }) &&
           std::all_of(exact.begin(), exact.end(), [](double value) { return std::isfinite(value); });
  }
};

/// The snapshots of the file, each inside of its section.
std::vector<StoredSnapshot> parts_of(const BinaryFile& file, const Sizes& sizes, const Column<std::int64_t>& offsets,
                                     const Column<VertexId>& columns, const Column<float>& values,
                                     const Column<double>& exact) {
  std::vector<StoredSnapshot> parts;
  const auto rows = static_cast<std::size_t>(sizes.vertices) + 1;
  std::size_t begin = 0;
  for (std::size_t s = 0; s < static_cast<std::size_t>(sizes.snapshots); ++s) {
    const Column<std::int64_t> of_part = offsets.part(s * rows, rows);
    const std::int64_t count = of_part.back();
    if (count < 0 || static_cast<std::size_t>(count) > columns.size() - begin)
      file.refuse("a snapshot of the binary snapshots file lies outside of its section");
    const std::size_t entries = count;
    parts.push_back({of_part, columns.part(begin, entries), values.part(begin, entries), {}});
    if (!exact.empty()) parts.back().exact = exact.part(begin, entries);
    begin += entries;
  }
  if (begin != columns.size()) file.refuse("the binary snapshots file has edges that belong to no snapshot");
  return parts;
}

void check_content(const BinaryFile& file, const std::vector<StoredSnapshot>& parts, const SnapshotGraph& graph) {
  std::atomic<bool> good{true};
  parallel_tasks(static_cast<std::int64_t>(parts.size()), [&](std::int64_t s) {
    if (!parts[s].sound()) good = false;
  });
  if (!good) file.refuse("a snapshot of the binary snapshots file is not a sparse matrix of finite values");
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::all_of(graph.features.begin(), graph.features.end(), finite) ||
      !std::all_of(graph.exact_features.begin(), graph.exact_features.end(), finite))
    file.refuse("a feature of the binary snapshots file is not finite");
  if (!std::all_of(graph.step_end.begin(), graph.step_end.end(), finite) ||
      !std::is_sorted(graph.step_end.begin(), graph.step_end.end()))
    file.refuse("the end times of steps in the binary snapshots file are not sorted finite numbers");
  if (!std::all_of(graph.side.begin(), graph.side.end(), [](std::int8_t side) { return side >= -1 && side <= 1; }))
    file.refuse("a vertex side in the binary snapshots file is not -1, 0 or 1");
  if (!std::all_of(graph.step_begin.begin(), graph.step_begin.end(), finite) ||
      !std::is_sorted(graph.step_begin.begin(), graph.step_begin.end()))
    file.refuse("the start times of steps in the binary snapshots file are not sorted finite numbers");
}

/// A snapshot's exact values, where they are not the rounded ones.
Column<double> exact_values_of(const StoredSnapshot& part) {
  const bool same = std::equal(part.exact.begin(), part.exact.end(), part.values.begin(), part.values.end(),
                               [](double exact, float rounded) { return exact == static_cast<double>(rounded); });
  return same ? Column<double>() : part.exact;
}

/// Sets the snapshots; steps of one snapshot share it.
void set_snapshots(const BinaryFile& file, const std::vector<StoredSnapshot>& parts,
                   const Column<std::int32_t>& of_step, SnapshotGraph& graph) {
  std::vector<std::shared_ptr<const Snapshot>> snapshots(parts.size());
  parallel_tasks(static_cast<std::int64_t>(parts.size()), [&](std::int64_t s) {
    const StoredSnapshot& part = parts[s];
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->row_offsets = part.offsets;
    snapshot->columns = part.columns;
    snapshot->values = part.values;
    snapshot->exact_values = exact_values_of(part);
    snapshots[s] = std::move(snapshot);
  });
  for (const std::int32_t number : of_step) {
    if (number < 0 || static_cast<std::size_t>(number) >= snapshots.size())
      file.refuse("a step of the binary snapshots file has no snapshot");
    graph.snapshots.push_back(snapshots[number]);
  }
}

/// How much of a file is checked. nothing: a file that this run wrote.
enum class Checks : std::uint8_t { nothing, content, all };

SnapshotGraph graph_of(const BinaryFile& file, Checks checks) {
  const Sizes sizes = sizes_of(file);
  SnapshotGraph graph;
  graph.vertices = sizes.vertices;
  graph.feature_width = sizes.feature_width;
  file.description().at("repeats").get_to(graph.repeats);
  graph.orientation = file.description().value("orientation", "in");  // files of before have none
  graph.provenance = provenance_from_json(file.description().at("provenance"));
  const auto of_step = file.column<std::int32_t>("step_snapshot", sizes.steps, true);
  const auto offsets = file.column<std::int64_t>("row_offsets", sizes.snapshots * (sizes.vertices + 1), true);
  const auto columns = file.column<VertexId>("columns", sizes.nonzeros, true);
  const auto values = file.column<float>("values", sizes.nonzeros, true);
  const auto exact = file.column<double>("exact_values", sizes.nonzeros, false);
  graph.exact_features = file.column<double>("exact_features", sizes.cells() * sizes.feature_width, false);
  graph.features = file.column<float>("features", sizes.cells() * sizes.feature_width, true);
  graph.step_begin = file.column<double>("step_begin", sizes.steps, false).copy();
  graph.step_end = file.column<double>("step_end", sizes.steps, false).copy();
  graph.side = file.column<std::int8_t>("side", sizes.vertices, false).copy();
  graph.vertex_label = file.column<std::int8_t>("vertex_label", sizes.vertices, false).copy();
  graph.cell_label = file.column<std::int8_t>("cell_label", sizes.cells(), false);
  graph.targets = file.column<float>("targets", sizes.cells(), false);
  graph.dated = file.description().value("dated", false);
  const bool perhaps = graph.feature_width == 2 && graph.targets.empty();  // files of before do not say
  graph.degree_features = file.description().value("degree_features", perhaps);
  graph.original_id = file.column<std::int64_t>("original_id", sizes.vertices, false).copy();
  graph.vertex_name = names_of(file, sizes.vertices);
  if (checks == Checks::all) file.verify();
  const std::vector<StoredSnapshot> parts = parts_of(file, sizes, offsets, columns, values, exact);
  if (checks != Checks::nothing) check_content(file, parts, graph);
  set_snapshots(file, parts, of_step, graph);
  if (!file.description().contains("two_sided")) graph.side = sides_of_steps(graph);  // files of before do not say
  return graph;
}

}  // namespace

namespace {

void write(const SnapshotGraph& graph, const std::string& path, Keeping keeping) {
  if (graph.snapshots.empty()) throw InvalidRequest("workload", "a graph without steps cannot be written");
  const Distinct distinct = distinct_snapshots(graph);
  const NameColumn& names = graph.vertex_name;
  const std::vector<double> exact = exact_values_of(distinct);
  write_binary_file(snapshots_kind, describe(graph, distinct, names), sections_of(graph, distinct, names, exact), path,
                    keeping);
}

}  // namespace

void write_binary_snapshots(const SnapshotGraph& graph, const std::string& path) { write(graph, path, Keeping::kept); }

void write_passing_snapshots(const SnapshotGraph& graph, const std::string& path) {
  write(graph, path, Keeping::passing);
}

SnapshotGraph read_passing_snapshots(const std::string& path, std::shared_ptr<const void> keeper) {
  return graph_of(BinaryFile(snapshots_kind, path, std::move(keeper)), Checks::nothing);
}

SnapshotGraph read_binary_snapshots(const std::string& path, bool verify) {
  const BinaryFile file(snapshots_kind, path);
  try {
    return graph_of(file, verify || !file.sealed() ? Checks::all : Checks::content);
  } catch (const Json::exception&) {
    file.refuse("the description of the binary snapshots file is not readable");
  }
}

}  // namespace strobe
