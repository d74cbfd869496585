// Compares public measurements of collectives with the cost models of the cluster that they were taken on.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "harness/validation/agreement_statistics.hpp"

namespace strobe {

/// One measured time and its prediction.
struct CollectiveRow {
  std::string collective;  // all_reduce | all_gather_v | reduce_scatter | all_to_all_v | broadcast
  int ranks = 0;
  std::uint64_t bytes = 0;  // size of a rank's whole buffer, as nccl-tests count it
  double measured_seconds = 0;
  bool used = false;  // the row gave the cluster file a constant, so that it cannot judge a prediction
  double predicted_seconds = 0;
  double error = 0;
};

/// A table from one public source.
struct CollectiveTable {
  std::string name, description, source, date, cluster;
  std::vector<CollectiveRow> rows;
};

/// The tables of results/published/collectives, in the order of their files. Throws InvalidInput for a malformed file.
std::vector<CollectiveTable> load_collective_tables();

/// The tables of one document; `file` names it in errors.
std::vector<CollectiveTable> read_collective_tables(const Json& json, const std::string& file);

/// Predicts the rows. Cost: O(rows x ranks).
void predict(CollectiveTable& table);

/// Errors of the rows with this `used`. Rows that are not used judge the predictions.
ErrorSummary summarise(const CollectiveTable& table, bool used);

/// Errors of all rows that are not used.
ErrorSummary summarise(const std::vector<CollectiveTable>& tables);

Json collectives_to_json(const std::vector<CollectiveTable>& tables);
std::string collectives_text(const std::vector<CollectiveTable>& tables);

}  // namespace strobe
