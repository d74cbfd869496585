// Finds clusters: NAME or PATH, optionally followed by changes, NAME:key=value,key=value. Returns the file's cluster
// with the changes applied before it is checked, so a changed cluster obeys the same rules. Invariant: the same changes
// in any order give the same text. Cost: one small file.
#include "backends/cluster.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "backends/sim/cluster/cluster_file.hpp"
#include "backends/software.hpp"
#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/json_reader.hpp"
#include "core/system/program_files.hpp"

namespace strobe {
namespace {

std::filesystem::path cluster_directory() {
  const char* chosen = std::getenv("STROBE_CLUSTER_DIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : program_folder(STROBE_SOURCE_CLUSTER_DIR);
}

/// Position of the colon before the changes, or npos. The last one, since a path may hold a colon.
std::size_t changes_at(const std::string& cluster) {
  const std::size_t colon = cluster.rfind(':');
  return colon != std::string::npos && cluster.find('=', colon) != std::string::npos ? colon : std::string::npos;
}

std::map<std::string, std::string> changes_of(const std::string& cluster) {
  std::map<std::string, std::string> changes;
  const std::size_t colon = changes_at(cluster);
  if (colon == std::string::npos) return changes;
  std::istringstream list(cluster.substr(colon + 1));
  for (std::string change; std::getline(list, change, ',');) {
    const std::size_t equals = change.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InvalidRequest("--cluster", fmt::format("'{}' has no value; write NAME:key=value,...", change));
    }
    if (!changes.emplace(change.substr(0, equals), change.substr(equals + 1)).second) {
      throw InvalidRequest("--cluster", fmt::format("'{}' is changed twice", change.substr(0, equals)));
    }
  }
  return changes;
}

std::filesystem::path file_of(const std::string& name_or_path) {
  const bool is_path = name_or_path.find('/') != std::string::npos ||
                       (name_or_path.size() > 5 && name_or_path.compare(name_or_path.size() - 5, 5, ".json") == 0);
  if (is_path) return name_or_path;
  const std::vector<std::string> names = cluster_names();
  if (std::find(names.begin(), names.end(), name_or_path) == names.end()) {
    throw InvalidRequest("--cluster", unknown_name_message("cluster", name_or_path, names));
  }
  return cluster_directory() / (name_or_path + ".json");
}

/// Days since 1970-01-01 of a date YYYY-MM-DD; false when it is none. (Days of a civil calendar, years from March.)
bool days_of(const std::string& date, std::int64_t& days) {
  int year = 0, month = 0, day = 0;
  if (std::sscanf(date.c_str(), "%4d-%2d-%2d", &year, &month, &day) != 3) return false;
  const std::int64_t y = month <= 2 ? year - 1 : year, m = month <= 2 ? month + 9 : month - 3;
  days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
  return true;
}

/// Today as YYYY-MM-DD, here or in Greenwich, whichever is later: whoever reads a listing writes his own date.
std::string latest_today() {
  const std::time_t now = std::time(nullptr);
  std::string latest;
  for (auto* const convert : {&gmtime_r, &localtime_r}) {
    std::tm date{};
    char text[16] = "";
    if (convert(&now, &date) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d", &date);
    latest = std::max(latest, std::string(text));
  }
  return latest;
}

/// The program's own files are as they were released, whatever the clock of the machine says.
bool comes_with_the_program(const std::filesystem::path& file) {
  std::error_code ignored;  // then the directories are not the same
  return std::filesystem::equivalent(std::filesystem::absolute(file).parent_path(),
                                     program_folder(STROBE_SOURCE_CLUSTER_DIR), ignored);
}

void refuse_future_listing(const Cluster& cluster) {
  const std::string today = latest_today();
  if (cluster.price_date.empty() || price_age_days(cluster, today) >= 0) return;
  throw InvalidRequest("/price_per_node_hour/date",
                       fmt::format("{} lies in the future; today is {}", cluster.price_date, today));
}

/// Fits of collectives hold for the links that were measured; for other links the models predict the time.
void drop_fits_of_other_links(const std::string& changed_key, Json& cluster) {
  static const std::set<std::string> links{"intra_node_bytes_per_second",  "intra_node_latency_seconds",
                                           "inter_node_bytes_per_second",  "inter_node_latency_seconds",
                                           "host_bridge_bytes_per_second", "nics_per_node"};
  if (links.count(changed_key) != 0 && cluster.contains("calibration")) cluster["calibration"].erase("collectives");
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

std::string cluster_base(const std::string& cluster) { return cluster.substr(0, changes_at(cluster)); }

std::string change_cluster(const std::string& cluster, const std::string& key, const std::string& value) {
  std::map<std::string, std::string> changes = changes_of(cluster);
  changes[key] = value;
  std::vector<std::string> texts;
  for (const auto& [name, text] : changes) texts.push_back(name + "=" + text);
  return fmt::format("{}:{}", cluster_base(cluster), fmt::join(texts, ","));
}

std::shared_ptr<const Cluster> load_cluster(const std::string& cluster) {
  const std::filesystem::path path = file_of(cluster_base(cluster));
  std::string text;
  try {
    text = read_regular_file(path.string());
  } catch (const Error& error) {
    throw InvalidRequest("--cluster", std::string("the cluster file: ") + error.what());
  }
  Json json = sim::parse_cluster_text(text, path.string());
  if (!json.is_object()) throw InvalidInput(path.string(), 0, 0, "is not a cluster file: it holds no JSON object");
  const bool proven = take_digest(json, path.string());
  const std::shared_ptr<const Cluster> described = sim::cluster_from_json(json);
  // Clusters are written by hand, too; measured ones are the program's.
  if (!proven && json.contains("calibration")) note_unproven_file(path.string());
  if (!comes_with_the_program(path)) refuse_future_listing(*described);
  const auto changes = changes_of(cluster);
  if (changes.empty()) return described;
  for (const auto& [key, value] : changes) {
    sim::change_value(json, key, value);
    drop_fits_of_other_links(key, json);
  }
  auto changed = std::make_shared<Cluster>(*sim::cluster_from_json(json));
  changed->described_nodes = described->nodes;
  if (changes.count("covered_ranks") == 0) changed->covered_ranks = described->covered_ranks;
  for (const auto& [key, value] : changes) changed->changes.push_back(key + "=" + value);
  return changed;
}

std::int64_t price_age_days(const Cluster& cluster, const std::string& today) {
  std::int64_t then = 0, now = 0;
  if (cluster.price_date.empty() || !days_of(cluster.price_date, then) || !days_of(today, now)) return -1;
  return now - then;
}

std::string price_origin(const Cluster& cluster) {
  if (cluster.price_date.empty()) return cluster.price_source;
  return fmt::format("{}, listed {}", cluster.price_region, cluster.price_date);
}

std::string band_refusal(const Cluster& cluster, std::int64_t ranks) {
  if (cluster.epoch_bands.empty()) return "the errors of predictions for this cluster are not known";
  if (!cluster.changes.empty()) {
    return fmt::format("the band was measured on {} unchanged, not with {}", cluster.name,
                       fmt::join(cluster.changes, ", "));
  }
  if (cluster.software != nullptr) {
    return fmt::format("the band of {} is of Strobe's own program, not of {}'s", cluster.name, cluster.software->name);
  }
  const Band& band = cluster.epoch_bands.back();
  if (ranks <= band.ranks) return "";
  return fmt::format("the band of {} is of measurements on at most {} rank{}", cluster.name, band.ranks,
                     band.ranks == 1 ? "" : "s");
}

const Band& band_for(const Cluster& cluster, std::int64_t ranks) {
  return *std::find_if(cluster.epoch_bands.begin(), cluster.epoch_bands.end() - 1,
                       [ranks](const Band& band) { return ranks <= band.ranks; });
}

}  // namespace strobe
