// `strobe inspect W`: prints statistics of a workload or of a shape.
#include "workloads/inspect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/content_digest.hpp"
#include "core/shown_text.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/figure.hpp"
#include "harness/cli/inspect/inspect_captured.hpp"
#include "harness/cli/inspect/inspect_explain.hpp"
#include "harness/cli/inspect/inspect_presence.hpp"
#include "harness/cli/inspect/inspect_task.hpp"
#include "harness/cli/profile_text.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/output_path.hpp"
#include "harness/request/case_slots.hpp"
#include "harness/request/option_text.hpp"
#include "workloads/graph/presence.hpp"
#include "workloads/storage/atomic_file.hpp"

namespace strobe {
namespace {

struct InspectRequest {
  std::string workload;
  std::map<std::string, std::string> options;
  std::vector<std::string> sets;
  std::string seed = "1";
  std::string shape, figure, task, presence, captured, csv;
  bool json = false, explain = false;
};

/// A shape has the degrees for these windows, which models are likely to need for smoothing.
const std::vector<std::int64_t> shape_windows = {1, 2, 3, 4, 5, 8, 10, 15, 20, 30};

bool is_shape(const std::string& name) {
  const std::vector<std::string> shapes = shape_names();
  return std::find(shapes.begin(), shapes.end(), name) != shapes.end() || is_shape_file(name);
}

void write_shape(const GraphStatistics& shape, AtomicFile& file) {
  file.write(with_digest(to_json(shape)).dump(1) + "\n");
  file.commit();
}

/// Prints a shape. Refuses options that need a graph.
int inspect_shape(const InspectRequest& request) {
  if (!request.task.empty())
    throw InvalidRequest("--task", fmt::format("{} is a shape, not a graph: it has no events", request.workload));
  if (!request.captured.empty())
    throw InvalidRequest("--captured-events",
                         fmt::format("{} is a shape, not a graph: it has no events", request.workload));
  if (!request.presence.empty())
    throw InvalidRequest(
        "--presence", fmt::format("{} is a shape, not a graph: which vertices have an edge at which step is not known",
                                  request.workload));
  if (!request.options.empty() || !request.sets.empty())
    throw InvalidRequest("W", fmt::format("{} is a shape, not a graph: it has no options", request.workload));
  const GraphStatistics shape = load_shape(request.workload);
  if (!request.shape.empty()) {
    AtomicFile file(request.shape);
    write_shape(shape, file);
  }
  const Json facts = to_json(shape);
  if (!request.figure.empty()) draw_figure("workload", facts, request.figure);
  print_data(request.json ? facts.dump(2) + "\n" : shown_lines(profile_text(facts)));
  return 0;
}

/// Refuses wrong requests before any work.
void check_request(const InspectRequest& request) {
  if (request.workload.empty()) throw InvalidRequest("", "name what to inspect: a data set, generator, shape or file");
  if (!request.figure.empty()) check_figure_path(request.figure);
  if (!request.shape.empty()) check_output_file("--shape", request.shape);
  if (!request.captured.empty()) batches_to_capture(request.captured);
  if (!request.presence.empty()) presences_to_inspect(request.presence);
  if (request.csv.empty()) return;
  if (request.captured.empty())
    throw InvalidRequest("--csv", "the file is for captured events; name batches with --captured-events 300,600,...");
  check_output_file("--csv", request.csv);
}

int inspect_request(const InspectRequest& request) {
  check_request(request);
  if (is_shape(request.workload) && !request.explain) return inspect_shape(request);
  const CaseSlot& slot = *find_case_slot("workload");
  NamedParameters named = split_named_parameters(request.workload, slot.names(), "W");
  for (const auto& [key, text] : request.options) named.parameters.emplace_back(key, text);
  for (const std::string& text : request.sets) named.parameters.push_back(split_assignment(text, "--set"));
  const Json parameters = typed_parameters(slot.fields(named.name, "W"), named.parameters);
  if (request.explain) {
    print_data(explain_file(named.name, parameters, request.json));
    return 0;
  }
  const double seed = number_from_text(request.seed, "--seed");
  if (seed < 0 || seed != std::floor(seed)) throw InvalidRequest("--seed", "a seed is a whole number of at least 0");
  std::optional<AtomicFile> file;  // opened before the work, to refuse a folder without write access at once
  if (!request.shape.empty()) file.emplace(request.shape);
  auto [facts, shape] = inspect(named.name, parameters, static_cast<std::uint64_t>(seed),
                                file ? shape_windows : std::vector<std::int64_t>{1});
  if (file) write_shape(shape, *file);
  if (!request.task.empty())
    facts["task"] = inspect_task(request.task, named.name, parameters, static_cast<std::uint64_t>(seed));
  if (!request.captured.empty())
    facts["captured_events"] = inspect_captured(batches_to_capture(request.captured), request.csv, named.name,
                                                parameters, static_cast<std::uint64_t>(seed));
  if (!request.presence.empty())
    facts["presence"] = inspect_presence(presences_to_inspect(request.presence), named.name, parameters,
                                         static_cast<std::uint64_t>(seed));
  if (!request.figure.empty()) draw_figure(request.presence.empty() ? "workload" : "sequences", facts, request.figure);
  print_data(request.json ? facts.dump(2) + "\n" : shown_lines(profile_text(facts)));
  return 0;
}

CommandAction define_inspect(CommandOptions& options) {
  const auto request = std::make_shared<InspectRequest>();
  options.positional("W", request->workload, "data set, generator (NAME:key=value,...), shape or file");
  options.fields(file_option_fields(), request->options);
  options.repeated("--set", request->sets, "key=value: a parameter of the workload", "KEY=VALUE");
  options.text("--seed", request->seed, "seed of a generator (default 1)", "N");
  options.toggle("--json", request->json, "print JSON");
  options.toggle(
      "--explain", request->explain,
      "only explain how a file would be read: its format, what each column likely is and why, and the command to type");
  options.text("--shape", request->shape, "write the workload's shape (statistics without the graph) to this file",
               "FILE");
  options.text(
      "--task", request->task,
      "also print what rules that learn nothing reach in this task of events, such as future-links:candidates=all",
      "NAME");
  options.text("--presence", request->presence,
               "also the number of cells and the lengths of vertices' sequences, for one or more of " +
                   fmt::format("{}", fmt::join(presence_kinds(), ",")),
               "KINDS");
  options.text("--captured-events", request->captured,
               "also the share of the events that node memory misses with batches of these sizes, such as "
               "300,600,1200",
               "N,...");
  options.text("--csv", request->csv, "write the captured events of each vertex to this file", "FILE");
  options.text("--figure", request->figure,
               "draw steps, overlap and distributions, or with --presence how edges of steps and lengths of sequences "
               "are distributed, as this .png or .svg (writes both)",
               "FILE");
  options.example("Example: strobe inspect chess --window 30d --figure chess.png");
  return [request] { return inspect_request(*request); };
}

const Register<CommandTag> inspect_registered{
    {"inspect", "vertices, steps, edges per step, overlap and degrees of a workload", "", {}, define_inspect, {}}};

}  // namespace
}  // namespace strobe
