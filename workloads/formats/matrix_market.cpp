// Matrix Market files under any name: "%%MatrixMarket matrix coordinate pattern|real|integer general|symmetric" (or one
// %, as the Network Repository writes it), % comments, a line "rows columns entries", then "i j" or "i j value".
// Returns one event i -> j at time 0 per entry, with its value as weight: a matrix has no times, so the graph is one
// static step. The number of entries must equal that of the size line. Entries must lie within its rows and columns,
// which count from 1. The rows and columns of a matrix that is not square are different things, so its graph is
// two-sided. A symmetric matrix lists one triangle only, and each entry is one event. Dense (array), complex, hermitian
// and skew-symmetric matrices are no such graphs and are refused.
// Cost: one pass over the text.
// Source: Boisvert, Pozo, Remington, The Matrix Market Exchange Formats: Initial Design, NISTIR 5935, 1996.
#include "workloads/reading/events/matrix_market.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/errors.hpp"
#include "workloads/graph/plugins.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

struct MatrixLayout {
  bool values = false, symmetric = false;
  std::int64_t rows = 0, columns = 0, entries = 0;
  std::uint64_t size_line = 0, entries_column = 0;
};

int probe_matrix_market(std::string_view head, std::string_view) {
  return is_matrix_market(first_line(head)) ? 110 : 0;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

void read_banner(TextReader& reader, MatrixLayout& layout) {
  if (!reader.next()) reader.fail_file("the file is empty");
  if (!is_matrix_market(reader.line())) reader.fail(1, "a Matrix Market file begins with %%MatrixMarket");
  const std::vector<Token> words = reader.split_blanks();
  if (words.size() != 5)
    reader.fail(
        misplaced_column(reader.line(), words, 5),
        "expected '%%MatrixMarket matrix coordinate FIELD SYMMETRY', found " + std::to_string(words.size()) + " words");
  const auto expect = [&](std::size_t i, std::initializer_list<std::string_view> read, const char* what) {
    const std::string word = lower_case(words[i].text);
    if (std::find(read.begin(), read.end(), word) == read.end())
      reader.fail(words[i].column, fmt::format("the {} '{}' is not read, only {}", what, printable(words[i].text),
                                               fmt::join(read, ", ")));
    return word;
  };
  expect(1, {"matrix"}, "object");
  expect(2, {"coordinate"}, "form");
  layout.values = expect(3, {"pattern", "real", "integer"}, "kind of value") != "pattern";
  layout.symmetric = expect(4, {"general", "symmetric"}, "symmetry") == "symmetric";
}

void read_size(TextReader& reader, MatrixLayout& layout) {
  while (reader.next() && reader.line().front() == '%') continue;
  if (reader.line().empty()) reader.fail_file("the line 'rows columns entries' is missing");
  const auto& fields = reader.split_blanks();
  if (fields.size() != 3)
    reader.fail(misplaced_column(reader.line(), fields, 3),
                "expected the line 'rows columns entries', found " + std::to_string(fields.size()) + " columns");
  layout.rows = reader.whole(fields[0], "number of rows", 1);
  layout.columns = reader.whole(fields[1], "number of columns", 1);
  layout.entries = reader.whole(fields[2], "number of entries", 1);
  layout.size_line = reader.line_number();
  layout.entries_column = fields[2].column;
  if (layout.symmetric && layout.rows != layout.columns)
    reader.fail(fields[1].column, "a symmetric matrix has as many rows as columns");
}

std::int64_t read_index(const TextReader& reader, const Token& token, std::int64_t most, const char* what) {
  const std::int64_t index = reader.whole(token, what, 1);
  if (index > most)
    reader.fail(token.column, fmt::format("{} {} is beyond the {} of the size line", what, index, most));
  return index;
}

void add_entry(TextReader& reader, const MatrixLayout& layout, EventBuilder& events) {
  const auto& fields = reader.split_blanks();
  const std::size_t columns = layout.values ? 3 : 2;
  if (fields.size() != columns) {
    const bool one_more = layout.values && fields.size() == 4;
    reader.fail(
        misplaced_column(reader.line(), fields, columns),
        fmt::format("expected {} columns ({}), found {}{}", columns, layout.values ? "i, j, value" : "i, j",
                    fields.size(),
                    one_more ? "; if they are source, target, weight and time, this is not a matrix: take out the "
                               "lines before the rows and give format=network-repository"
                             : ""));
  }
  const std::int64_t row = read_index(reader, fields[0], layout.rows, "row");
  const std::int64_t column = read_index(reader, fields[1], layout.columns, "column");
  events.add(row, column, 0);
  if (layout.values) events.add_weight(reader.weight(fields[2]));
}

void note_layout(const MatrixLayout& layout, EventGraph& graph) {
  auto& notes = graph.provenance.notes;
  notes.push_back(no_times_note);
  if (layout.values) notes.push_back("columns were taken as row, column, value; the value is the weight, not a time");
  if (layout.symmetric)
    notes.push_back("symmetric matrix: each entry is kept as one event; orientation=both adds the reverse");
  const std::int64_t stated = graph.two_sided ? layout.rows + layout.columns : layout.rows;
  if (!graph.two_sided && stated > graph.vertices)
    notes.push_back(
        fmt::format("{} of {} rows and columns have no entry and are no vertices", stated - graph.vertices, stated));
}

EventGraph read_matrix_market(const std::string& path) {
  TextReader reader(path);
  MatrixLayout layout;
  read_banner(reader, layout);
  read_size(reader, layout);
  EventBuilder events;
  parse_rows(reader, events, [&](TextReader& lines, EventBuilder& rows) {
    while (lines.next()) add_entry(lines, layout, rows);
  });
  if (events.rows() != layout.entries)
    throw InvalidInput(path, layout.size_line, layout.entries_column,
                       fmt::format("the size line states {} entries, the file has {}", layout.entries, events.rows()));
  EventGraph graph = events.finish(path, "matrix-market");
  graph.two_sided = layout.rows != layout.columns;
  note_layout(layout, graph);
  return graph;
}

const Register<FormatTag> matrix_market_registered{
    {"matrix-market",
     "Matrix Market coordinate files: a static graph without times",
     "Boisvert, Pozo and Remington, The Matrix Market Exchange Formats, NISTIR 5935, 1996",
     {},
     {probe_matrix_market, read_matrix_market},
     {}}};

}  // namespace
}  // namespace strobe
