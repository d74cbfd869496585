#include "harness/measure/tuning/trial_draws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "core/random.hpp"
#include "harness/request/case_slots.hpp"

namespace strobe {
namespace {

constexpr std::uint32_t trial_draws = 53;  // purpose of a random stream
constexpr const char* tuned_slots[] = {"model", "optimizer"};
constexpr std::int64_t most_draws_per_trial = 1000;

RandomStream stream_of(const OpenSettingOfTrial& setting, std::uint64_t seed) {
  const std::string key = sha256_hex(setting.path()).substr(0, 8);
  return {seed, trial_draws, static_cast<std::uint32_t>(std::stoul(key, nullptr, 16))};
}

Json value_of_text(const OpenSettingOfTrial& setting, const std::string& text) {
  if (setting.type == FieldType::integer) return static_cast<std::int64_t>(std::stoll(text));
  if (setting.type == FieldType::real) return std::strtod(text.c_str(), nullptr);
  if (setting.type == FieldType::boolean) return text == "true";
  return text;
}

Json value_in_range(const OpenSettingOfTrial& setting, const std::string& text, std::size_t dots, double share) {
  const double low = std::log(std::strtod(text.substr(0, dots).c_str(), nullptr));
  const double high = std::log(std::strtod(text.substr(dots + 2).c_str(), nullptr));
  const double value = std::exp(low + share * (high - low));
  if (setting.type == FieldType::integer) return static_cast<std::int64_t>(std::llround(value));
  return std::strtod(fmt::format("{:.2e}", value).c_str(), nullptr);
}

}  // namespace

std::vector<OpenSettingOfTrial> open_settings_of(const Case& c,
                                                 const std::function<bool(const OpenSettingOfTrial&)>& is_given) {
  std::vector<OpenSettingOfTrial> open;
  for (const char* const name : tuned_slots) {
    const CaseSlot& slot = *find_case_slot(name);
    const Json& chosen = c.*slot.member;
    if (!chosen.contains("name")) continue;
    const FieldTable table = slot.fields(chosen.at("name").get<std::string>(), "/" + slot.name);
    for (const Field& field : table.fields()) {
      if (!field.searched) continue;
      OpenSettingOfTrial setting{slot.name, field.name, field.type, field.searched(false)};
      if (!setting.values.empty() && !is_given(setting)) open.push_back(std::move(setting));
    }
  }
  return open;
}

Json drawn_value(const OpenSettingOfTrial& setting, std::uint64_t seed, std::int64_t number) {
  const double share = stream_of(setting, seed).uniform(static_cast<std::uint64_t>(number));
  const std::string& first = setting.values.front();
  if (const std::size_t dots = first.find(".."); setting.values.size() == 1 && dots != std::string::npos)
    return value_in_range(setting, first, dots, share);
  const auto at = static_cast<std::size_t>(share * static_cast<double>(setting.values.size()));
  return value_of_text(setting, setting.values[at]);
}

std::vector<Json> trial_settings(const Case& c, const std::vector<OpenSettingOfTrial>& open, std::int64_t trials) {
  const Json own = case_to_json(c);
  Json first = Json::object();
  for (const OpenSettingOfTrial& setting : open) first[setting.path()] = own.at(setting.slot).at(setting.field);
  std::vector<Json> all{first};
  for (std::int64_t number = 0; number < trials * most_draws_per_trial; ++number) {
    if (static_cast<std::int64_t>(all.size()) == trials) break;
    Json drawn = Json::object();
    for (const OpenSettingOfTrial& setting : open)
      drawn[setting.path()] = drawn_value(setting, static_cast<std::uint64_t>(c.seed), number);
    if (std::find(all.begin(), all.end(), drawn) == all.end()) all.push_back(std::move(drawn));
  }
  return all;
}

Case with_settings(const Case& c, const Json& settings) {
  Json json = case_to_json(c);
  for (const auto& [path, value] : settings.items()) {
    const std::size_t dot = path.find('.');
    json[path.substr(0, dot)][path.substr(dot + 1)] = value;
  }
  return case_from_json(json, "");
}

}  // namespace strobe
