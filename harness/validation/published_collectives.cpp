// Predicts each row with collective_seconds alone, for an even exchange, full buffers and ranks that begin together.
// Invariant: rows that gave the cluster file a constant judge nothing.
#include "harness/validation/published_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "backends/cluster.hpp"
#include "backends/sim/cost/collective_cost.hpp"
#include "core/errors.hpp"
#include "core/json_reader.hpp"
#include "core/system/program_files.hpp"
#include "core/units.hpp"
#include "harness/validation/report_cells.hpp"
#include "harness/validation/validation_report.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

CollectiveKind kind_of(const std::string& name) {
  for (int kind = 0; kind < static_cast<int>(std::size(collective_names)); ++kind) {
    if (collective_names[kind] == name) return static_cast<CollectiveKind>(kind);
  }
  throw Error("no such collective: " + name);
}

CollectiveRow read_row(const Json& json) {
  CollectiveRow row;
  row.collective = json.at("collective").get<std::string>();
  kind_of(row.collective);
  row.ranks = json.at("ranks").get<int>();
  row.bytes = json.at("bytes").get<std::uint64_t>();
  row.measured_seconds = json.at("seconds").get<double>();
  row.used = json.value("used", false);
  if (row.ranks < 2 || row.bytes == 0 || !(row.measured_seconds > 0)) throw Error("a row measures nothing");
  return row;
}

sim::CollectiveLoad load_of(const CollectiveRow& row, const sim::Topology& topology) {
  sim::CollectiveLoad load;
  load.kind = kind_of(row.collective);
  load.bytes = row.bytes;
  load.smallest_part_bytes = row.bytes / static_cast<std::uint64_t>(row.ranks);
  if (load.kind != CollectiveKind::all_to_all_v) return load;
  load.exchange = sim::ExchangeLoad(topology);
  for (int from = 0; from < row.ranks; ++from) {
    for (int to = 0; to < row.ranks; ++to) load.exchange.add(topology, from, to, load.smallest_part_bytes);
  }
  return load;
}

std::vector<double> errors_of(const CollectiveTable& table, bool used) {
  std::vector<double> errors;
  for (const CollectiveRow& row : table.rows) {
    if (row.used == used) errors.push_back(row.error);
  }
  return errors;
}

std::string size_text(std::uint64_t bytes) {
  if (bytes >= std::uint64_t{1} << 30) return fmt::format("{:g} GiB", static_cast<double>(bytes) / 0x1p30);
  if (bytes >= std::uint64_t{1} << 20) return fmt::format("{:g} MiB", static_cast<double>(bytes) / 0x1p20);
  return fmt::format("{:g} KiB", static_cast<double>(bytes) / 0x1p10);
}

std::string rows_text(const CollectiveTable& table) {
  TextTable text("collective|ranks>|bytes>|measured>|predicted>|error>|");
  for (const CollectiveRow& row : table.rows) {
    text.add({row.collective, std::to_string(row.ranks), size_text(row.bytes), format_seconds(row.measured_seconds),
              format_seconds(row.predicted_seconds), signed_percent(row.error), row.used ? "in the cluster file" : ""});
  }
  return fmt::format("{}: {}, on {}\n{}, read {}\n\n{}\n", table.name, table.description, table.cluster, table.source,
                     table.date, text.text());
}

}  // namespace

std::vector<CollectiveTable> read_collective_tables(const Json& json, const std::string& file) {
  std::vector<CollectiveTable> tables;
  try {
    for (const Json& one : json.at("tables")) {
      CollectiveTable table;
      for (const auto& [key, member] : {std::pair{"name", &CollectiveTable::name},
                                        {"description", &CollectiveTable::description},
                                        {"source", &CollectiveTable::source},
                                        {"date", &CollectiveTable::date},
                                        {"cluster", &CollectiveTable::cluster}}) {
        table.*member = one.at(key).get<std::string>();
      }
      for (const Json& row : one.at("rows")) table.rows.push_back(read_row(row));
      tables.push_back(std::move(table));
    }
  } catch (const std::exception& error) {
    throw InvalidInput(file, 0, 0, std::string("is no file of collective tables: ") + error.what());
  }
  return tables;
}

std::vector<CollectiveTable> load_collective_tables() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(program_folder(STROBE_PUBLISHED_DIR)) / "collectives")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<CollectiveTable> all;
  for (const fs::path& file : files) {
    const std::string text = read_regular_file(file.string());
    for (CollectiveTable& table : read_collective_tables(parse_json_or_discard(text), file.string())) {
      all.push_back(std::move(table));
    }
  }
  return all;
}

void predict(CollectiveTable& table) {
  const std::shared_ptr<const Cluster> cluster = load_cluster(table.cluster);
  for (CollectiveRow& row : table.rows) {
    const sim::Topology topology = sim::make_topology(*cluster, row.ranks);
    row.predicted_seconds = sim::collective_seconds(load_of(row, topology), topology);
    row.error = relative_error(row.predicted_seconds, row.measured_seconds);
  }
}

ErrorSummary summarise(const CollectiveTable& table, bool used) { return summarise_errors(errors_of(table, used)); }

ErrorSummary summarise(const std::vector<CollectiveTable>& tables) {
  std::vector<double> errors;
  for (const CollectiveTable& table : tables) {
    const std::vector<double> own = errors_of(table, false);
    errors.insert(errors.end(), own.begin(), own.end());
  }
  return summarise_errors(errors);
}

Json collectives_to_json(const std::vector<CollectiveTable>& tables) {
  Json json = {{"schema_version", "1.0.0"}, {"tables", Json::array()}, {"overall", errors_json(summarise(tables))}};
  for (const CollectiveTable& table : tables) {
    Json rows = Json::array();
    for (const CollectiveRow& row : table.rows) {
      rows.push_back({{"collective", row.collective},
                      {"ranks", row.ranks},
                      {"bytes", row.bytes},
                      {"measured_seconds", row.measured_seconds},
                      {"predicted_seconds", row.predicted_seconds},
                      {"error", row.error},
                      {"used", row.used}});
    }
    json["tables"].push_back({{"name", table.name},
                              {"source", table.source},
                              {"date", table.date},
                              {"cluster", table.cluster},
                              {"error", errors_json(summarise(table, false))},
                              {"error_of_used", errors_json(summarise(table, true))},
                              {"rows", rows}});
  }
  return json;
}

std::string collectives_text(const std::vector<CollectiveTable>& tables) {
  std::string text;
  TextTable summary("table|rows that judge>|mean>|max>|bias>|rows in the file>|mean>");
  const auto add = [&summary](const std::string& name, const ErrorSummary& own, const ErrorSummary& used) {
    summary.add({name, std::to_string(own.count), percent(own.mean_absolute), percent(own.max_absolute),
                 signed_percent(own.bias), std::to_string(used.count), percent(used.mean_absolute)});
  };
  for (const CollectiveTable& table : tables) {
    text += rows_text(table);
    add(table.name, summarise(table, false), summarise(table, true));
  }
  const ErrorSummary all = summarise(tables);
  return text + summary.text() +
         fmt::format("\ngoal: public measurements of collectives within 10 % on average: {} of {} rows, {}\n",
                     percent(all.mean_absolute), all.count, all.mean_absolute <= 0.10 ? "reached" : "not reached");
}

}  // namespace strobe
