#include "harness/request/suite_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "harness/request/case.hpp"
#include "harness/request/case_slots.hpp"
#include "harness/request/schedule_tag.hpp"

namespace strobe {
namespace {

void require_key(const std::string& key, const std::string& where) {
  std::vector<std::string> known = case_fields().names();
  for (const CaseSlot& slot : case_slots()) known.push_back(slot.name);
  if (std::find(known.begin(), known.end(), key) == known.end()) {
    throw InvalidRequest(where, unknown_name_message("key", key, known));
  }
}

Json as_object(const Json& value) { return value.is_string() ? Json{{"name", value}} : value; }

void forget_origins(CaseTree& tree, const std::string& pointer) {
  std::erase_if(tree.origin, [&](const auto& entry) { return entry.first.rfind(pointer + "/", 0) == 0; });
}

/// Removes the values that earlier layers gave and the preset `name` sets, so that the preset wins over them.
void forget_preset_values(CaseTree& tree, const std::string& slot, const Json& name, const std::string& where) {
  const CaseSlot* known = find_case_slot(slot);
  Json& held = tree.json[slot];
  const Json plugin = held.value("name", Json(default_plugin(*known, tree.json.value("model", Json()))));
  if (!plugin.is_string() || !name.is_string() || plugin == "") return;
  const FieldTable table = known->fields(plugin.get<std::string>(), where);
  const Preset* preset = table.preset(name.get<std::string>());
  if (preset == nullptr) return;
  for (const auto& [key, value] : preset->values) held.erase(key);
}

void set_plugin(CaseTree& tree, const std::string& slot, const Json& value, const std::string& where, bool replaces) {
  const Json wanted = as_object(value);
  if (!wanted.is_object()) {
    throw InvalidRequest(where, "expected a name or an object with a name, found " + value.dump());
  }
  Json& held = tree.json[slot];
  const bool renames =
      wanted.contains("name") && held.is_object() && held.contains("name") && held.at("name") != wanted.at("name");
  if (held.is_null() || (renames && replaces)) {
    held = Json::object();
    forget_origins(tree, "/" + slot);
  }
  if (wanted.contains("name")) held["name"] = wanted.at("name");
  if (wanted.contains(preset_key)) forget_preset_values(tree, slot, wanted.at(preset_key), where);
  for (const auto& [key, parameter] : wanted.items()) {
    held[key] = parameter;
    tree.origin["/" + slot + "/" + key] = value.is_string() ? where : where + "/" + key;
  }
}

std::string text_of_value(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// A cluster as text, NAME:key=value,...: from such text, or from an object {"name", "nodes", "gpu": {...}}.
std::string cluster_text(const Json& value, const std::string& where) {
  if (!value.is_object()) return text_of_value(value);
  std::string text = value.value("name", std::string());
  for (const auto& [key, change] : value.items()) {
    if (key == "name") continue;
    if (!change.is_object()) {
      text = change_cluster(text, key, text_of_value(change));
      continue;
    }
    if (key != "gpu") throw InvalidRequest(where + "/" + key, "expected a number or text, found " + change.dump());
    for (const auto& [inner, number] : change.items()) {
      text = change_cluster(text, "gpu." + inner, text_of_value(number));
    }
  }
  return text;
}

/// Sets the cluster, or one of its keys. In a matrix, changes may come before the name; these are kept.
void set_cluster(CaseTree& tree, const std::string& key, const Json& value, const std::string& where) {
  const std::string held = tree.json.contains("cluster") ? text_of_value(tree.json.at("cluster")) : "";
  if (!key.empty()) {
    tree.json["cluster"] = change_cluster(held, key, text_of_value(value));
  } else {
    const std::string wanted = cluster_text(value, where);
    tree.json["cluster"] = held.rfind(':', 0) == 0 && wanted.find(':') == std::string::npos ? wanted + held : wanted;
  }
  tree.origin["/cluster"] = where;
}

}  // namespace

std::vector<std::string> split_path(const std::string& path, const std::string& where) {
  const std::size_t dot = path.find('.');
  std::vector<std::string> parts{path.substr(0, dot)};
  if (dot != std::string::npos) parts.push_back(path.substr(dot + 1));
  for (const std::string& part : parts) {
    if (part.empty())
      throw InvalidRequest(where, fmt::format("'{}' is not a key; write ranks or strategy.partitioner", path));
  }
  require_key(parts.front(), where);
  if (parts.size() == 2 && find_case_slot(parts.front()) == nullptr && parts.front() != "cluster") {
    throw InvalidRequest(where, fmt::format("'{}' has no parameters, so '{}' is not a key", parts.front(), path));
  }
  return parts;
}

void set_path(CaseTree& tree, const std::string& path, const Json& value, const std::string& where, bool replaces) {
  const std::vector<std::string> parts = split_path(path, where);
  if (parts.front() == "cluster") {
    set_cluster(tree, parts.size() == 2 ? parts.back() : "", value, where);
  } else if (find_case_slot(parts.front()) == nullptr) {
    tree.json[parts.front()] = value;
    tree.origin["/" + parts.front()] = where;
  } else if (parts.size() == 1) {
    set_plugin(tree, parts.front(), value, where, replaces);
    tree.origin["/" + parts.front()] = where;
  } else {
    set_plugin(tree, parts.front(), Json{{parts.back(), value}}, where, replaces);
    tree.origin["/" + parts.front() + "/" + parts.back()] = where;
    // For an error about the whole plug-in, one parameter gets the blame only if nothing else set the plug-in.
    tree.origin.emplace("/" + parts.front(), where);
  }
}

void lay_over(CaseTree& tree, const Json& object, const std::string& where) {
  if (!object.is_object()) throw InvalidRequest(where, "expected an object of case keys, found " + object.dump());
  Complaints complaints;
  for (const auto& item : object.items()) {
    const std::string& key = item.key();
    if (key == "description" || key == "$comment") continue;
    complaints.hear([&] {
      const std::string here = where + "/" + key;
      require_key(key, here);
      set_path(tree, key, item.value(), here, true);
    });
  }
  complaints.raise();
}

bool holds(const CaseTree& tree, const std::string& path, const Json& value, const std::string& where) {
  const std::vector<std::string> parts = split_path(path, where);
  const std::string& key = parts.front();
  const CaseSlot* slot = find_case_slot(key);
  if (slot == nullptr) {
    const Case defaults;
    return (tree.json.contains(key) ? tree.json.at(key) : case_fields().to_json(&defaults).at(key)) == value;
  }
  Json held = tree.json.contains(key) ? tree.json.at(key) : Json::object();
  if (const std::string own = default_plugin(*slot, tree.json.value("model", Json()));
      !held.contains("name") && !own.empty())
    held["name"] = own;
  if (parts.size() == 2) return held.contains(parts.back()) && held.at(parts.back()) == value;
  const Json wanted = as_object(value);
  if (!wanted.is_object()) return false;
  return std::all_of(wanted.items().begin(), wanted.items().end(), [&](const auto& item) {
    return held.contains(item.key()) && held.at(item.key()) == item.value();
  });
}

}  // namespace strobe
