// In which fields two cases differ.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/row/row.hpp"

namespace strobe {

/// One field of a case: "strategy", "model.hidden", "ranks".
struct FieldDifference {
  std::string field;
  std::string a, b;  // values as typed; "-" where a side has no value
};

/// The leaves in which two cases differ. Where plug-ins differ in name, their parameters do not count.
std::vector<FieldDifference> differences_of(const Json& a, const Json& b);

/// The settings that --tune chose for the row's case, by path: {"model.hidden": 64}. Empty for other rows and for
/// trials, which differ in just these settings.
Json tuned_settings(const Row& row);

/// The row's case without the settings that --tune chose.
Json untuned_case_of(const Row& row);

/// A row, which must outlive this, and its case.
struct CaseOfRow {
  const Row* row = nullptr;
  Json json;
};
std::vector<CaseOfRow> cases_of(const std::vector<Row>& rows);

/// The first of `cases` that differs from `row` in the fewest fields: "the nearest case, CASE, has strategy snapshot
/// instead of vertex"; "" when `cases` is empty. Cost O(cases).
std::string nearest_text(const Row& row, const std::vector<CaseOfRow>& cases);

/// A case's value at a field as typed: "strategy" is its plug-in with the parameters that are given in brackets only
/// where `parameters`. Throws InvalidRequest("--by") for a field that cases do not have.
std::string value_at(const Json& case_json, const std::string& field, bool parameters = true);

/// The case without that field.
Json without_field(Json case_json, const std::string& field);

}  // namespace strobe
