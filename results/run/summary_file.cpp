// summary.json: its rows carry digests. Their losses and metrics are compared with values.jsonl in the same folder.
#include <fmt/format.h>

#include <filesystem>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/json_reader.hpp"
#include "results/row/row.hpp"
#include "results/run/case_values.hpp"

namespace strobe {
namespace {

std::string major_of(const std::string& version) { return version.substr(0, version.find('.')); }

/// Throws InvalidInput for JSON that is no summary, or one of another major version. Version 1 is read too: it differs
/// only in the name of phase `host`.
void check_form(const Json& json, const std::string& path) {
  if (!json.is_object() || !json.contains("rows") || !json.contains("schema_version") || !json["rows"].is_array() ||
      !json["schema_version"].is_string()) {
    throw InvalidInput(path, 0, 0, "not a summary.json: schema_version or rows are missing");
  }
  const std::string version = json["schema_version"].get<std::string>(), known = summary_schema_version;
  if (major_of(version) != major_of(known) && major_of(version) != "1") {
    throw InvalidInput(path, 0, 0,
                       fmt::format("schema version {} cannot be read; this program knows {}", version, known));
  }
  if (json.contains("plan_hash") && !json["plan_hash"].is_string())
    throw InvalidInput(path, 0, 0, "not a summary.json: plan_hash is not text");
}

std::string name_of(const Json& row) {
  const Json id = row.is_object() ? row.value("case_id", Json()) : Json();
  return id.is_string() ? "the row of case " + id.get<std::string>() : "a row";
}

}  // namespace

Json summary_to_json(const Summary& summary) {
  Json rows = Json::array();
  for (const Row& row : summary.rows) rows.push_back(with_digest(row_to_json(row)));
  return {{"schema_version", summary_schema_version}, {"plan_hash", summary.plan_hash}, {"rows", rows}};
}

Summary read_summary(const std::string& path) {
  Json json = parse_json(read_regular_file(path), path);
  check_form(json, path);
  Summary summary;
  summary.plan_hash = json.value("plan_hash", "");
  const std::string values_path = (std::filesystem::path(path).parent_path() / "values.jsonl").string();
  const CaseValues values = read_case_values(values_path);
  bool proven = true;
  for (Json& row : json["rows"]) {
    check_case_values(row, path, values, values_path);
    proven = take_digest(row, path, name_of(row)) && proven;
    summary.rows.push_back(row_from_json(row, path));
  }
  if (!proven) note_unproven_file(path);
  return summary;
}

}  // namespace strobe
