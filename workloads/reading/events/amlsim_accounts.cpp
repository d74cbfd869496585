// The user's schema decides the order of columns, so headers identify them. Cost: one pass over each table and a
// look-up per row. Source: github.com/IBM/AMLSim, convert_logs.py and paramFiles/*/schema.json.
#include "workloads/reading/events/amlsim_accounts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>

#include "core/errors.hpp"
#include "workloads/reading/events/vertex_data.hpp"
#include "workloads/reading/text/inputs.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/quoted_csv.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr std::size_t no_column = -1;

/// The table called `name` in the folder of `path`, or "".
std::string table_beside(const std::string& path, const std::string& name) {
  for (const std::string& file : {name, name + ".gz"}) {
    const auto candidate = std::filesystem::path(path).parent_path() / file;
    if (input_exists(candidate.string())) return candidate.string();
  }
  return {};
}

/// The first column of the header with one of `names`, in lower case; `no_column` without one.
std::size_t column_of(const std::vector<Token>& header, std::initializer_list<std::string_view> names) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    std::string name(header[i].text);
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (std::find(names.begin(), names.end(), name) != names.end()) return i;
  }
  return no_column;
}

/// Rows of a table; `visit` gets the reader, the fields and the vertex of the account, -1 when it has no transaction.
template <class Columns, class Visit>
void read_table(const std::string& file, const EventGraph& graph, const Columns& columns, const Visit& visit) {
  TextReader reader(file);
  QuotedCsv csv;
  if (!reader.next()) reader.fail_file("the file is empty");
  const std::vector<Token>& header = csv.split(reader);
  const std::size_t width = header.size(), account = column_of(header, {"acct_id", "account_id"});
  if (account == no_column) reader.fail(1, "the table has no column acct_id or account_id");
  columns(reader, header);
  while (reader.next()) {
    const auto& fields = csv.split(reader);
    if (fields.size() != width)
      reader.fail(misplaced_column(reader.line(), fields, width),
                  fmt::format("expected {} columns, found {}", width, fields.size()));
    const std::int64_t id = reader.whole(fields[account], "account");
    visit(reader, fields, fields[account], find_vertex(graph, id));
  }
}

/// A flag, or a number of reports; one report is enough.
bool read_flag(const TextReader& reader, const Token& token) {
  std::string word(token.text);
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (word == "true" || word == "false") return word == "true";
  return reader.whole(token, "number of reports (or True or False)") > 0;
}

/// Flags [vertices] of accounts.csv: 0, 1, or -1 where the table has no flag.
std::vector<std::int8_t> flags_of(const std::string& file, EventGraph& graph) {
  std::vector<std::int8_t> flags(graph.vertices, -1);
  std::vector<bool> listed(flags.size(), false);
  std::size_t flag = no_column;
  std::int64_t idle = 0;
  read_table(
      file, graph,
      [&](const TextReader&, const std::vector<Token>& header) {
        flag = column_of(header, {"prior_sar_count", "is_sar", "is_fraud", "issar", "isfraud"});
      },
      [&](const TextReader& reader, const std::vector<Token>& fields, const Token& account, VertexId vertex) {
        const bool flagged = flag != no_column && read_flag(reader, fields[flag]);
        idle += vertex < 0;
        if (vertex < 0) return;
        const std::size_t v = vertex;
        if (listed[v]) reader.fail(account.column, fmt::format("account {} is listed twice", account.text));
        listed[v] = true;
        if (flag != no_column) flags[v] = flagged;
      });
  const auto missing = std::find(listed.begin(), listed.end(), false);
  if (missing != listed.end())
    throw InvalidInput(
        file, 0, 0,
        fmt::format("account {} has transactions but is not listed", graph.original_id[missing - listed.begin()]));
  if (idle > 0)
    graph.provenance.notes.push_back(
        fmt::format("{} accounts of {} have no transaction", idle, std::filesystem::path(file).filename().string()));
  return flags;
}

/// Accounts [vertices] of sar_accounts.csv, and how many rows repeat one.
std::vector<bool> reported_accounts(const std::string& file, const EventGraph& graph, std::int64_t& repeated) {
  std::vector<bool> reported(graph.vertices, false);
  read_table(
      file, graph, [](const TextReader&, const std::vector<Token>&) {},
      [&](const TextReader&, const std::vector<Token>&, const Token&, VertexId vertex) {
        if (vertex < 0) return;
        const std::size_t v = vertex;
        repeated += reported[v];
        reported[v] = true;
      });
  return reported;
}

}  // namespace

std::vector<std::string> amlsim_account_tables(const std::string& path) {
  std::vector<std::string> tables{table_beside(path, "accounts.csv"), table_beside(path, "sar_accounts.csv")};
  std::erase(tables, "");
  return tables;
}

void read_amlsim_accounts(const std::string& path, EventGraph& graph) {
  const std::string accounts = table_beside(path, "accounts.csv"), reports = table_beside(path, "sar_accounts.csv");
  std::vector<std::int8_t> flags(graph.vertices, -1);
  if (!accounts.empty()) flags = flags_of(accounts, graph);
  const bool flagged = std::find(flags.begin(), flags.end(), std::int8_t{-1}) == flags.end();
  if (!flagged && reports.empty()) return;
  std::int64_t repeated = 0, only_flagged = 0, only_reported = 0;
  const std::vector<bool> reported =
      reports.empty() ? std::vector<bool>(flags.size(), false) : reported_accounts(reports, graph, repeated);
  std::vector<std::int8_t> labels(flags.size(), 0);
  for (std::size_t v = 0; v < labels.size(); ++v) {
    labels[v] = flags[v] == 1 || reported[v];
    only_flagged += flags[v] == 1 && !reported[v];
    only_reported += flags[v] == 0 && reported[v];
  }
  const auto ones = std::count(labels.begin(), labels.end(), std::int8_t{1});
  std::string note = fmt::format("labels of accounts: {} of {} are 1", ones, labels.size());
  if (repeated > 0) note += fmt::format("; {} rows of sar_accounts.csv repeat an account", repeated);
  if (flagged && !reports.empty() && only_flagged + only_reported > 0)
    note += fmt::format("; {} are flagged in accounts.csv only and {} listed in sar_accounts.csv only, and count as 1",
                        only_flagged, only_reported);
  graph.provenance.notes.push_back(std::move(note));
  graph.vertex_label = std::move(labels);
}

}  // namespace strobe
