// Reads a validation.csv by the names of its columns. Invariant: a time is a finite number above 0 or absent.
#include "harness/validation/validation_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/errors.hpp"
#include "results/row/table.hpp"
#include "workloads/reading/text/quoted_csv.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

std::size_t column_of(const std::string& path, const std::vector<Token>& header, const char* name) {
  const auto found = std::find_if(header.begin(), header.end(), [&](const Token& token) { return token.text == name; });
  if (found != header.end()) return static_cast<std::size_t>(found - header.begin());
  throw InvalidInput(path, 1, 0,
                     fmt::format("neither a run directory, a summary.json nor a validation.csv: the first "
                                 "line has no column {}",
                                 name));
}

}  // namespace

std::vector<ValidationLine> read_validation_csv(const std::string& path) {
  TextReader reader(path);
  QuotedCsv csv;
  if (!reader.next()) throw InvalidInput(path, 1, 0, "neither a summary.json nor a validation.csv: it is empty");
  const std::vector<Token>& header = csv.split(reader);
  const std::size_t columns = header.size(), id = column_of(path, header, "case_id"),
                    status = column_of(path, header, "measured_status"),
                    seconds = column_of(path, header, "measured_seconds");
  std::vector<ValidationLine> lines;
  std::set<std::string> seen;
  while (reader.next()) {
    const std::vector<Token>& fields = csv.split(reader);
    if (fields.size() != columns) {
      reader.fail(0, fmt::format("{} cells under {} columns", fields.size(), columns));
    }
    ValidationLine line{text_of_cell(std::string(fields[id].text)), std::string(fields[status].text)};
    if (!fields[seconds].text.empty()) {
      line.seconds = reader.real(fields[seconds], "measured_seconds");
      if (line.seconds <= 0) reader.fail(fields[seconds].column, "measured_seconds is not above 0");
    }
    if (!seen.insert(line.id).second) reader.fail(1, "a second line of " + line.id);
    lines.push_back(std::move(line));
  }
  if (lines.empty()) throw InvalidInput(path, 1, 0, "no line follows the names of the columns");
  return lines;
}

}  // namespace strobe
