#include <nlohmann/json.hpp>

#include "results/row/facts.hpp"
#include "results/row/row_codec.hpp"

namespace strobe {
namespace {

RowField row_field_of(const FactField& fact) {
  const std::string key = fact.key;
  RowField field{key, fact.unit, fact.help, row_codec::or_null(fact.schema), {}, {}};
  field.get = [key](const Row& row) {
    const auto found = row.facts.find(key);
    return found == row.facts.end() ? Json(nullptr) : found->second;
  };
  field.set = [key](Row& row, const Json& json) {
    if (json.is_null())
      row.facts.erase(key);
    else
      row.facts[key] = json;
  };
  field.later = true;
  return field;
}

}  // namespace

void Facts::set(const std::string& key, double value) { values[key] = row_codec::encode(value); }

Json fact_sections() {
  Json sections = Json::array();
  for (const auto& [name, entry] : FactsRegistry::instance().entries()) {
    if (entry.value.title.empty()) continue;
    Json fields = Json::array();
    for (const FactField& fact : entry.value.fields)
      fields.push_back({{"key", fact.key}, {"unit", fact.unit}, {"help", fact.help}});
    sections.push_back({{"title", entry.value.title}, {"fields", fields}});
  }
  return sections;
}

std::vector<RowField> row_codec::fact_fields() {
  std::vector<RowField> fields;
  for (const auto& [name, entry] : FactsRegistry::instance().entries())
    for (const FactField& fact : entry.value.fields) fields.push_back(row_field_of(fact));
  return fields;
}

}  // namespace strobe
