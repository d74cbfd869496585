// AMLSim transactions with dates, as its converter writes them for the 1K to 1M parameter sets. The user's schema
// decides the order of the header's columns. Columns that are read: orig_acct, bene_acct, base_amt, tran_timestamp
// (2017-01-31T00:00:00Z) and is_sar or is_fraud. Returns one event per transaction: seconds since 1970, the amount as
// weight, the flag (True or False) as event label. accounts.csv and sar_accounts.csv in the same folder become labels
// of the accounts.
// Cost: one pass over each file.
// Source: github.com/IBM/AMLSim, paramFiles/*/schema.json and convert_logs.py.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "workloads/graph/plugins.hpp"
#include "workloads/reading/events/amlsim_accounts.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/text/blanks.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr std::array<std::string_view, 4> needed = {"orig_acct", "bene_acct", "base_amt", "tran_timestamp"};

/// Positions of the used columns in the header; `flag` is the number of columns when there is no flag.
struct Columns {
  std::array<std::size_t, needed.size()> at{};
  std::size_t flag = 0, count = 0;
};

std::vector<std::string_view> names_of(std::string_view line) {
  std::vector<std::string_view> names;
  for (;;) {
    const std::size_t end = std::min(line.find(','), line.size());
    names.push_back(without_blanks(line.substr(0, end)));
    if (end == line.size()) return names;
    line.remove_prefix(end + 1);
  }
}

/// The first needed column that the header lacks, or "" after filling `columns`.
std::string_view find_columns(std::string_view line, Columns& columns) {
  const std::vector<std::string_view> names = names_of(line);
  const auto position = [&](std::string_view name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  columns.count = names.size();
  for (std::size_t i = 0; i < needed.size(); ++i) {
    columns.at[i] = position(needed[i]);
    if (columns.at[i] == columns.count) return needed[i];
  }
  columns.flag = std::min(position("is_sar"), position("is_fraud"));
  return {};
}

int probe_amlsim_dated(std::string_view head, std::string_view) {
  Columns columns;
  return find_columns(first_line(head), columns).empty() ? 95 : 0;
}

std::int8_t read_flag_amlsim_dated(const TextReader& reader, const Token& token) {
  if (token.text == "False" || token.text == "false" || token.text == "0") return 0;
  if (token.text == "True" || token.text == "true" || token.text == "1") return 1;
  reader.fail(token.column, "the flag must be True or False, found '" + printable(token.text) + "'");
}

EventGraph read_amlsim_dated(const std::string& path) {
  TextReader reader(path);
  if (!reader.next()) reader.fail_file("the file is empty");
  Columns columns;
  const std::string_view missing = find_columns(reader.line(), columns);
  if (!missing.empty()) reader.fail(1, fmt::format("the header has no column {}", missing));
  EventBuilder events;
  parse_rows(reader, events, [&](TextReader& lines, EventBuilder& rows) {
    while (lines.next()) {
      const auto& fields = lines.split_commas();
      if (fields.size() != columns.count)
        lines.fail(misplaced_column(lines.line(), fields, columns.count),
                   fmt::format("expected {} columns, found {}", columns.count, fields.size()));
      const std::int64_t source = lines.whole(fields[columns.at[0]], "source account");
      const std::int64_t target = lines.whole(fields[columns.at[1]], "target account");
      rows.add(source, target, lines.date_time(fields[columns.at[3]]));
      rows.add_weight(lines.weight(fields[columns.at[2]]));
      if (columns.flag < columns.count) rows.add_label(read_flag_amlsim_dated(lines, fields[columns.flag]));
    }
  });
  EventGraph graph = events.finish(path, "amlsim-dated");
  graph.dated = true;
  read_amlsim_accounts(path, graph);
  return graph;
}

const Register<FormatTag> amlsim_dated_registered{
    {"amlsim-dated",
     "AMLSim transactions with dates: orig_acct, bene_acct, base_amt, tran_timestamp; also reads accounts.csv in the "
     "same folder",
     "Weber et al., Scalable Graph Learning for Anti-Money Laundering, 2018; "
     "github.com/IBM/AMLSim",
     {},
     {probe_amlsim_dated, read_amlsim_dated, nullptr, amlsim_account_tables},
     {}}};

}  // namespace
}  // namespace strobe
