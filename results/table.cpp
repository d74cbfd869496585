#include "results/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/shown_text.hpp"
#include "core/units.hpp"

namespace strobe {
namespace {

/// Characters of UTF-8 text: bytes that do not continue another.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string line_of(const std::vector<std::string>& cells, const std::vector<TextTable::Column>& columns,
                    const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string blanks(widths[i] - width_of(cells[i]), ' ');
    if (i != 0) line += "  ";
    line += columns[i].right ? blanks + cells[i] : cells[i] + blanks;
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::vector<int> phases_in_use(const std::vector<Row>& rows) {
  std::vector<int> result;
  for (int phase = 0; phase < phase_count; ++phase) {
    const auto uses = [phase](const Row& row) {
      return row.phase_seconds && (*row.phase_seconds)[static_cast<std::size_t>(phase)] > 0;
    };
    if (std::any_of(rows.begin(), rows.end(), uses)) result.push_back(phase);
  }
  return result;
}

std::string share(const Row& row, int phase) {
  if (!row.phase_seconds || !row.epoch_seconds || !(row.epoch_seconds->mean > 0)) return "-";
  return fmt::format("{:.1f}", 100 * (*row.phase_seconds)[static_cast<std::size_t>(phase)] / row.epoch_seconds->mean);
}

std::string last_loss(const Row& row) {
  return row.loss && !row.loss->empty() && std::isfinite(row.loss->back()) ? fmt::format("{:.6g}", row.loss->back())
                                                                           : "-";
}

std::string notes_of(const Row& row) {
  std::vector<std::string> notes;
  if (row.status != "ok") notes.push_back(row.reason.empty() ? row.status : row.status + ": " + row.reason);
  if (row.epoch_seconds_band90) {
    notes.push_back(fmt::format("predicted, 90 % between {} and {}", format_seconds(row.epoch_seconds_band90->low),
                                format_seconds(row.epoch_seconds_band90->high)));
  } else if (row.time_source == "virtual") {
    notes.push_back("predicted");
  }
  notes.insert(notes.end(), row.notes.begin(), row.notes.end());
  return fmt::format("{}", fmt::join(notes, ", "));
}

}  // namespace

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  std::vector<std::string> titles;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    widths.push_back(width_of(column.title));
  }
  std::vector<std::vector<std::string>> lines;
  for (const auto& given : lines_) {
    if (given.size() != columns_.size()) {
      throw Error(fmt::format("a table line has {} cells for {} columns", given.size(), columns_.size()));
    }
    std::vector<std::string>& cells = lines.emplace_back();
    for (const std::string& cell : given) cells.push_back(shown_line(cell));
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width_of(cells[i]));
  }
  std::vector<std::string> rules;
  for (const std::size_t width : widths) rules.emplace_back(width, '-');
  std::string result = line_of(titles, columns_, widths) + line_of(rules, columns_, widths);
  for (const auto& cells : lines) result += line_of(cells, columns_, widths);
  return result;
}

std::string summary_table(const std::vector<Row>& rows) {
  const std::vector<int> phases = phases_in_use(rows);
  std::vector<TextTable::Column> columns{{"case", false}, {"epoch", true}};
  for (const int phase : phases) columns.push_back({std::string(phase_names[phase]) + " %", true});
  for (const char* title : {"sent", "max/mean busy", "loss"}) columns.push_back({title, true});
  columns.insert(columns.end(), {{"exact", false}, {"notes", false}});
  TextTable table(columns);
  for (const Row& row : rows) {
    std::vector<std::string> cells{row.case_id, row.epoch_seconds ? format_seconds(row.epoch_seconds->median) : "-"};
    for (const int phase : phases) cells.push_back(share(row, phase));
    cells.push_back(row.sent_bytes ? format_bytes(static_cast<double>((*row.sent_bytes)[traffic_count])) : "-");
    const bool balanced = row.imbalance && std::isfinite(row.imbalance->max_over_mean);
    cells.push_back(balanced ? fmt::format("{:.2f}", row.imbalance->max_over_mean) : "-");
    cells.push_back(last_loss(row));
    cells.push_back(row.exact ? "yes" : fmt::format("{}", fmt::join(row.approximations, "+")));
    cells.push_back(notes_of(row));
    table.add(std::move(cells));
  }
  return table.text();
}

}  // namespace strobe
