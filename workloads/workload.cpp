// Finds a workload by name or path and turns it into snapshots.
// Names come first: a file called like a data set or generator is reached as ./NAME. Bundled files are checked against
// their SHA-256 before and against their known counts after reading. Cost: reading, hashing once more, and windows.
#include "workloads/workload.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "core/units.hpp"

namespace strobe {
namespace {

constexpr std::int64_t default_slices = 20;

enum class Kind { dataset, generator, path };

Kind find_kind(const std::string& workload, const std::string& where) {
  if (DatasetRegistry::instance().contains(workload)) return Kind::dataset;
  if (GeneratorRegistry::instance().contains(workload)) return Kind::generator;
  std::error_code ignored;
  if (!workload.empty() && std::filesystem::exists(workload, ignored)) return Kind::path;
  std::vector<std::string> names = DatasetRegistry::instance().names();
  for (const std::string& name : GeneratorRegistry::instance().names()) names.push_back(name);
  throw InvalidRequest(where,
                       unknown_name_message("workload", workload, names) + " There is no file of that name either.");
}

bool has_window(const FileOptions& options) {
  return !options.window.empty() || options.window_events != 0 || options.window_count != 0;
}

/// Checks what the field table cannot: one window option at most, and a duration that is one.
void check_options(const FileOptions& options, const std::string& pointer) {
  const int chosen = !options.window.empty() + (options.window_events != 0) + (options.window_count != 0);
  if (chosen > 1)
    throw InvalidRequest(pointer, "window, window_events and window_count exclude each other; give one of them");
  if (!options.window.empty()) parse_duration_seconds(options.window, pointer + "/window");
  if (!options.format.empty()) FormatRegistry::instance().find(options.format, pointer + "/format");
}

/// The options with the data set's own windows where the user chose none.
FileOptions options_for(const std::string& workload, Kind kind, const Json& parameters, const std::string& pointer) {
  auto options = from_json<FileOptions>(file_option_fields(), parameters, pointer);
  check_options(options, pointer);
  if (kind == Kind::dataset && !has_window(options)) {
    const Windowing& own = DatasetRegistry::instance().find(workload).value.windowing;
    options.window = own.duration;
    options.window_events = own.events;
    options.window_count = own.count;
  }
  return options;
}

void check_sum(const std::string& path, const std::string& expected) {
  if (!std::filesystem::is_regular_file(path)) throw InvalidInput(path, 0, 0, "the data set's file is missing");
  const std::string found = sha256_file(path);
  if (!expected.empty() && found != expected) {
    throw InvalidInput(path, 0, 0, fmt::format("the sha256 is {}, the catalogue says {}", found, expected));
  }
}

EventGraph read_dataset(const Entry<DatasetTag::Value>& entry, const FileOptions& options) {
  const DatasetTag::Value& set = entry.value;
  const std::filesystem::path folder = data_directory();
  const std::string path = (folder / set.file).string();
  if (set.file.empty() || !std::filesystem::exists(path)) {
    throw InvalidInput(
        path, 0, 0,
        fmt::format("data set {} is not there; get it from {} and set STROBE_DATA_DIR", entry.name, set.origin));
  }
  check_sum(path, set.sha256);
  if (!set.companion.empty()) check_sum((folder / set.companion).string(), set.companion_sha256);
  EventGraph events = read_events(path, options.format.empty() ? set.format : options.format, options.ids);
  const bool own_ids = options.ids == "auto";  // the catalogue counts the vertices that the format makes by itself
  if ((own_ids && set.expected_vertices != 0 && events.vertices != set.expected_vertices) ||
      (set.expected_events != 0 && events.events() != set.expected_events)) {
    throw InvalidInput(path, 0, 0,
                       fmt::format("{} vertices and {} events were read, the catalogue says {} and {}", events.vertices,
                                   events.events(), set.expected_vertices, set.expected_events));
  }
  events.provenance.name = entry.name;
  events.provenance.source = set.origin;
  events.provenance.licence = set.licence;
  return events;
}

EventGraph read_graph(const std::string& workload, Kind kind, const FileOptions& options) {
  if (kind == Kind::dataset) return read_dataset(DatasetRegistry::instance().find(workload), options);
  return read_events(workload, options.format, options.ids);
}

}  // namespace

const FieldTable& file_option_fields() {
  static const FieldTable table =
      make_fields<FileOptions>()
          .text("format", &FileOptions::format, "file format; empty = detect from the content")
          .text("window", &FileOptions::window,
                "duration of a step, such as 30d or 1h (a number of steps when the file counts steps)")
          .integer("window_events", &FileOptions::window_events, "", "events in a step; 0 = not by events", 0)
          .integer("window_count", &FileOptions::window_count, "", "number of equal time slices; 0 = not by count", 0)
          .choice("partial", &FileOptions::partial, {"keep", "drop"},
                  "what becomes of a last window that the data does not fill")
          .choice("weights", &FileOptions::weights, {"count", "binary", "file"},
                  "value of an edge: its events in the step, 1, or the sum of their weights in the file")
          .choice("orientation", &FileOptions::orientation, {"in", "out", "both"},
                  "in: a vertex reads the sources of its incoming edges; out: the reverse; both: both")
          .choice("ids", &FileOptions::ids, {"auto", "shared", "offset"},
                  "equal source and target ids: one vertex (shared), two (offset), or as the format says (auto)");
  return table;
}

std::string data_directory() {
  const char* chosen = std::getenv("STROBE_DATA_DIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : STROBE_SOURCE_DATA_DIR;
}

Windowing windowing_for(const FileOptions& options, const EventGraph& events, std::vector<std::string>& notes) {
  Windowing windowing{options.window, options.window_events, options.window_count, options.partial, options.weights};
  if (has_window(options) || events.stepped || events.events() == 0) return windowing;
  const bool one_time = events.time.front() == events.time.back();
  windowing.count = one_time ? 1 : default_slices;
  notes.push_back(
      one_time ? "all events have one time, so there is one step"
               : fmt::format("no window was given, so the time span was cut into {} equal slices", default_slices));
  return windowing;
}

SnapshotGraph load_workload(const std::string& workload, const Json& parameters, std::uint64_t seed) {
  const Kind kind = find_kind(workload, "--workload");
  if (kind == Kind::generator) {
    const auto& entry = GeneratorRegistry::instance().find(workload);
    return entry.value(entry.parameters.complete(parameters, "/workload"), seed);
  }
  const FileOptions options = options_for(workload, kind, parameters, "/workload");
  EventGraph events = read_graph(workload, kind, options);
  const Windowing windowing = windowing_for(options, events, events.provenance.notes);
  return make_snapshots(events, windowing, options.orientation);
}

Json complete_workload_parameters(const std::string& workload, const Json& parameters, const std::string& pointer) {
  const Kind kind = find_kind(workload, pointer + "/name");
  if (kind == Kind::generator)
    return GeneratorRegistry::instance().find(workload).parameters.complete(parameters, pointer);
  const FileOptions options = options_for(workload, kind, parameters, pointer);
  return file_option_fields().to_json(&options);
}

std::optional<EventGraph> load_events(const std::string& workload, const Json& parameters) {
  const Kind kind = find_kind(workload, "--workload");
  if (kind == Kind::generator) return std::nullopt;
  return read_graph(workload, kind, options_for(workload, kind, parameters, "/workload"));
}

}  // namespace strobe
