// Shapes as files: strict reading and writing of version 1, and the shapes that ship with Strobe.
// A file has every field; a number has a source, an unknown one is null and has a reason.
#include "workloads/shape/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/or_null.hpp"
#include "core/system/program_files.hpp"
#include "workloads/storage/strict_json.hpp"

namespace strobe {
namespace {

constexpr std::int64_t shape_version = 1;

/// Calls visit(name, member) for every quantity, in the order of the file.
template <class Shape, class Visit>
void for_each_quantity(Shape& shape, Visit&& visit) {
  visit("vertices", shape.vertices);
  visit("steps", shape.steps);
  visit("feature_width", shape.feature_width);
  visit("events", shape.events);
  visit("edges", shape.edges);
  visit("active_cells", shape.active_cells);
  visit("edge_feature_width", shape.edge_feature_width);
  visit("time_span_seconds", shape.time_span_seconds);
  visit("overlap_mean", shape.overlap_mean);
  visit("edges_per_step", shape.edges_per_step);
  visit("active_vertices_per_step", shape.active_vertices_per_step);
  visit("self_loops_per_step", shape.self_loops_per_step);
  visit("overlap_per_step", shape.overlap_per_step);
  visit("edge_lives", shape.edge_lives);
  visit("vertex_in_degree", shape.vertex_in_degree);
  visit("vertex_out_degree", shape.vertex_out_degree);
  visit("sequence_length", shape.sequence_length);
  visit("smoothed", shape.smoothed);
}

std::vector<std::string> quantity_names() {
  std::vector<std::string> names;
  GraphStatistics none;
  for_each_quantity(none, [&](const char* name, const auto&) { names.emplace_back(name); });
  return names;
}

// Writing ---------------------------------------------------------------------------------------------------------

Json json_of(std::int64_t value) { return value; }
Json json_of(double value) { return or_null(value); }
Json json_of(const Histogram& value) { return to_json(value); }

template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : Json(nullptr);
}

Json json_of(const SmoothedStatistics& value) {
  return {{"smooth", value.smooth},
          {"window", json_of(value.window)},
          {"edges", value.edges},
          {"in_degree", json_of(value.in_degree)},
          {"out_degree", json_of(value.out_degree)}};
}

template <class T>
Json json_of(const std::vector<T>& values) {
  if (values.empty()) return nullptr;
  Json list = Json::array();
  for (const T& value : values) list.push_back(json_of(value));
  return list;
}

// Reading ---------------------------------------------------------------------------------------------------------

void read(const Json& json, const std::string& where, std::optional<std::int64_t>& value) {
  value = whole_number(json, where);
}

void read(const Json& json, const std::string& where, std::optional<double>& value) {
  if (!json.is_number()) throw InvalidRequest(where, "expected a number, found " + json.dump().substr(0, 60));
  value = json.get<double>();
  if (!(*value >= 0)) throw InvalidRequest(where, fmt::format("{} is negative", json.dump()));
}

void read(const Json& json, const std::string& where, std::optional<Histogram>& value) {
  value = histogram_from_json(json, where);
}

const Json& filled_list(const Json& json, const std::string& where) {
  if (!json.is_array() || json.empty())
    throw InvalidRequest(where, "expected a list with values, found " + json.dump().substr(0, 60));
  return json;
}

void read(const Json& json, const std::string& where, std::vector<std::int64_t>& values) {
  for (std::size_t i = 0; i < filled_list(json, where).size(); ++i)
    values.push_back(whole_number(json[i], fmt::format("{}/{}", where, i)));
}

void read(const Json& json, const std::string& where, std::vector<double>& values) {
  for (std::size_t i = 0; i < filled_list(json, where).size(); ++i) {
    const bool none = json[i].is_null();
    if (!none && !(json[i].is_number() && json[i].get<double>() >= 0 && json[i].get<double>() <= 1))
      throw InvalidRequest(fmt::format("{}/{}", where, i), "expected a share between 0 and 1, or null");
    values.push_back(none ? std::numeric_limits<double>::quiet_NaN() : json[i].get<double>());
  }
}

void read(const Json& json, const std::string& where, std::vector<SmoothedStatistics>& values) {
  const std::vector<std::string> kinds = {"union", "m_product", "edge_life"};
  for (std::size_t i = 0; i < filled_list(json, where).size(); ++i) {
    const std::string here = fmt::format("{}/{}", where, i);
    expect_keys(json[i], {"smooth", "window", "edges", "in_degree", "out_degree"}, {}, here);
    SmoothedStatistics entry;
    entry.smooth = text_at(json[i], "smooth", here);
    if (std::find(kinds.begin(), kinds.end(), entry.smooth) == kinds.end())
      throw InvalidRequest(here + "/smooth", unknown_name_message("smoothing", entry.smooth, kinds));
    if (!json[i]["window"].is_null()) entry.window = whole_at(json[i], "window", here, 1);
    entry.edges = whole_at(json[i], "edges", here);
    if (!json[i]["in_degree"].is_null()) read(json[i]["in_degree"], here + "/in_degree", entry.in_degree);
    if (!json[i]["out_degree"].is_null()) read(json[i]["out_degree"], here + "/out_degree", entry.out_degree);
    values.push_back(std::move(entry));
  }
}

std::map<std::string, std::string> read_texts(const Json& json, const std::string& where,
                                              const std::vector<std::string>& known) {
  if (!json.is_object()) throw InvalidRequest(where, "expected an object of texts");
  std::map<std::string, std::string> texts;
  Complaints complaints;
  for (const auto& item : json.items()) {
    const std::string& key = item.key();
    complaints.hear([&] {
      if (std::find(known.begin(), known.end(), key) == known.end())
        throw InvalidRequest(where + "/" + key, unknown_name_message("quantity", key, known));
      texts[key] = text_at(json, key, where);
      if (texts[key].empty()) throw InvalidRequest(where + "/" + key, "is empty");
    });
  }
  complaints.raise();
  return texts;
}

/// Reads one quantity that is there. An unknown one has a reason, a known one a source.
template <class T>
void read_quantity(const Json& json, const std::string& name, const std::string& where, const GraphStatistics& shape,
                   T& value) {
  const bool explained = shape.unknown.count(name) != 0;
  if (json.at(name).is_null()) {
    if (!explained && shape.unknown.count("*") == 0)
      throw InvalidRequest(where + "/unknown/" + name, "the value is null, so its reason must be given");
    return;
  }
  if (explained) throw InvalidRequest(where + "/unknown/" + name, "the value is known");
  if (shape.sources.count(name) == 0 && shape.sources.count("*") == 0)
    throw InvalidRequest(where + "/sources/" + name, "a number needs its source");
  read(json.at(name), where + "/" + name, value);
}

/// Lists have one value per step, and sums agree with them.
void check_sums(const GraphStatistics& shape, const std::string& where) {
  const auto check_length = [&](const char* name, std::size_t size) {
    if (size == 0 || !shape.steps || size == static_cast<std::size_t>(*shape.steps)) return;
    throw InvalidRequest(where + "/" + name, fmt::format("{} values for {} steps", size, *shape.steps));
  };
  check_length("edges_per_step", shape.edges_per_step.size());
  check_length("active_vertices_per_step", shape.active_vertices_per_step.size());
  check_length("self_loops_per_step", shape.self_loops_per_step.size());
  check_length("overlap_per_step", shape.overlap_per_step.size());
  check_length("edge_lives", shape.edge_lives.size());
  std::int64_t sum = 0;
  for (const std::int64_t edges : shape.edges_per_step) sum += edges;
  if (!shape.edges_per_step.empty() && shape.edges && sum != *shape.edges)
    throw InvalidRequest(where + "/edges", fmt::format("edges_per_step sums to {}, not {}", sum, *shape.edges));
  const std::optional<std::int64_t> lives = smoothed_edges(shape, 1);
  if (lives && shape.edges && *lives != *shape.edges)
    throw InvalidRequest(where + "/edge_lives", fmt::format("{} lives of {} edges", *lives, *shape.edges));
}

}  // namespace

