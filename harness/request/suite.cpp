// Expands suites. Returns cases in file order. A matrix is the cartesian product of its lists; the last key varies
// fastest. Invariant: every value of a case records the place that set it, so an error names that place and not the
// expansion. Cost: cases x keys.
#include "harness/request/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <utility>

#include "backends/device.hpp"
#include "core/errors.hpp"
#include "harness/placement/staleness.hpp"
#include "harness/request/case_slots.hpp"
#include "harness/request/impossible.hpp"
#include "harness/request/json_text.hpp"
#include "harness/request/schedule_tag.hpp"
#include "harness/request/suite_files.hpp"
#include "harness/request/suite_tree.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

bool is_comment(const std::string& key) { return key == "description" || key == "$comment"; }

void check_keys(const Json& object, const std::vector<std::string>& known, const std::string& pointer) {
  if (!object.is_object()) throw InvalidRequest(pointer, "expected a JSON object, found " + object.dump());
  Complaints complaints;
  for (const auto& item : object.items()) {
    const std::string& key = item.key();
    if (is_comment(key) || std::find(known.begin(), known.end(), key) != known.end()) continue;
    complaints.hear([&] { throw InvalidRequest(pointer + "/" + key, unknown_name_message("key", key, known)); });
  }
  complaints.raise();
}

std::string text_of(const Json& json, const std::string& key) {
  if (!json.contains(key)) return "";
  if (!json.at(key).is_string()) throw InvalidRequest("/" + key, "expected text, found " + json.at(key).dump());
  return json.at(key).get<std::string>();
}

bool flag_of(const Json& json, const std::string& key) {
  const Json value = json.value(key, Json(false));
  if (!value.is_boolean()) throw InvalidRequest("/" + key, "expected true or false, found " + value.dump());
  return value.get<bool>();
}

std::string name_of(const Json& suite) {
  const std::string name = text_of(suite, "name");
  if (name.find('/') == std::string::npos && name.rfind('.', 0) != 0) return name;
  throw InvalidRequest(
      "/name", fmt::format("'{}' becomes part of a folder's name, so it must not hold '/' or begin with '.'", name));
}

/// One value for each key of the matrix.
using Combination = std::vector<std::pair<std::string, Json>>;

std::vector<Combination> combinations(const Json& matrix, const std::string& pointer) {
  if (!matrix.is_object()) throw InvalidRequest(pointer, "expected an object of lists, found " + matrix.dump());
  std::vector<Combination> result{{}};
  for (const auto& [key, values] : matrix.items()) {
    if (is_comment(key)) continue;
    if (!values.is_array() || values.empty()) {
      throw InvalidRequest(pointer + "/" + key, "expected a list of at least one value, found " + values.dump());
    }
    if (result.size() * values.size() > most_cases) {
      throw InvalidRequest(pointer,
                           fmt::format("more than {} cases; split the suite, or give fewer values", most_cases));
    }
    std::vector<Combination> longer;
    for (const Combination& shorter : result) {
      for (const Json& value : values) {
        longer.push_back(shorter);
        longer.back().emplace_back(key, value);
      }
    }
    result = std::move(longer);
  }
  return result;
}

bool excluded(const CaseTree& tree, const Json& excludes, const std::string& pointer) {
  if (!excludes.is_array()) throw InvalidRequest(pointer, "expected a list of objects, found " + excludes.dump());
  bool found = false;
  for (std::size_t i = 0; i < excludes.size(); ++i) {
    const std::string here = fmt::format("{}/{}", pointer, i);
    if (!excludes[i].is_object()) throw InvalidRequest(here, "expected an object, found " + excludes[i].dump());
    bool matches = true, conditions = false;
    for (const auto& [key, value] : excludes[i].items()) {
      if (is_comment(key)) continue;
      conditions = true;
      matches = holds(tree, key, value, here + "/" + key) && matches;
    }
    if (!conditions) throw InvalidRequest(here, "an empty exclusion would leave no case");
    found = found || matches;
  }
  return found;
}

