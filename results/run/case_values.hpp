// values.jsonl: the losses and metrics that a case came to, one line for each row that was made of it, written behind
// the case's samples and before the row. A row that says something else was changed.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/row/row.hpp"

namespace strobe {

/// The line of a row with a newline, or "" where it has neither losses nor metrics.
std::string values_line(const Row& row);

/// The lines of values.jsonl by case: {"loss", "metrics"} each. A case has several where its row was made several
/// times, as behind each round. Empty where the file is not there. Throws like for_each_json_line.
using CaseValues = std::map<std::string, std::vector<Json>>;
CaseValues read_case_values(const std::string& path);

/// Throws InvalidInput(summary, ...) that names case and field where the row, as it stands in the file `summary`, has
/// other losses or metrics than every line of its case in `file`. A case without a line is not looked at.
void check_case_values(const Json& row, const std::string& summary, const CaseValues& values, const std::string& file);

}  // namespace strobe
