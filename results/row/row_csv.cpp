// Rows as flat CSV. The columns follow from the field table's schemas, so they are the same for every file of one
// schema version. A group gives one column per member. A plug-in gives its name and its parameters as JSON. Maps by
// names that are not fixed (metrics, those by operation) are JSON. Everything else gives one column.
#include <functional>
#include <nlohmann/json.hpp>

#include "results/row/row.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

struct Column {
  std::string name;
  std::function<Json(const Json&)> value;  // from the row's JSON
};

std::string cell(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    std::string joined;
    for (std::size_t i = 0; i < value.size(); ++i) joined += (i == 0 ? "" : ";") + cell(value[i]);
    return joined;
  }
  return value.dump();
}

Json member(const Json& value, const std::string& name) {
  return value.is_object() && value.contains(name) ? value.at(name) : Json(nullptr);
}

Json parameters_of(const Json& plugin) {
  Json result = Json::object();
  for (const auto& [key, value] : plugin.items()) {
    if (key != "name") result[key] = value;
  }
  return result;
}

void add_columns(const RowField& field, std::vector<Column>& columns) {
  const std::string key = field.key;
  const Json properties = field.schema.value("properties", Json::object());
  if (properties.empty()) {
    columns.push_back({key, [key](const Json& row) { return row.at(key); }});
  } else if (properties.size() == 1 && properties.contains("name")) {
    columns.push_back({key, [key](const Json& row) { return member(row.at(key), "name"); }});
    columns.push_back({key + "_parameters", [key](const Json& row) { return parameters_of(row.at(key)); }});
  } else {
    for (const auto& [name, schema] : properties.items()) {
      columns.push_back({key + "." + name, [key, name = name](const Json& row) { return member(row.at(key), name); }});
    }
  }
}

std::vector<Column> make_columns() {
  std::vector<Column> columns;
  for (const RowField& field : row_fields()) add_columns(field, columns);
  return columns;
}

}  // namespace

std::string rows_to_csv(const std::vector<Row>& rows) {
  const std::vector<Column> columns = make_columns();
  std::string csv;
  for (std::size_t i = 0; i < columns.size(); ++i) csv += (i == 0 ? "" : ",") + csv_for_people(columns[i].name);
  csv += "\r\n";
  for (const Row& row : rows) {
    const Json json = row_to_json(row);
    for (std::size_t i = 0; i < columns.size(); ++i)
      csv += (i == 0 ? "" : ",") + csv_for_people(cell(columns[i].value(json)));
    csv += "\r\n";
  }
  return csv;
}

}  // namespace strobe