/// The typed value of a setting. It is a number or a boolean only if the field is.
Json setting_value(const CaseTree& tree, const Setting& setting) {
  const std::vector<std::string> parts = split_path(setting.path, setting.origin);
  const CaseSlot* slot = find_case_slot(parts.front());
  const std::string& key = parts.back();
  if (slot != nullptr && (parts.size() == 1 || key == "name")) return setting.text;
  if (parts.front() == "cluster" && parts.size() == 2) return setting.text;
  FieldTable table = case_fields();
  if (slot != nullptr) {
    const Json held = tree.json.contains(slot->name) ? tree.json.at(slot->name) : Json::object();
    const Json name = held.value("name", Json(default_plugin(*slot, tree.json.value("model", Json()))));
    table = slot->fields(name.is_string() ? name.get<std::string>() : "", setting.origin);
  }
  // A strategy without halos refuses `stale`, `servers` and `halo` later, when the case is complete, and names
  // strategies with them.
  const bool of_halos =
      slot != nullptr && slot->name == "strategy" && (key == "stale" || key == "servers" || key == "halo");
  if (of_halos && !has_stale_fields(table)) return setting.text;
  if (!table.make_default) throw InvalidRequest(setting.origin, unknown_name_message("parameter", key, {}));
  const std::shared_ptr<void> object = table.make_default();
  try {
    table.apply(object.get(), Json{{key, setting.text}}, "", true);
  } catch (const InvalidRequest& error) {
    throw InvalidRequest(setting.origin, error.message());
  }
  return key == preset_key ? Json(setting.text) : table.to_json(object.get()).at(key);
}

/// The place that set the value at `where` or at the nearest level above it. For a default, no place is known, so this
/// names the case's own place.
std::string blame(const std::map<std::string, std::string>& origin, const std::string& where) {
  for (std::string at = where; !at.empty(); at = at.substr(0, at.rfind('/'))) {
    if (const auto found = origin.find(at); found != origin.end()) return found->second;
  }
  const auto place = origin.find("");
  return place == origin.end() ? "--" + where.substr(1, where.find('/', 1) - 1) : place->second + where;
}

/// The inputs of an expansion, in addition to the suite.
struct Expansion {
  const std::vector<Setting>& settings;
  CaseRuns runs = CaseRuns::here;
  ImpossibleCases impossible = ImpossibleCases::refused;
  std::string folder;  // of the suite's file; "" = the working folder
};

InvalidRequest blamed(const CaseTree& tree, const InvalidRequest& error) {
  return error.each([&tree](const InvalidRequest& one) {
    const std::string& where = one.where();
    return where.empty() || where.front() != '/' ? one : InvalidRequest(blame(tree.origin, where), one.message());
  });
}

/// The case of the tree. `refusal` gets the reason why a kept case cannot run.
Case make_case(const CaseTree& tree, const Expansion& how, std::optional<InvalidRequest>& refusal) {
  try {
    if (how.impossible == ImpossibleCases::refused) return case_from_json(tree.json, "", how.runs);
    Case c = case_or_refusal(tree.json, "", how.runs, refusal);
    if (refusal) refusal = blamed(tree, *refusal);
    return c;
  } catch (const InvalidRequest& error) {
    throw blamed(tree, error);
  }
}

void add_case(Suite& suite, std::map<std::string, std::string>& seen, const CaseTree& tree, const std::string& pointer,
              const Expansion& how) {
  std::optional<InvalidRequest> refusal;
  Case c = make_case(tree, how, refusal);
  const auto [known, fresh] = seen.emplace(case_to_json(c).dump(), pointer);
  if (fresh) {
    if (refusal) suite.impossible.emplace(case_id(c), *refusal);
    suite.origins[case_id(c)] = tree.origin;
    suite.cases.push_back(std::move(c));
  } else if (!how.settings.empty()) {
    ++suite.merged;
  } else {
    throw InvalidRequest(pointer, fmt::format("expands to {}, which {} already does", case_id(c), known->second));
  }
}

void check_unique_paths(const std::vector<Setting>& settings) {
  std::map<std::string, const Setting*> seen;
  for (const Setting& setting : settings) {
    const std::string path = find_case_slot(setting.path) != nullptr ? setting.path + ".name" : setting.path;
    const auto [known, fresh] = seen.emplace(path, &setting);
    if (!fresh) {
      throw InvalidRequest(setting.origin,
                           fmt::format("'{}' was already set by {}", setting.path, known->second->origin));
    }
  }
}

