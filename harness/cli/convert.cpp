// `strobe convert IN OUT`: converts events of any readable format to Strobe's binary graph (.strobe) or to CSV (.csv).
// It converts steps to Strobe's binary snapshots (.strobe). Steps come from a generator, a file of steps, or events
// with windows (chess:window=30d).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/units.hpp"
#include "harness/cli/command.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/output_path.hpp"
#include "harness/request/case_slots.hpp"
#include "harness/request/option_text.hpp"
#include "workloads/binary/binary_snapshots.hpp"
#include "workloads/generators/event_generation.hpp"
#include "workloads/graph/removals.hpp"
#include "workloads/reading/ids/vertex_names.hpp"
#include "workloads/storage/output_target.hpp"
#include "workloads/storage/reading_bound.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

constexpr const char* memory_option = "--host-memory-limit-gib";

struct ConvertRequest {
  std::string in, out, format, ids, seed = "1", memory;
};

void say_what_was_written(const std::string& path, std::int64_t vertices, const std::string& rest) {
  std::error_code problem;  // devices and pipes have no size
  const std::uintmax_t bytes = std::filesystem::file_size(path, problem);
  narrate(fmt::format("{}: {} vertices, {}{}", path, format_count(vertices), rest,
                      problem ? "" : ", " + format_bytes(static_cast<double>(bytes))));
}

/// Refuses to overwrite the input, because the output may lack a part of it.
void refuse_own_input(const std::string& out, const std::string& workload, const Json& parameters) {
  for (const auto& [key, file] : workload_files(workload, parameters)) {
    std::error_code ignored;
    if (!std::filesystem::equivalent(out, file, ignored)) continue;
    throw InvalidRequest(
        "OUT", fmt::format("'{}' is an input file ({}); name another file to write", out, key == "name" ? "IN" : key));
  }
}

/// Whether a parameter is about reading events. The others, such as windows, make steps of them.
bool is_about_reading(const std::string& key) {
  return key == "format" || key == "columns" || key == "ids" || key == "cache";
}

bool makes_steps(const std::string& workload, const Json& parameters) {
  const bool generated = EventGeneratorRegistry::instance().contains(workload);
  for (const auto& [key, value] : parameters.items())
    if (generated ? is_step_option(key) : !is_about_reading(key)) return true;
  return false;
}

using Parts = std::vector<std::string>;

/// The data of events that neither csv nor steps can hold.
Parts parts_of_events(const EventGraph& events) {
  Parts parts;
  if (!events.event_label.empty()) parts.push_back("event labels");
  if (events.edge_feature_width > 0)
    parts.push_back(fmt::format("{} features of each event", events.edge_feature_width));
  if (events.event_class_source.classes > 0) parts.push_back("classes of events");
  return parts;
}

/// The data that csv cannot hold.
Parts lost_in_csv(const EventGraph& events) {
  Parts lost;
  if (!events.vertex_label.empty()) lost.push_back("vertex labels");
  if (!events.vertex_name.empty() && !names_tell_apart(events.vertex_name))
    lost.push_back("names that not every vertex has, or several have");
  if (!events.timed_labels.time.empty()) lost.push_back("timed labels");
  for (std::string& part : parts_of_events(events)) lost.push_back(std::move(part));
  if (events.vertex_feature_width > 0)
    lost.push_back(fmt::format("{} features of each vertex", events.vertex_feature_width));
  return lost;
}

/// `form` is the format that cannot hold `lost`.
void say_what_is_lost(const Parts& lost, const std::string& form, const std::string& advice = "") {
  if (!lost.empty())
    narrate(fmt::format("left out, because {} not hold them: {}{}", form, fmt::join(lost, ", "), advice));
}

/// Removes the file's folder, so that converting the same file gives the same bytes everywhere.
void forget_folder(Provenance& provenance) {
  std::error_code ignored;
  if (std::filesystem::exists(provenance.source, ignored))
    provenance.source = std::filesystem::path(provenance.source).filename().string();
}

void convert_events(EventGraph events, const std::string& out, bool csv) {
  forget_folder(events.provenance);
  csv ? write_csv(events, out) : write_binary_graph(events, out);
  const std::int64_t removals = count_removals(events);
  say_what_was_written(out, events.vertices,
                       format_count(events.events() - removals) + " events" +
                           (removals > 0 ? ", " + format_count(removals) + " removals" : ""));
  if (csv) say_what_is_lost(lost_in_csv(events), "csv does", "; a .strobe file does");
}

