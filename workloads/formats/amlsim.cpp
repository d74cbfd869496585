// AMLSim transactions, with two sets of columns: "sourceNodeId,targetNodeId,value,time" (sample runs) and the 2018
// tx.csv "TXN_ID,ACCOUNT_ID,COUNTER_PARTY_ACCOUNT_NUM,TXN_SOURCE_TYPE_CODE,tx_count,TXN_AMOUNT_ORIG,start,end". Returns
// one event per transaction at its integer step (`stepped`); the amount is the weight. When nodes.csv or nodes.csv.gz
// ("nodeid,isFraud,...") lies in the same folder, vertices get its isFraud as label.
// Cost: one pass over each file.
// Source: github.com/IBM/AMLSim, sample/ and sample/outputs/.
#include <algorithm>
#include <filesystem>
#include <limits>

#include "core/errors.hpp"
#include "workloads/graph/plugins.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/text/blanks.hpp"
#include "workloads/reading/text/inputs.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr std::string_view sample_header = "sourceNodeId,targetNodeId,value,time";
constexpr std::string_view outputs_header =
    "TXN_ID,ACCOUNT_ID,COUNTER_PARTY_ACCOUNT_NUM,TXN_SOURCE_TYPE_CODE,tx_count,TXN_AMOUNT_ORIG,start,end";

int probe_amlsim(std::string_view head, std::string_view) {
  const std::string line = header_names(first_line(head));
  return line == sample_header || line == outputs_header ? 100 : 0;
}

double read_step(const TextReader& reader, const Token& token) {
  const std::int64_t step = reader.whole(token, "step");
  if (step > std::numeric_limits<Step>::max())
    reader.fail(token.column, "step " + printable(token.text) + " is beyond 2^31 - 1");
  return static_cast<double>(step);
}

void add_sample_row(TextReader& reader, EventBuilder& events) {
  const auto& fields = reader.split_commas();
  if (fields.size() != 4)
    reader.fail(misplaced_column(reader.line(), fields, 4),
                "expected 4 columns, found " + std::to_string(fields.size()));
  const std::int64_t source = reader.whole(fields[0], "source account");
  const std::int64_t target = reader.whole(fields[1], "target account");
  events.add_weight(reader.weight(fields[2]));
  events.add(source, target, read_step(reader, fields[3]));
}

void add_outputs_row(TextReader& reader, EventBuilder& events) {
  const auto& fields = reader.split_commas();
  if (fields.size() != 8)
    reader.fail(misplaced_column(reader.line(), fields, 8),
                "expected 8 columns, found " + std::to_string(fields.size()));
  reader.whole(fields[0], "transaction id");
  const std::int64_t source = reader.whole(fields[1], "source account");
  const std::int64_t target = reader.whole(fields[2], "target account");
  if (fields[3].text.empty()) reader.fail(fields[3].column, "the transaction type is missing");
  reader.whole(fields[4], "transaction count", 1);
  events.add_weight(reader.weight(fields[5]));
  const double begin = read_step(reader, fields[6]);
  if (read_step(reader, fields[7]) < begin) reader.fail(fields[7].column, "the transaction ends before it starts");
  events.add(source, target, begin);
}

/// The account table in the folder of the transactions, or "".
std::string account_table(const std::string& path) {
  for (const char* name : {"nodes.csv", "nodes.csv.gz"}) {
    const auto candidate = std::filesystem::path(path).parent_path() / name;
    if (input_exists(candidate.string())) return candidate.string();
  }
  return {};
}

std::vector<std::string> companions_amlsim(const std::string& path) {
  const std::string file = account_table(path);
  return file.empty() ? std::vector<std::string>() : std::vector{file};
}

std::int8_t read_flag_amlsim(const TextReader& reader, const Token& token) {
  if (token.text == "0" || token.text == "false") return 0;
  if (token.text == "1" || token.text == "true") return 1;
  reader.fail(token.column, "isFraud must be 0 or 1, found '" + printable(token.text) + "'");
}

void read_labels(const std::string& path, EventGraph& graph) {
  constexpr std::int8_t unknown = -1;
  TextReader reader(path);
  if (!reader.next() || header_names(reader.line()).substr(0, 14) != "nodeid,isFraud") {
    throw InvalidInput(path, 1, 1, "an account table begins with the columns nodeid,isFraud");
  }
  const std::size_t columns = reader.split_commas().size();
  graph.vertex_label.assign(graph.vertices, unknown);
  std::int64_t absent = 0;
  while (reader.next()) {
    const auto& fields = reader.split_commas();
    if (fields.size() != columns) {
      reader.fail(misplaced_column(reader.line(), fields, columns),
                  "expected " + std::to_string(columns) + " columns, found " + std::to_string(fields.size()));
    }
    const std::int64_t id = reader.whole(fields[0], "account");
    const std::int8_t flag = read_flag_amlsim(reader, fields[1]);
    const auto at = std::lower_bound(graph.original_id.begin(), graph.original_id.end(), id);
    if (at == graph.original_id.end() || *at != id) {
      ++absent;
      continue;
    }
    std::int8_t& label = graph.vertex_label.edit()[at - graph.original_id.begin()];
    if (label != unknown) reader.fail(fields[0].column, "account " + std::to_string(id) + " is listed twice");
    label = flag;
  }
  const auto missing = std::find(graph.vertex_label.begin(), graph.vertex_label.end(), unknown);
  if (missing != graph.vertex_label.end()) {
    const std::int64_t id = graph.original_id[missing - graph.vertex_label.begin()];
    throw InvalidInput(path, 0, 0, "account " + std::to_string(id) + " has transactions but is not listed");
  }
  if (absent > 0)
    graph.provenance.notes.push_back(std::to_string(absent) + " accounts of the account table have no transaction");
}

EventGraph read_amlsim(const std::string& path) {
  TextReader reader(path);
  if (!reader.next()) reader.fail_file("the file is empty");
  const std::string names = header_names(reader.line());
  const bool sample = names == sample_header;
  if (!sample && names != outputs_header) {
    reader.fail(1, "expected the header " + std::string(sample_header) + " or TXN_ID,ACCOUNT_ID,...");
  }
  EventBuilder events;
  parse_rows(reader, events, [sample](TextReader& lines, EventBuilder& rows) {
    while (lines.next()) sample ? add_sample_row(lines, rows) : add_outputs_row(lines, rows);
  });
  EventGraph graph = events.finish(path, "amlsim");
  graph.stepped = true;
  const std::string accounts = account_table(path);
  if (!accounts.empty()) read_labels(accounts, graph);
  return graph;
}

const Register<FormatTag> amlsim_registered{
    {"amlsim",
     "AMLSim transactions (csv), with account labels from nodes.csv in the same folder",
     "Weber et al., Scalable Graph Learning for Anti-Money Laundering, 2018; "
     "github.com/IBM/AMLSim",
     {},
     {probe_amlsim, read_amlsim, nullptr, companions_amlsim},
     {}}};

}  // namespace
}  // namespace strobe
