// Edge lists of the Temporal Graph Benchmark (csv with header), NAME_edgelist[_vK].csv:
//   coin, review   day|ts,src,dst,weight          comment   ts,src,dst,subreddit,num_words,score
//   flight         day,src,dst,callsign,typecode  trade     year,nation,trading nation,value
//   genre          ts,user_id,genre,weight        reddit    ts,src,subreddit,num_words,score
//   token          timestamp,user_address,token_address,value,IsSender
// The first three columns are time, source and target; the others are known by name: one is the weight, counts and
// flags are features, texts are left out and noted. tgbl-wiki, -subreddit and -lastfm have JODIE's form (format jodie).
// Vertices are names here and are numbered by first appearance, as TGB numbers them; genres, subreddits and tokens are
// numbered apart from users (two-sided). Times are seconds, dates, or years (then the graph is stepped).
// NAME_node_labels[_vK].csv in the same folder (time, vertex, class, weight) becomes timed labels; class k is the k-th
// target name of the edge list. TGB makes them of the edges from their time on and lets models read those before it.
// Returns one event per row.
// Cost: one pass over each file and one look-up per name.
// Source: Huang et al., Temporal Graph Benchmark for Machine Learning on Temporal Graphs, NeurIPS 2023;
// github.com/shenyangHuang/TGB, tgb/utils/pre_process.py.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "core/errors.hpp"
#include "workloads/graph/growing_labels.hpp"
#include "workloads/graph/plugins.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/events/vertex_data.hpp"
#include "workloads/reading/ids/id_words.hpp"
#include "workloads/reading/ids/name_table.hpp"
#include "workloads/reading/ids/vertex_names.hpp"
#include "workloads/reading/text/blanks.hpp"
#include "workloads/reading/text/inputs.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/quoted_csv.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

using Names = std::vector<std::string_view>;
const Names time_names = {"ts", "time", "timestamp", "day", "year"};
const Names source_names = {"src", "source", "user", "user_id", "user_address", "nation"};
const Names target_names = {"dst", "destination", "trading nation"};
const Names class_names = {"genre", "subreddit", "token_address"};
const Names weight_names = {"w", "weight", "value", "score"};
const Names feature_names = {"num_words", "issender"};
const Names text_names = {"callsign", "typecode", "subreddit"};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

bool among(const Names& names, std::string_view text) {
  return std::find(names.begin(), names.end(), lower(text)) != names.end();
}