/// Names come first, because they decide which parameters exist. Presets follow, so that single parameters win. Draws
/// come last, because a measuring device passes over them.
int turn_of(const Setting& setting) {
  const std::string& path = setting.path;
  if (setting.origin == draws_flag) return 3;
  if (find_case_slot(path) != nullptr || path.ends_with(".name") || path == "cluster") return 0;
  return path.ends_with(std::string(".") + preset_key) ? 1 : 2;
}

/// Whether a flag is about predicted cases only, and this one is measured. Such a flag passes over it, unless its value
/// is no number: every case refuses that.
bool passes_over(const CaseTree& tree, const Setting& setting) {
  if (setting.origin != draws_flag || setting.text.find_first_not_of("0123456789") != std::string::npos) return false;
  const Json device = tree.json.value("device", Json(Case().device));
  const DeviceRegistry& known = DeviceRegistry::instance();
  return device.is_string() && known.contains(device) && !known.find(device).value.needs_cluster();
}

void apply_settings(CaseTree& tree, const std::vector<Setting>& settings) {
  for (const int turn : {0, 1, 2, 3}) {
    for (const Setting& setting : settings) {
      if (turn_of(setting) == turn && !passes_over(tree, setting))
        set_path(tree, setting.path, setting_value(tree, setting), setting.origin, true);
    }
  }
}

void expand_case(Suite& suite, std::map<std::string, std::string>& seen, const Json& json, const Json& entry,
                 const std::string& pointer, const Expansion& how) {
  if (!entry.is_object()) throw InvalidRequest(pointer, "expected a case object, found " + entry.dump());
  Json own = entry;
  own.erase("matrix");
  own.erase("exclude");
  CaseTree base{Json::object(), {{"", pointer}}};
  if (json.contains("defaults")) lay_over(base, json.at("defaults"), "/defaults");
  lay_over(base, own, pointer);
  const Json matrix = entry.value("matrix", Json::object());
  for (const Combination& combination : combinations(matrix, pointer + "/matrix")) {
    CaseTree tree = base;
    for (const auto& [key, value] : combination) set_path(tree, key, value, pointer + "/matrix/" + key, false);
    apply_settings(tree, how.settings);
    take_files_of_suite(tree, how.folder);
    if (excluded(tree, entry.value("exclude", Json::array()), pointer + "/exclude")) continue;
    add_case(suite, seen, tree, pointer, how);
  }
}

}  // namespace

Suite expand_suite(const Json& json, const std::vector<Setting>& settings, CaseRuns runs, ImpossibleCases impossible,
                   const std::string& folder) {
  check_unique_paths(settings);
  if (!json.is_object()) throw InvalidRequest("", "expected a JSON object, found " + json.dump());
  Suite suite;
  Complaints complaints;
  complaints.hear([&] { check_keys(json, {"$schema", "name", "learning_required", "defaults", "cases"}, ""); });
  complaints.hear([&] { suite.name = name_of(json); });
  complaints.hear([&] { suite.description = text_of(json, "description"); });
  complaints.hear([&] { suite.learning_required = flag_of(json, "learning_required"); });
  const Json cases = json.value("cases", Json());
  if (!cases.is_array() || cases.empty())
    complaints.hear([] { throw InvalidRequest("/cases", "a suite needs a list of at least one case"); });
  std::map<std::string, std::string> seen;
  for (std::size_t i = 0; cases.is_array() && i < cases.size(); ++i) {
    complaints.hear([&] {
      expand_case(suite, seen, json, cases[i], fmt::format("/cases/{}", i), {settings, runs, impossible, folder});
    });
  }
  complaints.raise();
  if (suite.cases.empty()) throw InvalidRequest("/cases", "every case is excluded, so there is nothing to run");
  return suite;
}