void convert_steps(SnapshotGraph graph, const ConvertRequest& request, bool csv) {
  if (csv) {
    throw InvalidRequest("OUT",
                         fmt::format("'{}' gives steps, but csv holds events; write a .strobe file", request.in));
  }
  forget_folder(graph.provenance);
  write_binary_snapshots(graph, request.out);
  say_what_was_written(request.out, graph.vertices,
                       format_count(graph.steps()) + " steps, " + format_count(graph.edges()) + " edges");
}

/// The memory for rows that are read: the user's, or half of what this process may take.
std::uint64_t memory_for_rows(const ConvertRequest& request) {
  if (request.memory.empty()) return default_reading_bytes();
  constexpr double gib = 1024.0 * 1024 * 1024, least = 1024.0 * 1024;
  const double bytes = number_from_text(request.memory, memory_option) * gib;
  if (!(bytes >= least && bytes < 1e18))
    throw InvalidRequest(memory_option, "a limit is a number of GiB, at least 0.001; leave it out for half the memory");
  return static_cast<std::uint64_t>(bytes);
}

/// Where rows go that memory does not hold: the folder of the output, or of temporary files for a device or pipe.
std::string folder_for_rows(const std::string& out) {
  const OutputTarget target = output_target(out);
  const auto folder =
      target.direct ? std::filesystem::temp_directory_path() : std::filesystem::absolute(target.path).parent_path();
  return folder.string();
}

int convert(const ConvertRequest& request) {
  if (request.in.empty() || request.out.empty()) throw InvalidRequest("", "convert needs two files: IN and OUT");
  const std::string extension = std::filesystem::path(request.out).extension().string();
  if (extension != ".strobe" && extension != ".csv") {
    throw InvalidRequest(
        "OUT", fmt::format("'{}' should end in .strobe or .csv, which names the format to write", request.out));
  }
  check_output_file("OUT", request.out);
  const CaseSlot& slot = *find_case_slot("workload");
  NamedParameters named = split_named_parameters(request.in, slot.names(), "IN");
  if (!request.format.empty()) named.parameters.emplace_back("format", request.format);
  if (!request.ids.empty()) named.parameters.emplace_back("ids", request.ids);
  const Json parameters = typed_parameters(slot.fields(named.name, "IN"), named.parameters);
  if (parameters.contains("feature_scale"))
    throw InvalidRequest("IN feature_scale",
                         "convert keeps features as they are; give this option to the run that reads the file");
  refuse_own_input(request.out, named.name, parameters);
  const double seed = number_from_text(request.seed, "--seed");
  if (seed < 0 || seed != std::floor(seed)) throw InvalidRequest("--seed", "a seed is a whole number of at least 0");
  const BoundedReading bound(memory_for_rows(request), folder_for_rows(request.out));
  const bool csv = extension == ".csv";
  const auto whole_seed = static_cast<std::uint64_t>(seed);
  const std::optional<EventGraph> events =
      makes_steps(named.name, parameters) ? std::nullopt : load_events(named.name, parameters, whole_seed);
  Parts lost;  // of events whose steps are written
  if (events)
    convert_events(*events, request.out, csv);
  else
    convert_steps(load_workload(named.name, parameters, whole_seed,
                                [&](const EventGraph& read) { lost = parts_of_events(read); }),
                  request, csv);
  say_what_is_lost(lost, "steps do");
  return 0;
}

/// Complaints about a workload name the option of `run`; here it is the first argument.
int convert_named(const ConvertRequest& request) {
  try {
    return convert(request);
  } catch (const InvalidRequest& error) {
    if (error.where() != "--workload" || !error.all().empty()) throw;
    throw InvalidRequest("IN", error.message());
  }
}

CommandAction define_convert(CommandOptions& options) {
  const auto request = std::make_shared<ConvertRequest>();
  options.positional("IN", request->in, "data set, generator (NAME:key=value,...) or file");
  options.positional("OUT", request->out, "file to write; .strobe or .csv");
  options.text("--format", request->format, "format of IN (default: recognised from its content)", "NAME");
  options.text("--ids", request->ids, "ids of two-sided files: auto, shared or offset (default: auto)",
               "auto|shared|offset");
  options.text("--seed", request->seed, "seed of a generator (default 1)", "N");
  options.text(
      memory_option, request->memory,
      "memory for rows of events, GiB; more rows are sorted in files next to OUT (default: half of the memory)", "N");
  options.example("Example: strobe convert mine.csv mine.strobe");
  return [request] { return convert_named(*request); };
}

const Register<CommandTag> convert_registered{
    {"convert", "convert a graph to Strobe's binary form or to CSV", "", {}, define_convert, {}}};

}  // namespace
}  // namespace strobe
