// Reads the catalogue and finds data files. A set lies in a folder of its own name below the data folder.
#include "workloads/catalog/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/system/program_files.hpp"
#include "core/units.hpp"
#include "workloads/graph/window_span.hpp"
#include "workloads/storage/strict_json.hpp"

namespace strobe {
namespace {

constexpr std::int64_t catalogue_version = 1;

std::string catalog_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The folder where fetch_dataset stores its downloads. scripts/fetch_dataset follows the same rule.
std::filesystem::path fetched_folder() {
  if (const std::string chosen = catalog_variable("STROBE_DATA_DIR"); !chosen.empty()) return chosen;
  if (const std::string data = catalog_variable("XDG_DATA_HOME"); !data.empty())
    return std::filesystem::path(data) / "strobe";
  return std::filesystem::path(catalog_variable("HOME")) / ".local/share/strobe";
}

std::string word_at(const Json& json, const char* key, const std::string& where,
                    const std::vector<std::string>& known) {
  const std::string word = text_at(json, key, where);
  if (std::find(known.begin(), known.end(), word) == known.end())
    throw InvalidRequest(where + "/" + key, unknown_name_message("value", word, known));
  return word;
}

CatalogueFile file_from_json(const Json& json, const std::string& where) {
  expect_keys(json, {"file", "url", "unpack", "member", "sha256", "bytes"}, {"sha256_source"}, where);
  CatalogueFile file;
  file.file = text_at(json, "file", where);
  if (file.file.empty() || file.file.find('/') != std::string::npos || file.file.front() == '.')
    throw InvalidRequest(where + "/file", "expected the plain name of a file");
  file.url = text_at(json, "url", where);
  if (file.url.rfind("https://", 0) != 0 && file.url.rfind("http://", 0) != 0)
    throw InvalidRequest(where + "/url", "expected an http or https address");
  file.unpack = word_at(json, "unpack", where, {"", "zip", "tar"});
  file.member = text_at(json, "member", where);
  if (file.member.empty() != file.unpack.empty())
    throw InvalidRequest(where + "/member", "is for packed files, and needed there");
  if (!json["sha256"].is_null()) {
    file.sha256 = text_at(json, "sha256", where);
    if (file.sha256.size() != 64 || file.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
      throw InvalidRequest(where + "/sha256", "expected 64 digits 0-9a-f");
    if (!json.contains("sha256_source")) throw InvalidRequest(where + "/sha256_source", "a checksum needs its source");
  }
  if (!json["bytes"].is_null()) file.bytes = whole_at(json, "bytes", where, 1);
  return file;
}

void read_listed(const Json& json, const std::string& where, CatalogueSet& set) {
  expect_keys(json, {"vertices", "events", "source"}, {}, where);
  if (!json["vertices"].is_null()) set.listed_vertices = whole_at(json, "vertices", where, 1);
  if (!json["events"].is_null()) set.listed_events = whole_at(json, "events", where, 1);
  set.listed_source = text_at(json, "source", where);
  if (set.listed_source.empty())
    throw InvalidRequest(where + "/source", "counts need their source, or the reason why there are none");
}

}  // namespace

CatalogueSet read_catalogue_file(const std::string& path) {
  const Json json = read_strict_json(path);
  const std::string where = path + "#";
  expect_keys(
      json,
      {"strobe_dataset", "kind", "description", "citation", "origin", "terms", "format", "window", "listed", "files"},
      {}, where);
  if (whole_at(json, "strobe_dataset", where) != catalogue_version)
    throw InvalidRequest(where + "/strobe_dataset", fmt::format("only version {} is known", catalogue_version));
  CatalogueSet set;
  set.entry.name = std::filesystem::path(path).stem().string();
  set.entry.file = "workloads/catalog/" + set.entry.name + ".json";
  set.is_graph = word_at(json, "kind", where, {"graph", "parameters"}) == "graph";
  set.entry.description = text_at(json, "description", where);
  set.entry.citation = text_at(json, "citation", where);
  DatasetTag::Value& value = set.entry.value;
  value.origin = text_at(json, "origin", where);
  value.licence = text_at(json, "terms", where);
  value.format = text_at(json, "format", where);
  value.windowing.duration = text_at(json, "window", where);
  if (!value.windowing.duration.empty()) parse_window(value.windowing.duration, where + "/window");
  read_listed(json["listed"], where + "/listed", set);
  const Json& files = list_at(json, "files", where);
  for (std::size_t i = 0; i < files.size(); ++i)
    set.files.push_back(file_from_json(files[i], fmt::format("{}/files/{}", where, i)));
  if (set.files.empty()) throw InvalidRequest(where + "/files", "a data set needs a file");
  value.file = set.entry.name + "/" + set.files.front().file;
  return set;
}

const std::map<std::string, CatalogueSet>& catalogue() {
  static const std::map<std::string, CatalogueSet> sets = [] {
    std::map<std::string, CatalogueSet> found;
    std::error_code ignored;
    for (const auto& item : std::filesystem::directory_iterator(program_folder(STROBE_SOURCE_CATALOG_DIR), ignored)) {
      if (item.path().extension() != ".json") continue;
      CatalogueSet set = read_catalogue_file(item.path().string());
      found.emplace(set.entry.name, std::move(set));
    }
    return found;
  }();
  return sets;
}

const Entry<DatasetTag::Value>* find_dataset(const std::string& name) {
  if (DatasetRegistry::instance().contains(name)) return &DatasetRegistry::instance().find(name);
  const auto found = catalogue().find(name);
  return found == catalogue().end() ? nullptr : &found->second.entry;
}

bool is_graph(const std::string& name) {
  const auto found = catalogue().find(name);
  return found == catalogue().end() || found->second.is_graph;
}

std::vector<std::string> dataset_names() {
  std::vector<std::string> names = DatasetRegistry::instance().names();
  for (const auto& [name, set] : catalogue()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string data_directory() { return program_folder(STROBE_SOURCE_DATA_DIR); }

std::string find_data_file(const std::string& file) {
  const std::filesystem::path fetched = fetched_folder() / file,
                              bundled = std::filesystem::path(data_directory()) / file;
  std::error_code ignored;
  if (std::filesystem::exists(fetched, ignored) || !std::filesystem::exists(bundled, ignored)) return fetched.string();
  return bundled.string();
}

std::string missing_dataset_message(const Entry<DatasetTag::Value>& entry) {
  const auto found = catalogue().find(entry.name);
  if (found == catalogue().end()) return fmt::format("the bundled data set {} is not there", entry.name);
  if (!found->second.is_graph)
    return fmt::format("{} holds parameters for another program, not a graph: {}", entry.name, entry.description);
  return fmt::format(
      "data set {} has not been fetched; scripts/fetch_dataset {} gets it from {} (its folder is "
      "$STROBE_DATA_DIR, or without it ~/.local/share/strobe)",
      entry.name, entry.name, entry.value.origin);
}

std::string listed_difference(const std::string& name, std::int64_t vertices, std::int64_t events) {
  const auto found = catalogue().find(name);
  if (found == catalogue().end()) return "";
  const CatalogueSet& set = found->second;
  const bool same = vertices == set.listed_vertices.value_or(vertices) && events == set.listed_events.value_or(events);
  if (same) return "";
  const auto listed = [](const std::optional<std::int64_t>& count) {
    return count ? format_count(*count) : "no number of";
  };
  return fmt::format("{} vertices and {} events were read; the catalogue lists {} vertices and {} events ({})",
                     format_count(vertices), format_count(events), listed(set.listed_vertices),
                     listed(set.listed_events), set.listed_source);
}

}  // namespace strobe