Suite load_suite(const std::string& path, const std::vector<Setting>& settings, CaseRuns runs,
                 ImpossibleCases impossible) {
  const Json json = read_json_file(path);
  if (!json.is_object()) throw InvalidInput(path, 0, 0, "is not a suite: it holds no JSON object");
  try {
    Suite suite = expand_suite(json, settings, runs, impossible, std::filesystem::path(path).parent_path().string());
    if (suite.name.empty()) suite.name = std::filesystem::path(path).stem().string();
    return suite;
  } catch (const InvalidRequest& error) {
    throw error.each([&path](const InvalidRequest& one) {
      const bool in_file = one.where().rfind('/', 0) == 0;  // else it is a setting outside the file
      return in_file ? InvalidRequest(path + "#" + one.where(), one.message()) : one;
    });
  }
}

Suite suite_from_settings(const std::vector<Setting>& settings, ImpossibleCases impossible) {
  check_unique_paths(settings);
  CaseTree tree{Json::object(), {}};
  apply_settings(tree, settings);
  Suite suite;
  std::optional<InvalidRequest> refusal;
  suite.cases.push_back(make_case(tree, {settings, CaseRuns::here, impossible, ""}, refusal));
  const std::string id = case_id(suite.cases.front());
  if (refusal) suite.impossible.emplace(id, *refusal);
  suite.origins[id] = tree.origin;
  suite.name = id.substr(0, id.find('/'));
  return suite;
}

void refuse_if_all_impossible(const Suite& suite) {
  const InvalidRequest* first = nullptr;
  for (const Case& c : suite.cases) {
    const auto refusal = suite.impossible.find(case_id(c));
    if (refusal == suite.impossible.end()) return;
    if (first == nullptr) first = &refusal->second;
  }
  if (first == nullptr) return;
  if (suite.cases.size() == 1) throw *first;
  throw InvalidRequest(first->where(), fmt::format("none of the {} cases can run; of {}: {}", suite.cases.size(),
                                                   case_id(suite.cases.front()), first->message()));
}

std::string Suite::place_of(const std::string& id, const std::string& pointer) const {
  const auto known = origins.find(id);
  if (known == origins.end() || pointer.empty() || pointer.front() != '/') return pointer;
  return blame(known->second, pointer);
}

std::function<bool(const std::string&)> id_filter(const std::string& pattern) {
  if (pattern.empty()) return [](const std::string&) { return true; };
  const bool negated = pattern.front() == '-';
  try {
    const std::regex wanted(negated ? pattern.substr(1) : pattern);
    return [wanted, negated](const std::string& id) { return std::regex_search(id, wanted) != negated; };
  } catch (const std::regex_error& error) {
    throw InvalidRequest("--filter", fmt::format("'{}' is not a regular expression: {}", pattern, error.what()));
  }
}

void filter_cases(Suite& suite, const std::string& pattern) {
  const auto wanted = id_filter(pattern);
  std::erase_if(suite.cases, [&](const Case& c) { return !wanted(case_id(c)); });
  if (suite.cases.empty()) throw InvalidRequest("--filter", fmt::format("no case matches '{}'", pattern));
}

Json plan_json(const std::vector<Case>& cases) {
  Json all = Json::array();
  for (const Case& c : cases) all.push_back(case_to_json(c));
  return all;
}

Json data_digests(const std::vector<Case>& cases) {
  Json all = Json::object();
  std::set<std::array<std::string, 3>> seen;
  std::set<Json> models, strategies;
  for (const Case& c : cases) {
    if (strategies.insert(c.strategy).second) all.update(owners_digests(c.strategy));
    if (models.insert(c.model).second) all.update(model_digests(c.model));
    const std::string name = c.workload.at("name");
    // For files, these options are text. A generator may have numeric options with the same names.
    const auto text = [&](const char* key) {
      const Json value = c.workload.value(key, Json());
      return value.is_string() ? value.get<std::string>() : "";
    };
    const std::string features = text("features");
    if (!seen.insert({name, features, text("format")}).second) continue;
    const Json digests = workload_digests(name, c.workload);
    for (const auto& [key, digest] : digests.items()) {
      all[key == "name" ? name : key == "features" ? features : name + ", " + key] = digest;
    }
  }
  return all;
}

}  // namespace strobe
