// Finds a workload by name or path and turns it into snapshots.
// Names come first: a file called like a data set or generator is reached as ./NAME. Bundled files are checked against
// their SHA-256 before and against their known counts after reading. Cost: reading, hashing once more, and windows.
#include "workloads/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "workloads/binary/cache.hpp"
#include "workloads/catalog/catalog.hpp"
#include "workloads/generators/event_generation.hpp"
#include "workloads/graph/outlying_times.hpp"
#include "workloads/graph/sides.hpp"
#include "workloads/graph/snapshot_file.hpp"
#include "workloads/graph/step_range.hpp"
#include "workloads/graph/window_span.hpp"
#include "workloads/graph/windows.hpp"
#include "workloads/preparation/feature_scale.hpp"
#include "workloads/reading/events/compact_dates.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/vertex_data.hpp"
#include "workloads/reading/ids/id_space.hpp"
#include "workloads/reading/text/csv_columns.hpp"
#include "workloads/reading/text/dates.hpp"
#include "workloads/shape/shape.hpp"
#include "workloads/shape/shape_graph.hpp"

namespace strobe {
namespace {

constexpr std::int64_t default_slices = 20;

enum class Kind { dataset, generator, event_generator, path, shape };

/// Meant as a path rather than as a name: it has a folder or an ending. No name of a workload has either.
bool looks_like_file(const std::string& workload) {
  return workload.find_first_of("/\\") != std::string::npos || std::filesystem::path(workload).has_extension();
}

Kind find_kind(const std::string& workload, const std::string& where) {
  if (find_dataset(workload) != nullptr) return Kind::dataset;
  if (GeneratorRegistry::instance().contains(workload)) return Kind::generator;
  if (EventGeneratorRegistry::instance().contains(workload)) return Kind::event_generator;
  if (is_shape_workload(workload)) return Kind::shape;
  std::error_code ignored;
  if (!workload.empty() && std::filesystem::exists(workload, ignored)) return Kind::path;
  const std::vector<std::string> shapes = shape_names();
  std::vector<std::string> names = dataset_names();
  names.insert(names.end(), shapes.begin(), shapes.end());
  for (const std::string& name : GeneratorRegistry::instance().names()) names.push_back(name);
  for (const std::string& name : EventGeneratorRegistry::instance().names()) names.push_back(name);
  if (looks_like_file(workload)) {
    const std::string nearest = nearest_name(workload, names);
    throw InvalidRequest(where,
                         fmt::format("there is no file '{}' (looked for it in {}){}; strobe list workloads names "
                                     "what needs no file",
                                     workload, std::filesystem::current_path(ignored).string(),
                                     nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
  }
  throw InvalidRequest(where,
                       unknown_name_message("workload", workload, names) + " There is no file of that name either.");
}

/// Loading needs a graph.
void refuse_shape(const std::string& workload, Kind kind, const std::string& where) {
  if (kind != Kind::shape) return;
  throw InvalidRequest(where, fmt::format("{} is a shape: statistics without a graph to load; strobe inspect {} prints "
                                          "them, and device sim with numerics none runs on them",
                                          workload, workload));
}

bool has_window(const FileOptions& options) {
  return !options.window.empty() || options.window_events != 0 || options.window_count != 0;
}

/// Checks what the field table cannot: at most one window option, and a valid duration.
void check_options(const FileOptions& options, const std::string& pointer) {
  const int chosen = !options.window.empty() + (options.window_events != 0) + (options.window_count != 0);
  if (chosen > 1)
    throw InvalidRequest(pointer, "window, window_events and window_count exclude each other; give one of them");
  const int repeating = options.cumulative + !options.stride.empty() + (options.lags != 0) + (options.edge_life != 1);
  if (repeating > 1)
    throw InvalidRequest(pointer, "cumulative, stride, lags and edge_life exclude each other; give one of them");
  if (!options.window.empty()) parse_window(options.window, pointer + "/window");
  if (!options.format.empty()) FormatRegistry::instance().find(options.format, pointer + "/format");
  if (!options.missing.empty()) missing_value(options.missing, pointer + "/missing");
  if (!options.columns.empty()) column_names(options.columns, pointer + "/columns");
}

/// The options with the data set's own windows where the user chose none.
FileOptions options_for(const std::string& workload, Kind kind, const Json& parameters, const std::string& pointer) {
  const Json given = without_feature_scale(parameters);
  FileOptions options = kind == Kind::event_generator
                            ? step_options(complete_event_parameters(workload, given, pointer))
                            : from_json<FileOptions>(file_option_fields(), given, pointer);
  check_options(options, pointer);
  if (kind == Kind::dataset && !has_window(options)) {
    const Windowing& own = find_dataset(workload)->value.windowing;
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

/// The data set's file, after checking that it exists and has the listed digest.
std::string dataset_file(const Entry<DatasetTag::Value>& entry) {
  const DatasetTag::Value& set = entry.value;
  const std::string path = find_data_file(set.file);
  if (!std::filesystem::exists(path) || !is_graph(entry.name))
    throw InvalidInput(path, 0, 0, missing_dataset_message(entry));
  if (!set.sha256.empty()) check_sum(path, set.sha256);
  if (!set.companion.empty()) {
    const auto beside = std::filesystem::path(path).parent_path() / std::filesystem::path(set.companion).filename();
    check_sum(beside.string(), set.companion_sha256);
  }
  return path;
}

void check_counts(const DatasetTag::Value& set, std::int64_t vertices, std::int64_t rows, const std::string& path) {
  if ((set.expected_vertices == 0 || vertices == set.expected_vertices) &&
      (set.expected_events == 0 || rows == set.expected_events))
    return;
  throw InvalidInput(path, 0, 0,
                     fmt::format("{} vertices and {} events were read, the catalogue says {} and {}", vertices, rows,
                                 set.expected_vertices, set.expected_events));
}

void name_source(const Entry<DatasetTag::Value>& entry, Provenance& provenance) {
  provenance.name = entry.name;
  provenance.source = entry.value.origin;
  provenance.licence = entry.value.licence;
}

/// The file that `workload` names, and its format, which is found by reading only the beginning.
struct Source {
  std::string path;
  const Entry<DatasetTag::Value>* set = nullptr;
  const FormatTag::Value* format = nullptr;
};

Source find_source(const std::string& workload, Kind kind, const FileOptions& options) {
  Source source{workload};
  std::string format = options.format;
  if (kind == Kind::dataset) {
    source.set = find_dataset(workload);
    source.path = dataset_file(*source.set);
    if (format.empty()) format = source.set->value.format;
  }
  if (format.empty() && !options.columns.empty()) format = format_of_columns(source.path, options.columns);
  source.format = &find_format(source.path, format);
  if (!options.columns.empty() && source.format->read_columns == nullptr)
    throw InvalidRequest("columns",
                         fmt::format("the columns of format {} are fixed; columns is for csv and table", format));
  return source;
}

/// Compares the graph with the catalogue, and notes its origin.
void check_dataset(const Source& source, const FileOptions& options, EventGraph& events) {
  DatasetTag::Value expected = source.set->value;
  if (options.ids != "auto") expected.expected_vertices = 0;  // the catalogue counts those that the format makes itself
  check_counts(expected, events.vertices, events.events(), source.path);
  name_source(*source.set, events.provenance);
  const std::string difference = listed_difference(source.set->name, events.vertices, events.events());
  if (!difference.empty()) events.provenance.notes.push_back(difference);
}

EventGraph read_event_source(const Source& source, const FileOptions& options) {
  const auto read = [&] {
    EventGraph graph = options.columns.empty() ? source.format->read(source.path)
                                               : source.format->read_columns(source.path, options.columns);
    settle_ids(graph, options.ids, source.path);
    settle_dates(graph);
    return graph;
  };
  const std::string format =
      options.format.empty() && source.set != nullptr ? source.set->value.format : options.format;
  const std::string choices =
      "format=" + format + " ids=" + options.ids + (options.columns.empty() ? "" : " columns=" + options.columns);
  EventGraph events = options.cache == "on" ? read_through_cache(source.path, choices, read) : read();
  if (source.set != nullptr) check_dataset(source, options, events);
  settle_outlying_times(options.outliers, events);
  return events;
}

/// Weights that differ from 1 and stay unused are worth a word: counting events is a default that few think of.
void note_unused_weights(const FileOptions& options, const EventGraph& events, std::vector<std::string>& notes) {
  const bool all_one = std::all_of(events.weight.begin(), events.weight.end(), [](float w) { return w == 1.0f; });
  if (options.weights == "file" || all_one) return;
  notes.push_back(
      fmt::format("weights={}: the file's weights are not used; weights=file adds them up", options.weights));
}

SnapshotGraph read_snapshot_source(const Source& source, const FileOptions& options) {
  SnapshotGraph graph = source.format->read_snapshots(source.path);
  if (source.set != nullptr) {
    check_counts(source.set->value, graph.vertices, graph.provenance.rows, source.path);
    name_source(*source.set, graph.provenance);
  }
  // Strobe's own files hold the sides of all events; other files show them in their steps.
  if (graph.provenance.format != "strobe-snapshots") graph.side = sides_of_steps(graph);
  apply_options(options, graph);
  leave_out_missing(options.missing, graph);
  refuse_overflow(graph, source.path);
  return graph;
}

/// Refuses to cut events without times: all are at 0, so every window would hold all of them or, by number, any. A file
/// whose times happen to be all 0 is cut like one with any other time.
void refuse_windows_without_times(const FileOptions& options, const EventGraph& events) {
  const std::vector<std::string>& notes = events.provenance.notes;
  if (std::find(notes.begin(), notes.end(), no_times_note) == notes.end()) return;
  const char* const option = !options.window.empty()     ? "window"
                             : options.window_events > 0 ? "window_events"
                             : options.window_count > 1  ? "window_count"
                             : !options.stride.empty()   ? "stride"
                             : options.lags > 0          ? "lags"
                                                         : nullptr;
  if (option == nullptr) return;
  throw InvalidRequest(option,
                       fmt::format("{} has no times (all its events are at time 0), so it is one step and cannot "
                                   "be cut; take out this option",
                                   events.provenance.name));
}

/// Where windows begin that do not begin at the first event.
void note_window_origin(const FileOptions& options, const EventGraph& events, std::vector<std::string>& notes) {
  if (options.window.empty() || events.stepped || events.events() == 0) return;
  const WindowSpan length = parse_window(options.window, "window");
  if (length.origin == WindowSpan::Origin::first) return;
  const WindowSpan stride = options.stride.empty() ? length : parse_stride(options.stride, "stride");
  const double begin = WindowBorders(length, stride, events.time.front()).begin(0).nearest;
  notes.push_back(fmt::format("window={}: the first window begins at {} (UTC)", options.window, date_text(begin)));
}

}  // namespace

Windowing windowing_for(const FileOptions& options, const EventGraph& events, std::vector<std::string>& notes) {
  refuse_windows_without_times(options, events);
  Windowing windowing{options.window,    options.window_events, options.window_count, options.partial,
                      options.weights,   options.cumulative,    options.stride,       options.lags,
                      options.edge_life, options.min_edges};
  if (!options.missing.empty())
    throw InvalidRequest("missing", "this is a file of events, which have no values; missing is for files of steps");
  note_unused_weights(options, events, notes);
  note_window_origin(options, events, notes);
  if (has_window(options) || events.stepped || events.events() == 0) return windowing;
  const bool one_time = events.time.front() == events.time.back();
  windowing.count = one_time ? 1 : default_slices;
  notes.push_back(
      one_time ? "all events have one time, so there is one step"
               : fmt::format("no window was given, so the time span was cut into {} equal slices", default_slices));
  return windowing;
}

namespace {

SnapshotGraph steps_of_events(EventGraph events, const FileOptions& options) {
  const Windowing windowing = windowing_for(options, events, events.provenance.notes);
  StepCut kept;
  SnapshotGraph graph = make_snapshots(events, windowing, options.orientation, kept);
  keep_steps(options.steps, graph, kept);
  set_features(&events, options.features, graph);
  set_cell_labels(events, kept, options.labels, graph);
  note_event_labels(events, graph.provenance);
  return graph;
}

}  // namespace

SnapshotGraph load_workload(const std::string& workload, const Json& parameters, std::uint64_t seed,
                            const std::function<void(const EventGraph&)>& see_events) {
  const Kind kind = find_kind(workload, "--workload");
  refuse_shape(workload, kind, "--workload");
  if (kind == Kind::generator) {
    const auto& entry = GeneratorRegistry::instance().find(workload);
    return entry.value(entry.parameters.complete(without_feature_scale(parameters), "/workload"), seed);
  }
  const FileOptions options = options_for(workload, kind, parameters, "/workload");
  if (kind == Kind::event_generator)
    return steps_of_events(generate_events(workload, without_feature_scale(parameters), seed), options);
  const Source source = find_source(workload, kind, options);
  if (source.format->read_snapshots != nullptr) {
    SnapshotGraph graph = read_snapshot_source(source, options);
    set_features(nullptr, options.features, graph);
    return graph;
  }
  EventGraph events = read_event_source(source, options);
  if (see_events) see_events(events);
  return steps_of_events(std::move(events), options);
}

Json complete_workload_parameters(const std::string& workload, const Json& parameters, const std::string& pointer) {
  const Kind kind = find_kind(workload, pointer + "/name");
  const FieldTable& fields = kind == Kind::shape             ? shape_option_fields()
                             : kind == Kind::generator       ? GeneratorRegistry::instance().find(workload).parameters
                             : kind == Kind::event_generator ? event_workload_fields(workload)
                                                             : file_option_fields();
  Json given = with_feature_scale(fields).complete(
      kind == Kind::event_generator ? with_presets(workload, parameters) : parameters, pointer);
  if (given.at("feature_scale") == FeatureScaleOption().feature_scale) given.erase("feature_scale");  // ids stay
  if (kind == Kind::generator || kind == Kind::shape) return given;
  const FileOptions options = options_for(workload, kind, parameters, pointer);
  if (kind == Kind::event_generator) {
    if (given.at("steps") == "") given.erase("steps");  // ids of cases from before there was this option stay
    return given;
  }
  Json complete = file_option_fields().to_json(&options);
  if (options.labels == "auto") complete.erase("labels");  // ids of cases are older than this option
  // the measurements of a case do not depend on it, so its id must not either
  if (options.cache == "on") complete.erase("cache");
  // Ids of cases from before there were these options stay.
  if (options.columns.empty()) complete.erase("columns");
  if (options.missing.empty()) complete.erase("missing");
  if (options.steps.empty()) complete.erase("steps");
  if (options.outliers == "keep") complete.erase("outliers");
  if (given.contains("feature_scale")) complete["feature_scale"] = given.at("feature_scale");
  return complete;
}

std::map<std::string, std::string> workload_files(const std::string& workload, const Json& parameters) {
  std::map<std::string, std::string> files;
  const Kind kind = find_kind(workload, "--workload");
  if (kind != Kind::dataset && kind != Kind::path) return files;
  const FileOptions options = options_for(workload, kind, parameters, "/workload");
  if (std::filesystem::is_regular_file(options.features)) files["features"] = options.features;
  const DatasetTag::Value* set = kind == Kind::dataset ? &find_dataset(workload)->value : nullptr;
  const std::string path = set != nullptr ? find_data_file(set->file) : workload;
  if (!std::filesystem::is_regular_file(path)) return files;
  files["name"] = path;
  const FormatTag::Value& format = find_format(path, !options.columns.empty() && options.format.empty() ? "csv"
                                                     : options.format.empty() && set != nullptr         ? set->format
                                                                                                : options.format);
  if (format.companions == nullptr) return files;
  for (const std::string& file : format.companions(path))
    files["companion " + std::filesystem::path(file).filename().string()] = file;
  return files;
}

Json workload_digests(const std::string& workload, const Json& parameters) {
  Json digests = Json::object();
  for (const auto& [key, path] : workload_files(workload, parameters)) digests[key] = sha256_file(path);
  return digests;
}

std::optional<EventGraph> load_events(const std::string& workload, const Json& parameters, std::uint64_t seed) {
  const Kind kind = find_kind(workload, "--workload");
  if (kind == Kind::generator) return std::nullopt;
  refuse_shape(workload, kind, "--workload");
  const FileOptions options = options_for(workload, kind, parameters, "/workload");
  if (kind == Kind::event_generator) return generate_events(workload, without_feature_scale(parameters), seed);
  const Source source = find_source(workload, kind, options);
  if (source.format->read_snapshots != nullptr) return std::nullopt;
  return read_event_source(source, options);
}

}  // namespace strobe
