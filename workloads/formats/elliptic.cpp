// The Elliptic data set of Bitcoin transactions, three csv files whose names differ in their ends only; each may be
// gzip, and any of them may be named:
//   NAME_features.csv   no header: txId, time step (1 to 49), then F features
//   NAME_edgelist.csv   header txId1,txId2
//   NAME_classes.csv    header txId,class with class 1 (illicit), 2 (licit) or unknown; may be missing
// Returns one event per edge at the step of its two transactions, which must be the same (`stepped`); an edge of a
// transaction that the features file lacks has no step and is left out, with a note. Every transaction
// of the features file is a vertex, also without an edge, and has its features (without the step). A known class
// becomes a label at the transaction's step: 0 licit, 1 illicit. Cost: one pass over each file and a look-up per edge
// and class. Source: Weber et al., Anti-Money Laundering in Bitcoin, KDD Workshop on Anomaly Detection in Finance,
// 2019.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <limits>
#include <span>
#include <utility>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "workloads/graph/growing_labels.hpp"
#include "workloads/graph/plugins.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/events/vertex_data.hpp"
#include "workloads/reading/text/blanks.hpp"
#include "workloads/reading/text/inputs.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/text_reader.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

constexpr std::string_view features_end = "_features.csv", edges_end = "_edgelist.csv", classes_end = "_classes.csv";
constexpr std::string_view edges_header = "txId1,txId2", classes_header = "txId,class";
constexpr std::size_t most_elliptic_features = 65536;

/// The file of the set that ends in `end`: `path` itself or its neighbour in the folder; "" when it is not there.
std::string file_of_set(const std::string& path, std::string_view end) {
  if (has_suffix(path, end)) return path;
  for (const std::string_view own : {features_end, edges_end, classes_end}) {
    if (!has_suffix(path, own)) continue;
    const std::string stem = path.substr(0, path.rfind(own));
    for (const char* packed : {"", ".gz"}) {
      const std::string file = stem + std::string(end) + packed;
      if (input_exists(file)) return file;
    }
  }
  return {};
}

int probe_elliptic(std::string_view head, std::string_view name) {
  const std::string line = header_names(first_line(head));
  if (line == edges_header || line == classes_header) return 100;
  // Features have no header, so their file name decides.
  if (name.find("elliptic") == std::string_view::npos || !has_suffix(name, features_end)) return 0;
  return line_numbers(first_line(head)).size() > 2 ? 100 : 0;
}

std::vector<std::string> companions_elliptic(const std::string& path) {
  std::vector<std::string> files;
  for (const std::string_view end : {features_end, edges_end, classes_end}) {
    const std::string file = file_of_set(path, end);
    if (!file.empty() && file != path) files.push_back(file);
  }
  return files;
}

struct Transaction {
  std::int64_t id = 0, row = 0;
  double step = 0;
};

/// The features file: transactions by ascending id, features [rows, width] in the order of the file.
struct Transactions {
  GrowingColumn<Transaction> by_id;
  GrowingColumn<float> features;
  std::size_t width = 0;

  std::span<const Transaction> listed() const { return {by_id.data(), by_id.size()}; }
  const Transaction* find(std::int64_t id) const {
    const Transaction* const end = by_id.data() + by_id.size();
    const Transaction* const at =
        std::lower_bound(by_id.data(), end, id,
                         [](const Transaction& transaction, std::int64_t other) { return transaction.id < other; });
    return at != end && at->id == id ? at : nullptr;
  }
};

void add_transactions(TextReader& lines, std::size_t columns, Transactions& part) {
  while (lines.next()) {
    const auto& fields = lines.split_commas();
    if (fields.size() != columns)
      lines.fail(misplaced_column(lines.line(), fields, columns),
                 fmt::format("expected {} columns as in the first row, found {}", columns, fields.size()));
    const std::int64_t id = lines.whole(fields[0], "transaction id"), step = lines.whole(fields[1], "time step");
    if (step > std::numeric_limits<Step>::max()) lines.fail(fields[1].column, "the step is beyond 2^31 - 1");
    part.by_id.push_back({id, static_cast<std::int64_t>(part.by_id.size()), static_cast<double>(step)});
    for (std::size_t i = 2; i < columns; ++i) part.features.push_back(lines.single(fields[i], "feature"));
  }
}

