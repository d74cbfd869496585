// Public measurements of collectives, held against the cost models of the cluster that they were taken on.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "harness/validation/agreement_statistics.hpp"

namespace strobe {

/// One measured time, and what the simulator says of it.
struct CollectiveRow {
  std::string collective;  // all_reduce | all_gather_v | reduce_scatter | all_to_all_v | broadcast
  int ranks = 0;
  std::uint64_t bytes = 0;  // of a rank's buffer, all parts together, as nccl-tests count its size
  double measured_seconds = 0;
  bool used = false;  // a constant of the cluster file is from this row, which therefore judges nothing
  double predicted_seconds = 0;
  double error = 0;
};

/// A public table of one source.
struct CollectiveTable {
  std::string name, description, source, date, cluster;
  std::vector<CollectiveRow> rows;
};

/// The tables of results/published/collectives, in the order of their files. Throws InvalidInput for a file that holds
/// something else.
std::vector<CollectiveTable> load_collective_tables();

/// The same of one document; `file` names it in errors.
std::vector<CollectiveTable> read_collective_tables(const Json& json, const std::string& file);

/// Predicts the rows. Cost: O(rows x ranks).
void predict(CollectiveTable& table);

/// Errors of a table's rows that judge, or of those that were used.
ErrorSummary summarise(const CollectiveTable& table, bool used);

/// Errors of all rows that judge.
ErrorSummary summarise(const std::vector<CollectiveTable>& tables);

Json collectives_to_json(const std::vector<CollectiveTable>& tables);
std::string collectives_text(const std::vector<CollectiveTable>& tables);

}  // namespace strobe
