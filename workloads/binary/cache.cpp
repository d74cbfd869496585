// Returns exactly the graph that reading the text would return. The binary graph keeps all values and the provenance;
// only the source's name follows the requested path.
// Invariant: a cached graph is used only when no file that the reading looked at has changed since. This includes
// changes during the reading, and companions that were not there. Cost of a hit: one look at each file and page faults.
// Cost of a miss: the reading and one write. A reading takes at most half of the memory; its rows beyond that lie in
// files of the cache's folder until the cached file, which is mapped, takes their place.
#include "workloads/binary/cache.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "workloads/binary/binary_graph.hpp"
#include "workloads/reading/text/inputs.hpp"
#include "workloads/storage/reading_bound.hpp"

namespace strobe {
namespace {

constexpr std::uint64_t least_bytes = std::uint64_t{1} << 20;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Json to_json(const InputFile& file) {
  return {file.path, file.exists, file.bytes, file.inode, file.modified_ns, file.changed_ns};
}

/// A rebuilt program may read files differently.
InputFile this_program() {
  std::error_code ignored;
  return look_at_file(std::filesystem::read_symlink("/proc/self/exe", ignored).string());
}

Json tag_of(const std::string& options, const std::vector<InputFile>& files) {
  Json inputs = Json::array();
  for (const InputFile& file : files) inputs.push_back(to_json(file));
  return {{"options", options}, {"program", to_json(this_program())}, {"inputs", std::move(inputs)}};
}

/// The current state of a tag's files, in the same form.
Json look_again(const Json& inputs) {
  Json now = Json::array();
  for (const Json& file : inputs) now.push_back(to_json(look_at_file(file.at(0).get<std::string>())));
  return now;
}

std::optional<EventGraph> find(const std::string& cached, const std::string& path, const std::string& options) {
  try {
    if (!std::filesystem::exists(cached)) return std::nullopt;
    TaggedGraph found = read_tagged_graph(cached);
    if (found.tag.at("options") != options || found.tag.at("program") != to_json(this_program()) ||
        found.tag.at("inputs") != look_again(found.tag.at("inputs")))
      return std::nullopt;
    found.graph.provenance.source = path;
    found.graph.provenance.name = std::filesystem::path(path).filename().string();
    return std::move(found.graph);
  } catch (const std::exception&) {  // damaged or of another version: read the source, and replace it
    return std::nullopt;
  }
}

void store(const EventGraph& graph, const std::vector<InputFile>& files, const std::string& options,
           const std::string& cached) {
  const Json tag = tag_of(options, files);
  if (tag.at("inputs") != look_again(tag.at("inputs"))) return;  // changed while it was read
  std::filesystem::create_directories(std::filesystem::path(cached).parent_path());
  write_tagged_graph(graph, tag, cached);
}

/// Whether there is a folder for rows that memory does not hold.
bool make_folder(const std::string& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  return !problem;
}

}  // namespace

std::string cache_folder() {
  if (variable("STROBE_CACHE") == "off") return "";
  if (const std::string chosen = variable("STROBE_CACHE_DIR"); !chosen.empty()) return chosen;
  if (const std::string caches = variable("XDG_CACHE_HOME"); !caches.empty()) return caches + "/strobe";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/strobe";
  return "";
}

EventGraph read_through_cache(const std::string& path, const std::string& options,
                              const std::function<EventGraph()>& read) {
  const std::string folder = cache_folder();
  const InputFile source = look_at_file(path);
  if (folder.empty() || !source.exists || source.bytes < least_bytes) return read();
  const std::string cached = folder + "/" + sha256_hex(source.path + '\n' + options).substr(0, 32) + ".strobe";
  if (std::optional<EventGraph> found = find(cached, path, options)) return std::move(*found);
  std::optional<BoundedReading> bound;
  if (reading_bound() == nullptr && make_folder(folder)) bound.emplace(default_reading_bytes(), folder);
  InputLog log;
  EventGraph graph = read();
  if (graph.provenance.format == "strobe-binary") return graph;
  try {
    store(graph, log.files(), options, cached);
    if (reading_bound() == nullptr || !reading_bound()->exceeded) return graph;
    if (std::optional<EventGraph> found = find(cached, path, options)) return std::move(*found);
  } catch (const std::exception& error) {
    graph.provenance.notes.push_back(std::string("the binary cache was not written: ") + error.what());
  }
  return graph;
}

}  // namespace strobe