std::size_t count_columns(const std::string& path) {
  TextReader first(path);
  if (!first.next()) first.fail_file("the file is empty");
  const auto& fields = first.split_commas();
  if (fields.size() < 3 || fields.size() > most_elliptic_features)
    first.fail(1, fmt::format("expected a transaction, its time step and features, found {} columns", fields.size()));
  return fields.size();
}

Transactions read_transactions(const std::string& path) {
  Transactions all;
  const std::size_t columns = count_columns(path);
  all.width = columns - 2;
  PerPart<Transactions> parts;
  TextReader reader(path);
  parse_rows(
      reader, [&](std::size_t part, TextReader& lines) { add_transactions(lines, columns, parts[part]); },
      [&](std::size_t part) {
        const Transactions added = std::exchange(parts[part], Transactions());
        const auto rows = static_cast<std::int64_t>(all.by_id.size());
        for (const Transaction& one : added.listed()) all.by_id.push_back({one.id, rows + one.row, one.step});
        all.features.append(added.features.data(), added.features.size());
      });
  const std::span<Transaction> listed(all.by_id.data(), all.by_id.size());
  std::sort(listed.begin(), listed.end(),
            [](const Transaction& a, const Transaction& b) { return std::pair(a.id, a.row) < std::pair(b.id, b.row); });
  if (all.by_id.size() > std::numeric_limits<VertexId>::max())
    throw InvalidInput(path, 0, 0, "the file has more than 2^31 - 1 transactions");
  const auto twice = std::adjacent_find(listed.begin(), listed.end(),
                                        [](const Transaction& a, const Transaction& b) { return a.id == b.id; });
  if (twice != listed.end())
    throw InvalidInput(path, static_cast<std::uint64_t>(std::next(twice)->row) + 1, 1,
                       fmt::format("transaction {} is listed twice", twice->id));
  return all;
}

void expect_header(TextReader& reader, std::string_view header) {
  if (!reader.next()) reader.fail_file("the file is empty");
  if (header_names(reader.line()) != header) reader.fail(1, fmt::format("expected the header {}", header));
}

const std::vector<Token>& split_pair(TextReader& lines) {
  const auto& fields = lines.split_commas();
  if (fields.size() != 2)
    lines.fail(misplaced_column(lines.line(), fields, 2), fmt::format("expected 2 columns, found {}", fields.size()));
  return fields;
}

EventGraph read_edges(const std::string& path, const Transactions& transactions) {
  TextReader reader(path);
  expect_header(reader, edges_header);
  EventBuilder events;
  std::atomic<std::int64_t> without_step{0};
  parse_rows(reader, events, [&](TextReader& lines, EventBuilder& rows) {
    while (lines.next()) {
      const auto& fields = split_pair(lines);
      const Transaction* const from = transactions.find(lines.whole(fields[0], "transaction id"));
      const Transaction* const to = transactions.find(lines.whole(fields[1], "transaction id"));
      if (from == nullptr || to == nullptr) {
        ++without_step;
        continue;
      }
      if (from->step != to->step)
        lines.fail(fields[0].column,
                   fmt::format("transaction {} is of step {}, {} of step {}", from->id, from->step, to->id, to->step));
      rows.add(from->id, to->id, from->step);
    }
  });
  EventGraph graph = events.finish(path, "elliptic");
  if (without_step > 0)
    graph.provenance.notes.push_back(
        fmt::format("{} edges are left out: the features file lacks one of their transactions, so they have no step",
                    without_step.load()));
  return graph;
}

