#include "results/answer/kind_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.hpp"

namespace strobe {
namespace {

std::string fact_text(const FactField& field, double value) {
  if (field.unit == "bytes") return format_bytes(value);
  return field.unit == "s" ? format_seconds(value) : fmt::format("{:.4g}", value);
}

/// "a, b and c".
std::string enumerated(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

}  // namespace

KindFacts pooled_facts(const std::vector<const Row*>& rows) {
  KindFacts pooled;
  if (rows.empty()) return pooled;
  for (const auto& [key, value] : rows.front()->facts) {
    std::vector<Json> values;
    for (const Row* row : rows)
      if (const auto found = row->facts.find(key); found != row->facts.end()) values.push_back(found->second);
    if (values.size() < rows.size()) continue;
    const auto same = [&](const Json& other) { return other == values.front(); };
    if (std::all_of(values.begin(), values.end(), same)) {
      pooled[key] = value;
    } else if (std::all_of(values.begin(), values.end(), [](const Json& one) { return one.is_number(); })) {
      double sum = 0;
      for (const Json& one : values) sum += one.get<double>();
      pooled[key] = sum / static_cast<double>(values.size());
    }
  }
  return pooled;
}

std::vector<FactField> stated_facts(const std::vector<const KindFacts*>& all) {
  std::vector<FactField> stated;
  for (const auto& [name, entry] : FactsRegistry::instance().entries())
    for (const FactField& field : entry.value.fields)
      if (std::any_of(all.begin(), all.end(), [&](const KindFacts* facts) { return facts->count(field.key) != 0; }))
        stated.push_back(field);
  return stated;
}

std::vector<std::string> differing_facts(const std::vector<std::pair<std::string, const KindFacts*>>& named) {
  std::vector<const KindFacts*> all;
  for (const auto& [name, facts] : named) all.push_back(facts);
  std::vector<std::string> sentences;
  for (const FactField& field : stated_facts(all)) {
    std::vector<std::string> parts;
    bool differ = false;
    double first = 0;
    for (const auto& [name, facts] : named) {
      const auto found = facts->find(field.key);
      if (found == facts->end() || !found->second.is_number()) continue;
      const double value = found->second.get<double>();
      if (parts.empty()) first = value;
      differ = differ || value != first;
      parts.push_back(fmt::format("{} for {}", fact_text(field, value), name));
    }
    if (differ) sentences.push_back(fmt::format("{} is {}", field.key, enumerated(parts)));
  }
  return sentences;
}

}  // namespace strobe