Json to_json(const GraphStatistics& shape) {
  Json json{{"strobe_shape", shape_version}, {"name", shape.name}, {"description", shape.description}};
  for_each_quantity(shape, [&](const char* name, const auto& value) { json[name] = json_of(value); });
  json["sources"] = shape.sources;
  json["unknown"] = shape.unknown;
  return json;
}

GraphStatistics shape_from_json(const Json& json, const std::string& where) {
  const std::vector<std::string> quantities = quantity_names();
  std::vector<std::string> keys = {"strobe_shape", "name", "description", "sources", "unknown"};
  keys.insert(keys.end(), quantities.begin(), quantities.end());
  GraphStatistics shape;
  Complaints complaints;
  complaints.hear([&] { expect_keys(json, keys, {}, where); });
  const auto read_key = [&](const std::string& key, const auto& read) {
    if (json.is_object() && json.contains(key)) complaints.hear(read);
  };
  read_key("strobe_shape", [&] {
    if (whole_at(json, "strobe_shape", where) != shape_version)
      throw InvalidRequest(where + "/strobe_shape", fmt::format("only version {} is known", shape_version));
  });
  read_key("name", [&] { shape.name = text_at(json, "name", where); });
  read_key("description", [&] { shape.description = text_at(json, "description", where); });
  std::vector<std::string> explained = quantities;
  explained.push_back("*");
  read_key("sources", [&] { shape.sources = read_texts(json.at("sources"), where + "/sources", explained); });
  read_key("unknown", [&] { shape.unknown = read_texts(json.at("unknown"), where + "/unknown", explained); });
  for_each_quantity(shape, [&](const std::string& name, auto& value) {
    read_key(name, [&] { read_quantity(json, name, where, shape, value); });
  });
  complaints.raise();
  check_sums(shape, where);
  return shape;
}

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& item : std::filesystem::directory_iterator(program_folder(STROBE_SOURCE_SHAPE_DIR), ignored))
    if (item.path().extension() == ".json") names.push_back(item.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

GraphStatistics load_shape(const std::string& name_or_path) {
  const std::vector<std::string> names = shape_names();
  std::string path = name_or_path;
  if (std::find(names.begin(), names.end(), name_or_path) != names.end()) {
    path = fmt::format("{}/{}.json", program_folder(STROBE_SOURCE_SHAPE_DIR), name_or_path);
  } else if (std::error_code ignored; !std::filesystem::exists(path, ignored)) {
    throw InvalidRequest("shape", unknown_name_message("shape", name_or_path, names));
  }
  Json json = read_strict_json(path);
  take_digest(json, path);
  return shape_from_json(json, path + "#");
}

bool is_shape_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::string head(256, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  const std::size_t brace = head.find_first_not_of(" \t\r\n");
  if (brace == std::string::npos || head[brace] != '{') return false;
  const std::size_t key = head.find_first_not_of(" \t\r\n", brace + 1);
  return key != std::string::npos && head.compare(key, 14, "\"strobe_shape\"") == 0;
}

}  // namespace strobe
