// Reads clusters. A cluster file is one JSON object; every quantity is an object {"value", "source", "date"} under a
// key that ends in its unit. Returns the numbers in SI units as they stand in the file; nothing is filled in, because
// a number that nobody has measured or published must not look like one that somebody has.
#include "backends/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "backends/sim/cluster_file.hpp"
#include "core/errors.hpp"

namespace strobe {
namespace sim {
namespace {

/// One key of an object and what its value must be.
enum class Form { text, flag, object, count, bytes, positive, not_negative, price };
struct Key {
  const char* name;
  Form form;
};

constexpr Key cluster_keys[] = {{"$comment", Form::text},
                                {"name", Form::text},
                                {"description", Form::text},
                                {"calibrated", Form::flag},
                                {"nodes", Form::count},
                                {"gpus_per_node", Form::count},
                                {"gpu", Form::object},
                                {"host_to_device_bytes_per_second", Form::positive},
                                {"host_to_device_latency_seconds", Form::not_negative},
                                {"intra_node_bytes_per_second", Form::positive},
                                {"intra_node_latency_seconds", Form::not_negative},
                                {"inter_node_bytes_per_second", Form::positive},
                                {"inter_node_latency_seconds", Form::not_negative},
                                {"price_per_node_hour", Form::price}};
constexpr Key gpu_keys[] = {{"name", Form::text},
                            {"flops_fp32_per_second", Form::positive},
                            {"flops_fp64_per_second", Form::positive},
                            {"memory_bytes_per_second", Form::positive},
                            {"memory_bytes", Form::bytes},
                            {"reserved_bytes", Form::bytes},
                            {"launch_seconds", Form::not_negative}};
constexpr Key quantity_keys[] = {{"value", Form::not_negative}, {"source", Form::text}, {"date", Form::text}};
constexpr Key price_keys[] = {
    {"value", Form::positive}, {"currency", Form::text}, {"source", Form::text}, {"date", Form::text}};

/// Refuses unknown and missing keys of an object; "$comment" may be absent.
template <std::size_t N>
void check_keys(const Json& object, const Key (&keys)[N], const std::string& pointer) {
  if (!object.is_object()) throw InvalidRequest(pointer, "expected a JSON object, found " + object.dump());
  std::vector<std::string> known;
  for (const Key& key : keys) known.emplace_back(key.name);
  for (const auto& [name, value] : object.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    for (const std::string& candidate : known) {
      if (candidate.rfind(name + "_", 0) != 0) continue;
      throw InvalidRequest(pointer + "/" + name,
                           fmt::format("'{}' names no unit; did you mean '{}'?", name, candidate));
    }
    throw InvalidRequest(pointer + "/" + name, unknown_name_message("key", name, known));
  }
  for (const std::string& name : known) {
    if (name != "$comment" && !object.contains(name)) throw InvalidRequest(pointer + "/" + name, "this key is missing");
  }
}

bool is_date(const std::string& text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto digits = std::count_if(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  if (digits != 8) return false;
  const int month = std::stoi(text.substr(5, 2)), day = std::stoi(text.substr(8, 2));
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

std::string text_at(const Json& object, const char* key, const std::string& pointer) {
  const Json& value = object.at(key);
  if (!value.is_string() || value.get<std::string>().empty()) {
    throw InvalidRequest(pointer + "/" + key, "expected text, found " + value.dump());
  }
  return value.get<std::string>();
}

void check_provenance(const Json& quantity, const std::string& pointer) {
  text_at(quantity, "source", pointer);
  const std::string date = text_at(quantity, "date", pointer);
  if (!is_date(date)) throw InvalidRequest(pointer + "/date", "expected a date as YYYY-MM-DD, found '" + date + "'");
}

/// The value of a quantity that must have the given form.
double quantity_at(const Json& object, const Key& key, const std::string& pointer) {
  const std::string here = pointer + "/" + key.name;
  const Json& quantity = object.at(key.name);
  check_keys(quantity, quantity_keys, here);
  check_provenance(quantity, here);
  const Json& json = quantity.at("value");
  if (!json.is_number()) throw InvalidRequest(here + "/value", "expected a number, found " + json.dump());
  const double value = json.get<double>();
  const bool whole = key.form == Form::count || key.form == Form::bytes;
  if (!std::isfinite(value) || (whole && (std::floor(value) != value || value > 9007199254740992.0)) ||
      (key.form == Form::count && value > 1000000)) {
    throw InvalidRequest(here + "/value",
                         fmt::format("{} is not a {} number", json.dump(), whole ? "sensible whole" : "finite"));
  }
  if (value < 0) throw InvalidRequest(here + "/value", fmt::format("{} is negative", json.dump()));
  if (value == 0 && (key.form == Form::count || key.form == Form::positive)) {
    throw InvalidRequest(here + "/value", fmt::format("{} must be above 0", key.name));
  }
  return value;
}

/// Reads the quantities of one object by key.
template <std::size_t N>
double number(const Json& object, const Key (&keys)[N], const char* name, const std::string& pointer) {
  const Key* key = std::find_if(std::begin(keys), std::end(keys),
                                [name](const Key& candidate) { return std::string(candidate.name) == name; });
  return quantity_at(object, *key, pointer);
}

GpuModel read_gpu(const Json& json) {
  check_keys(json, gpu_keys, "/gpu");
  const auto read = [&json](const char* name) { return number(json, gpu_keys, name, "/gpu"); };
  GpuModel gpu;
  gpu.name = text_at(json, "name", "/gpu");
  gpu.flops_fp32_per_second = read("flops_fp32_per_second");
  gpu.flops_fp64_per_second = read("flops_fp64_per_second");
  gpu.memory_bytes_per_second = read("memory_bytes_per_second");
  gpu.memory_bytes = static_cast<std::uint64_t>(read("memory_bytes"));
  gpu.reserved_bytes = static_cast<std::uint64_t>(read("reserved_bytes"));
  gpu.launch_seconds = read("launch_seconds");
  if (gpu.reserved_bytes >= gpu.memory_bytes) {
    throw InvalidRequest("/gpu/reserved_bytes/value", "the reserved memory leaves none for tensors");
  }
  return gpu;
}

void read_price(const Json& json, Cluster& cluster) {
  const std::string pointer = "/price_per_node_hour";
  if (json.is_string() && json.get<std::string>() == "not sold") return;
  if (json.is_string()) throw InvalidRequest(pointer, "expected a price object or \"not sold\", found " + json.dump());
  check_keys(json, price_keys, pointer);
  check_provenance(json, pointer);
  const Json& value = json.at("value");
  if (!value.is_number() || value.get<double>() <= 0) {
    throw InvalidRequest(pointer + "/value", "expected a price above 0, found " + value.dump());
  }
  cluster.price_per_node_hour = value.get<double>();
  cluster.price_currency = text_at(json, "currency", pointer);
  cluster.price_date = json.at("date").get<std::string>();
  cluster.price_source = json.at("source").get<std::string>();
}

/// Parses JSON and refuses keys that occur twice in one object, which the parser would let pass.
class DuplicateKeys {
 public:
  bool operator()(Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) levels_.emplace_back();
    if (event == Json::parse_event_t::object_end) levels_.pop_back();
    if (event == Json::parse_event_t::key) {
      Level& level = levels_.back();
      level.current = parsed.get<std::string>();
      if (!level.seen.insert(level.current).second) throw InvalidRequest(pointer(), "this key occurs twice");
    }
    return true;
  }

 private:
  struct Level {
    std::set<std::string> seen;
    std::string current;
  };
  std::string pointer() const {
    std::string path;
    for (const Level& level : levels_) path += "/" + level.current;
    return path;
  }
  std::vector<Level> levels_;
};

Json parse_json(const std::string& text, const std::string& file) {
  DuplicateKeys duplicates;
  try {
    return Json::parse(text, [&duplicates](int, Json::parse_event_t event, Json& parsed) {
      return duplicates(event, parsed);
    });
  } catch (const Json::parse_error& error) {
    const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    const std::size_t newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const std::size_t column = newline == std::string::npos ? at + 1 : at - newline;
    throw InvalidInput(file, static_cast<std::uint64_t>(line), column, "this is not JSON");
  }
}

}  // namespace

std::shared_ptr<const Cluster> cluster_from_json(const Json& json) {
  check_keys(json, cluster_keys, "");
  const auto read = [&json](const char* name) { return number(json, cluster_keys, name, ""); };
  auto cluster = std::make_shared<Cluster>();
  cluster->name = text_at(json, "name", "");
  cluster->description = text_at(json, "description", "");
  if (!json.at("calibrated").is_boolean()) throw InvalidRequest("/calibrated", "expected true or false");
  cluster->calibrated = json.at("calibrated").get<bool>();
  cluster->nodes = static_cast<int>(read("nodes"));
  cluster->gpus_per_node = static_cast<int>(read("gpus_per_node"));
  cluster->gpu = read_gpu(json.at("gpu"));
  cluster->host_to_device_bytes_per_second = read("host_to_device_bytes_per_second");
  cluster->host_to_device_latency_seconds = read("host_to_device_latency_seconds");
  cluster->intra_node_bytes_per_second = read("intra_node_bytes_per_second");
  cluster->intra_node_latency_seconds = read("intra_node_latency_seconds");
  cluster->inter_node_bytes_per_second = read("inter_node_bytes_per_second");
  cluster->inter_node_latency_seconds = read("inter_node_latency_seconds");
  read_price(json.at("price_per_node_hour"), *cluster);
  cluster->raw = json;
  return cluster;
}

std::shared_ptr<const Cluster> parse_cluster(const std::string& text, const std::string& file) {
  return cluster_from_json(parse_json(text, file));
}

}  // namespace sim

namespace {

std::filesystem::path cluster_directory() {
  const char* chosen = std::getenv("STROBE_CLUSTER_DIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : STROBE_SOURCE_CLUSTER_DIR;
}

}  // namespace

std::vector<std::string> cluster_names() {
  std::vector<std::string> names;
  std::error_code ignored;  // a directory that cannot be read holds no clusters; load_cluster then says so
  for (const auto& entry : std::filesystem::directory_iterator(cluster_directory(), ignored)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::shared_ptr<const Cluster> load_cluster(const std::string& name_or_path) {
  const bool is_path = name_or_path.find('/') != std::string::npos ||
                       (name_or_path.size() > 5 && name_or_path.compare(name_or_path.size() - 5, 5, ".json") == 0);
  std::filesystem::path path = name_or_path;
  if (!is_path) {
    const std::vector<std::string> names = cluster_names();
    if (std::find(names.begin(), names.end(), name_or_path) == names.end()) {
      throw InvalidRequest("--cluster", unknown_name_message("cluster", name_or_path, names));
    }
    path = cluster_directory() / (name_or_path + ".json");
  }
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    throw InvalidRequest("--cluster", fmt::format("cannot read the cluster file {}", path.string()));
  }
  return sim::parse_cluster(text.str(), path.string());
}

}  // namespace strobe
