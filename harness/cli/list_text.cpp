#include "harness/cli/list_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "core/units.hpp"

namespace strobe {
namespace {

/// A line on the host of a cluster's nodes; "" if nothing is known.
std::string host_text(const Json& host) {
  std::string text;
  if (!host["cores"].is_null()) text += fmt::format(", {} cores", host["cores"].get<int>());
  if (!host["memory_bytes_per_second"].is_null())
    text += fmt::format(", memory {}/s", format_bytes(host["memory_bytes_per_second"].get<double>()));
  if (!host["disk_bytes_per_second"].is_null())
    text += fmt::format(", disk {}/s", format_bytes(host["disk_bytes_per_second"].get<double>()));
  if (!host["memory_bytes"].is_null())
    text += fmt::format(", {} of memory", format_bytes(host["memory_bytes"].get<double>()));
  return text.empty() ? "" : "    host: " + text.substr(2) + "\n";
}

/// Kind, size and terms of a workload; size of a shape; GPUs and price of a cluster.
std::string size_text(const Json& entry) {
  std::string size;
  for (const char* key : {"vertices", "steps", "edges", "events"}) {
    if (!entry.contains(key) || entry[key].is_null()) continue;
    size += fmt::format("{}{} {}", size.empty() ? "" : ", ", format_count(entry[key].get<std::int64_t>()), key);
  }
  std::string text;
  for (const char* key : {"family", "schedule"}) {
    if (entry.contains(key)) text += fmt::format("    {}: {}\n", key, entry[key].get<std::string>());
  }
  if (entry.contains("kind")) text += fmt::format("    {}\n", entry["kind"].get<std::string>());
  if (!size.empty()) text += fmt::format("    size: {}\n", size);
  if (entry.contains("gpus_per_node")) {
    text += fmt::format("    {} nodes x {} {}\n{}    price: {}\n", entry["nodes"].get<int>(),
                        entry["gpus_per_node"].get<int>(), entry["gpu"].get<std::string>(), host_text(entry["host"]),
                        entry["price"].get<std::string>());
  }
  if (entry.contains("licence")) text += fmt::format("    terms: {}\n", entry["licence"].get<std::string>());
  if (entry.contains("origin")) text += fmt::format("    from: {}\n", entry["origin"].get<std::string>());
  return text;
}

std::string parameter_text(const Json& field) {
  const std::string unit = field["unit"].get<std::string>();
  const std::string text = fmt::format("    {} = {}{}  {}", field["name"].get<std::string>(), field["default"].dump(),
                                       unit.empty() ? "" : " " + unit, field["help"].get<std::string>());
  return text + (field.contains("choices") ? " " + field["choices"].dump() : "") + "\n";
}

std::string preset_text(const Json& preset) {
  std::vector<std::string> values;
  for (const auto& [key, value] : preset["values"].items()) values.push_back(fmt::format("{}={}", key, value.dump()));
  return fmt::format("    preset={}  {} ({})\n", preset["name"].get<std::string>(), fmt::join(values, ", "),
                     preset["source"].get<std::string>());
}

}  // namespace

std::string listed_text(const Json& entries) {
  std::string text;
  Json shared = Json::array();  // print options that all data sets share only once
  for (const Json& entry : entries) {
    text += fmt::format("{}\n    {}\n", entry["name"].get<std::string>(), entry["description"].get<std::string>());
    const std::string citation = entry["citation"].get<std::string>();
    if (!citation.empty()) text += fmt::format("    source: {}\n", citation);
    text += size_text(entry);
    if (entry.contains("origin")) {
      shared = entry["parameters"];
      continue;
    }
    for (const Json& field : entry["parameters"]) text += parameter_text(field);
    for (const Json& preset : entry.value("presets", Json::array())) text += preset_text(preset);
  }
  if (!shared.empty()) text += "Every data set and file:\n";
  for (const Json& field : shared) text += parameter_text(field);
  return text;
}

}  // namespace strobe
