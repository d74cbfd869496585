#include "results/row/row_groups.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "results/row/statistics.hpp"

namespace strobe {
namespace {

constexpr const char* plugin_slots[] = {"workload", "model", "strategy", "task", "optimizer"};
constexpr const char* scalars_first[] = {"ranks", "seed", "device", "cluster", "precision", "time_source"};

std::string text_of_setting(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

bool is_slot(const std::string& key) {
  return std::any_of(std::begin(plugin_slots), std::end(plugin_slots), [&](const char* slot) { return key == slot; });
}

/// The key of the plug-in that has this parameter, "" for a key that is no parameter.
std::string slot_of_parameter(const std::string& key) {
  const std::size_t dot = key.find('.');
  return dot != std::string::npos && is_slot(key.substr(0, dot)) ? key.substr(0, dot) : "";
}

using Keys = std::map<std::string, std::string>;

bool varies(const std::string& key, const std::vector<Keys>& all) {
  std::map<std::string, std::set<std::string>> values;  // by plug-in
  const std::string slot = slot_of_parameter(key);
  for (const Keys& keys : all) {
    if (const auto found = keys.find(key); found != keys.end())
      values[slot.empty() ? "" : keys.at(slot)].insert(found->second);
  }
  return std::any_of(values.begin(), values.end(), [](const auto& entry) { return entry.second.size() > 1; });
}

/// Whether rows that agree in `other` agree in `key`, too.
bool follows_from(const std::string& key, const std::string& other, const std::vector<Keys>& all) {
  std::map<std::string, std::string> known;
  for (const Keys& keys : all) {
    const auto own = keys.find(key), by = keys.find(other);
    if (own == keys.end() || by == keys.end()) continue;
    if (known.emplace(by->second, own->second).first->second != own->second) return false;
  }
  return true;
}

/// Plug-ins, then scalars that everybody knows, then parameters and settings by name.
std::size_t place_of_key(const std::string& key) {
  std::size_t place = 0;
  for (const char* slot : plugin_slots) {
    if (key == slot) return place;
    ++place;
  }
  for (const char* scalar : scalars_first) {
    if (key == scalar) return place;
    ++place;
  }
  return place;
}

}  // namespace

std::map<std::string, std::string> case_keys_of(const Row& row) {
  Keys keys{{"time_source", row.time_source}};
  const Json json = case_json_of(row);
  for (const auto& [key, value] : json.items()) {
    if (!value.is_object()) {
      keys[key] = text_of_setting(value);
      continue;
    }
    for (const auto& [inner, parameter] : value.items())
      keys[inner == "name" ? key : key + "." + inner] = text_of_setting(parameter);
    keys.try_emplace(key, "");
  }
  return keys;
}

std::vector<std::string> varied_keys(const std::vector<Row>& rows) {
  std::vector<Keys> all;
  std::set<std::string> known;
  for (const Row& row : rows) {
    all.push_back(case_keys_of(row));
    for (const auto& [key, value] : all.back()) known.insert(key);
  }
  std::vector<std::string> varied;
  for (const std::string& key : known)
    if (varies(key, all)) varied.push_back(key);
  std::stable_sort(varied.begin(), varied.end(),
                   [](const auto& a, const auto& b) { return place_of_key(a) < place_of_key(b); });
  const auto has = [&](const char* key) { return std::find(varied.begin(), varied.end(), key) != varied.end(); };
  for (const auto& [key, other] : {std::pair{"comm", "device"},
                                   {"numerics", "device"},
                                   {"time_source", "device"},
                                   {"task", "model"},
                                   {"optimizer.rate", "model"}}) {
    if (has(key) && has(other) && follows_from(key, other, all)) std::erase(varied, key);
  }
  return varied;
}

std::vector<RowGroup> group_rows(const std::vector<Row>& rows, const std::vector<std::string>& keys) {
  std::vector<RowGroup> groups;
  std::map<std::vector<std::string>, std::size_t> places;
  for (const Row& row : rows) {
    Keys own = case_keys_of(row);
    std::vector<std::string> values;
    for (const std::string& key : keys) values.push_back(own.count(key) != 0 ? own.at(key) : "");
    const auto [place, fresh] = places.emplace(values, groups.size());
    if (fresh) groups.push_back({{}, std::move(own)});
    groups[place->second].rows.push_back(&row);
  }
  return groups;
}

Spread spread_of(const std::vector<double>& values, bool interval) {
  Spread spread;
  double sum = 0, squares = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++spread.n;
  }
  if (spread.n == 0) return spread;
  spread.mean = sum / static_cast<double>(spread.n);
  for (const double value : values)
    if (std::isfinite(value)) squares += (value - spread.mean) * (value - spread.mean);
  if (spread.n < 2) return spread;
  const auto n = static_cast<double>(spread.n);
  spread.deviation = std::sqrt(squares / (n - 1));
  if (interval) spread.deviation *= student_t_quantile(0.975, n - 1) / std::sqrt(n);
  return spread;
}

const char* spread_words(bool interval) {
  return interval ? "half the 95 % interval of the mean (Student's t)" : "standard deviation";
}

}  // namespace strobe