int probe_tgb(std::string_view head, std::string_view) {
  const std::string names = header_names(first_line(head));
  const std::string_view line = names;
  const std::size_t first = line.find(','), second = line.find(',', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return 0;
  const std::size_t third = std::min(line.find(',', second + 1), line.size());
  const std::string_view target = line.substr(second + 1, third - second - 1);
  const bool known = among(time_names, line.substr(0, first)) &&
                     among(source_names, line.substr(first + 1, second - first - 1)) &&
                     (among(target_names, target) || among(class_names, target));
  return known ? 95 : 0;
}

/// The columns as the header names them.
struct TgbLayout {
  std::size_t columns = 0, weight = 0;  // 0 = no weight: column 0 is the time
  std::vector<std::size_t> features;
  bool two_sided = false, years = false;
  std::vector<std::string> unused;
};

TgbLayout read_header(TextReader& reader, QuotedCsv& csv) {
  if (!reader.next()) reader.fail_file("the file is empty");
  const auto& fields = csv.split(reader);
  if (fields.size() < 3) reader.fail(1, "expected a header that begins with time, source and target");
  const auto expect = [&](std::size_t i, bool known, const char* what) {
    if (!known)
      reader.fail(fields[i].column, fmt::format("'{}' does not name a {} column", printable(fields[i].text), what));
  };
  expect(0, among(time_names, fields[0].text), "time");
  expect(1, among(source_names, fields[1].text), "source");
  expect(2, among(target_names, fields[2].text) || among(class_names, fields[2].text), "target");
  TgbLayout layout;
  layout.columns = fields.size();
  layout.years = lower(fields[0].text) == "year";
  layout.two_sided = among(class_names, fields[2].text);
  for (std::size_t i = 3; i < fields.size(); ++i) {
    if (among(weight_names, fields[i].text) && layout.weight == 0)
      layout.weight = i;
    else if (among(feature_names, fields[i].text))
      layout.features.push_back(i);
    else if (among(text_names, fields[i].text))
      layout.unused.emplace_back(fields[i].text);
    else
      reader.fail(fields[i].column,
                  fmt::format("the column '{}' is unknown or given twice", printable(fields[i].text)));
  }
  return layout;
}

struct Tables {
  NameTable sources, targets;  // one-sided files use `sources` for both
  bool two_sided = false, dated = false;
  NameTable& of_targets() { return two_sided ? targets : sources; }
};

/// Node labels of a part of their file; classes are numbers of a table of the part.
struct LabelPart {
  GrowingLabels labels;
  NameTable classes;
  std::int64_t absent = 0;
};

double read_time(const TextReader& reader, const Token& token, bool years) {
  if (years) {
    const std::int64_t year = reader.whole(token, "year");
    if (year > 9999) reader.fail(token.column, fmt::format("the year {} is beyond 9999", year));
    return static_cast<double>(year);
  }
  return reader.seconds_or_date(token);
}

/// The node labels that belong to an edge list, or "".
std::string label_file_tgb(const std::string& path) {
  const std::filesystem::path file(path);
  std::string name = file.filename().string();
  const std::size_t at = name.find("_edgelist");
  if (at == std::string::npos) return {};
  const std::string stem = name.substr(0, at) + "_node_labels", rest = name.substr(at + 9);
  for (const std::string& end : {rest, std::string(".csv"), rest + ".gz", std::string(".csv.gz")}) {
    const auto candidate = file.parent_path() / (stem + end);
    if (input_exists(candidate.string())) return candidate.string();
  }
  return {};
}

std::vector<std::string> companions_tgb(const std::string& path) {
  const std::string file = label_file_tgb(path);
  return file.empty() ? std::vector<std::string>() : std::vector{file};
}

void add_labels(TextReader& reader, bool years, const NameTable& sources, const EventGraph& graph, LabelPart& part) {
  QuotedCsv csv;
  while (reader.next()) {
    const auto& fields = csv.split(reader);
    if (fields.size() != 4)
      reader.fail(misplaced_column(reader.line(), fields, 4),
                  fmt::format("expected 4 columns, found {}", fields.size()));
    const double time = read_time(reader, fields[0], years);
    const std::int64_t vertex = sources.find(reader.name(fields[1], "vertex"));
    const std::int64_t label = part.classes.number(reader.name(fields[2], "class"));
    const float share = reader.single(fields[3], "weight");
    part.absent += vertex < 0;
    if (vertex < 0) continue;
    part.labels.add(find_vertex(graph, vertex), time, static_cast<std::int32_t>(label), share);
  }
}

void read_labels(const std::string& path, bool years, Tables& tables, EventGraph& graph) {
  TextReader reader(path);
  if (!reader.next()) reader.fail_file("the file is empty");
  if (QuotedCsv().split(reader).size() != 4)
    reader.fail(1, "node labels have four columns: time, vertex, class, weight");
  GrowingLabels labels;
  std::int64_t absent = 0;
  PerPart<LabelPart> parts;
  // One-sided files name classes among their sources, so the numbers of classes are settled after all parts are read.
  parse_rows(
      reader,
      [&](std::size_t part, TextReader& lines) { add_labels(lines, years, tables.sources, graph, parts[part]); },
      [&](std::size_t part) {
        LabelPart& added = parts[part];
        const std::vector<std::int64_t> numbers = tables.of_targets().add(added.classes);
        if (tables.of_targets().size() > std::numeric_limits<std::int32_t>::max())
          reader.fail_file("there are more than 2^31 classes");
        for (std::int32_t& label : added.labels.label) label = static_cast<std::int32_t>(numbers[label]);
        labels.append(added.labels);
        absent += added.absent;
        added = LabelPart();
      });
  graph.timed_labels = labels.finish();
  sort_by_time(graph.timed_labels);
  graph.provenance.notes.push_back(fmt::format("{}: {} labels; {} more are of vertices without events and left out",
                                               std::filesystem::path(path).filename().string(),
                                               graph.timed_labels.time.size(), absent));
}

void add_rows_tgb(TextReader& reader, const TgbLayout& layout, Tables& tables, EventBuilder& events) {
  QuotedCsv csv;
  tables.two_sided = layout.two_sided;
  while (reader.next()) {
    const auto& fields = csv.split(reader);
    if (fields.size() != layout.columns) {
      reader.fail(misplaced_column(reader.line(), fields, layout.columns),
                  fmt::format("expected {} columns, found {}", layout.columns, fields.size()));
    }
    const double time = read_time(reader, fields[0], layout.years);
    tables.dated = tables.dated || (!layout.years && TextReader::is_date(fields[0]));
    const std::int64_t source = tables.sources.number(reader.name(fields[1], "source"));
    events.add(source, tables.of_targets().number(reader.name(fields[2], "target")), time);
    if (layout.weight != 0) events.add_weight(reader.weight(fields[layout.weight]));
    for (const std::size_t i : layout.features) events.add_feature(reader.single(fields[i], "feature"));
  }
}

void refuse_too_many(const Tables& tables, const std::string& path) {
  if (std::max(tables.sources.size(), tables.targets.size()) > std::numeric_limits<VertexId>::max())
    throw InvalidInput(path, 0, 0, "the file has more than 2^31 - 1 distinct vertex names");
}

EventGraph read_tgb(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  if (name.find("_node_labels") != std::string::npos)
    throw InvalidInput(path, 0, 0,
                       "holds labels; give the edge list instead, and labels in the same folder are read too");
  TextReader reader(path);
  QuotedCsv csv;
  const TgbLayout layout = read_header(reader, csv);
  Tables tables;
  tables.two_sided = layout.two_sided;
  EventBuilder events;
  PerPart<Tables> parts;  // names are numbered part by part, and all together when their order is known
  parse_rows(
      reader, events,
      [&](std::size_t part, TextReader& lines, EventBuilder& rows) { add_rows_tgb(lines, layout, parts[part], rows); },
      [&](std::size_t part, EventBuilder& rows) {
        const Tables added = std::exchange(parts[part], {});
        tables.dated = tables.dated || added.dated;
        const std::vector<std::int64_t> sources = tables.sources.add(added.sources),
                                        targets = tables.targets.add(added.targets);
        refuse_too_many(tables, path);
        rows.renumber(sources, layout.two_sided ? targets : sources);
      });
  refuse_twin_names(tables.sources, path, 1, 2);
  refuse_twin_names(tables.targets, path, 1, 2);
  EventGraph graph = events.finish(path, "tgb");
  graph.two_sided = layout.two_sided;
  graph.stepped = layout.years;
  graph.labels_before = true;
  graph.dated = tables.dated;
  name_vertices(tables.sources, tables.of_targets(), graph);
  graph.provenance.notes.push_back("vertices have names in the file; ids number them by first appearance");
  if (layout.years) graph.provenance.notes.push_back("steps are years");
  if (!layout.unused.empty())
    graph.provenance.notes.push_back(fmt::format("columns that are not used: {}", fmt::join(layout.unused, ", ")));
  const std::string labels = label_file_tgb(path);
  if (!labels.empty()) read_labels(labels, layout.years, tables, graph);
  return graph;
}

const Register<FormatTag> tgb_registered{
    {"tgb",
     "Temporal Graph Benchmark edge lists (csv), with node labels in the same folder",
     "Huang et al., Temporal Graph Benchmark for Machine Learning on Temporal Graphs, "
     "NeurIPS 2023",
     {},
     {probe_tgb, read_tgb, nullptr, companions_tgb},
     {}}};

}  // namespace
}  // namespace strobe
