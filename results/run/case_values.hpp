// values.jsonl: the losses and metrics of a case, one line for each row that was made of it. A line is written after
// the case's samples and before the row. A row with other values was changed.
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
/// times, for example after each round. Empty where the file is missing. Throws like for_each_json_line.
using CaseValues = std::map<std::string, std::vector<Json>>;
CaseValues read_case_values(const std::string& path);

/// Compares the row, as the file `summary` has it, with the lines of its case in `file`. Throws InvalidInput(summary,
/// ...) that names case and field when its losses or metrics differ from every line. A case without a line is not
/// checked.
void check_case_values(const Json& row, const std::string& summary, const CaseValues& values, const std::string& file);

}  // namespace strobe