/// Makes all transactions vertices, by ascending id as those with edges are, and gives them their features.
void add_vertices(const Transactions& transactions, EventGraph& graph) {
  std::vector<VertexId> number;  // of the vertices with edges
  GrowingColumn<std::int64_t> ids;
  GrowingColumn<float> features;
  ids.reserve(transactions.by_id.size());
  features.reserve(transactions.features.size());
  for (const Transaction& one : transactions.listed()) {
    if (number.size() < graph.original_id.size() && graph.original_id[number.size()] == one.id)
      number.push_back(static_cast<VertexId>(ids.size()));
    ids.push_back(one.id);
    features.append(transactions.features.data() + static_cast<std::size_t>(one.row) * transactions.width,
                    transactions.width);
  }
  renumber_ends(graph.source, number);
  renumber_ends(graph.target, number);
  graph.provenance.notes.push_back(
      fmt::format("{} of {} transactions have no edge; all are vertices, each with {} features (features=own)",
                  ids.size() - number.size(), ids.size(), transactions.width));
  graph.vertices = static_cast<std::int64_t>(ids.size());
  graph.original_id = ids.finish();
  graph.vertex_feature_width = static_cast<std::int64_t>(transactions.width);
  graph.vertex_features = features.finish();
}

void read_classes(const std::string& path, const Transactions& transactions, EventGraph& graph) {
  TextReader reader(path);
  expect_header(reader, classes_header);
  GrowingLabels labels;
  std::vector<bool> listed(transactions.by_id.size(), false);
  std::int64_t unknown = 0, without_step = 0;
  while (reader.next()) {
    const auto& fields = split_pair(reader);
    const Transaction* const found = transactions.find(reader.whole(fields[0], "transaction id"));
    if (found == nullptr) {
      ++without_step;
      continue;
    }
    const std::size_t vertex = found - transactions.by_id.data();
    if (listed[vertex]) reader.fail(fields[0].column, fmt::format("transaction {} is listed twice", found->id));
    listed[vertex] = true;
    const std::string_view text = fields[1].text;
    if (text != "1" && text != "2" && text != "unknown")
      reader.fail(fields[1].column, fmt::format("a class is 1, 2 or unknown, found '{}'", printable(text)));
    unknown += text == "unknown";
    if (text == "unknown") continue;
    labels.add(static_cast<VertexId>(vertex), found->step, text == "1" ? 1 : 0, 1);
  }
  graph.timed_labels = labels.finish();
  sort_by_time(graph.timed_labels);
  const Column<std::int32_t>& label = graph.timed_labels.label;
  const auto illicit = std::count(label.begin(), label.end(), 1);
  graph.provenance.notes.push_back(fmt::format(
      "classes: {} illicit (label 1), {} licit (label 0), {} unknown, {} not listed, {} of transactions without "
      "features; a transaction has its label at its own step",
      illicit, std::ssize(label) - illicit, unknown, std::count(listed.begin(), listed.end(), false), without_step));
}

EventGraph read_elliptic(const std::string& path) {
  const std::string edges = file_of_set(path, edges_end), features = file_of_set(path, features_end),
                    classes = file_of_set(path, classes_end);
  for (const auto& [file, end] : {std::pair(edges, edges_end), {features, features_end}})
    if (file.empty())
      throw InvalidInput(
          path, 0, 0, fmt::format("the Elliptic data set's file that ends in {} is missing in the same folder", end));
  const Transactions transactions = read_transactions(features);
  EventGraph graph = read_edges(edges, transactions);
  graph.stepped = true;
  if (path != edges) {  // the graph is that of the file that was named
    graph.provenance.name = std::filesystem::path(path).filename().string();
    graph.provenance.source = path;
    graph.provenance.sha256 = sha256_file(path);
  }
  add_vertices(transactions, graph);
  if (classes.empty())
    graph.provenance.notes.push_back("the folder has no file of classes, so there are no labels");
  else
    read_classes(classes, transactions, graph);
  return graph;
}

const Register<FormatTag> elliptic_registered{
    {"elliptic",
     "Elliptic Bitcoin transactions: *_edgelist.csv with *_features.csv and *_classes.csv",
     "Weber et al., Anti-Money Laundering in Bitcoin: Experimenting with Graph Convolutional Networks for Financial "
     "Forensics, 2019",
     {},
     {probe_elliptic, read_elliptic, nullptr, companions_elliptic},
     {}}};

}  // namespace
}  // namespace strobe
