// `strobe shape new`: writes a shape file from the few numbers that a user knows of a graph.
#include "workloads/shape/shape.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/units.hpp"
#include "harness/cli/described/new_file.hpp"
#include "harness/request/option_text.hpp"

namespace strobe {
namespace {

constexpr const char* typed_source = "given on the command line";
constexpr std::int64_t degree_features = 2;

struct ShapeCommand {
  std::string action, vertices, steps, edges, features, out;
  std::vector<std::string> smoothing;
};

std::int64_t needed_count(const std::string& text, const std::string& flag, const char* what) {
  if (text.empty()) throw InvalidRequest(flag, fmt::format("a shape needs {}", what));
  return parse_count(text, flag);
}

/// Reads "m_product:edges=1.1G,window=5". The window may be left out.
SmoothedStatistics smoothed_of(const std::string& text) {
  const std::string flag = "--smoothing";
  const std::vector<std::string> kinds = {"union", "m_product", "edge_life"}, keys = {"edges", "window"};
  const NamedParameters named = split_named_parameters(text, kinds, flag);
  SmoothedStatistics result;
  result.smooth = named.name;
  if (std::find(kinds.begin(), kinds.end(), named.name) == kinds.end())
    throw InvalidRequest(flag, unknown_name_message("smoothing", named.name, kinds));
  for (const auto& [key, value] : named.parameters) {
    if (key != "edges" && key != "window") throw InvalidRequest(flag, unknown_name_message("parameter", key, keys));
    if (key == "edges") result.edges = parse_count(value, flag + " edges");
    if (key == "window") result.window = parse_count(value, flag + " window");
  }
  if (result.edges == 0)
    throw InvalidRequest(flag, fmt::format("give the edges after smoothing, such as {}:edges=1.1G", named.name));
  return result;
}

/// Refuses numbers that no graph has. Steps of a graph are at most a million (workloads/shape/shape_graph.cpp).
void check_sizes(const GraphStatistics& shape) {
  const auto vertices = static_cast<double>(*shape.vertices), steps = static_cast<double>(*shape.steps);
  const auto edges = static_cast<double>(*shape.edges);
  if (steps > 1e6) throw InvalidRequest("--steps", fmt::format("{} steps are more than a million", *shape.steps));
  if (vertices * steps > 9007199254740992.0)
    throw InvalidRequest("--vertices", "vertices times steps are more than 2^53");
  if (edges > vertices * vertices * steps)
    throw InvalidRequest("--edges", fmt::format("{} edges are more than {} steps of {} vertices can have", *shape.edges,
                                                *shape.steps, *shape.vertices));
  for (const SmoothedStatistics& entry : shape.smoothed) {
    const double window = static_cast<double>(std::min(entry.window.value_or(*shape.steps), *shape.steps));
    if (entry.edges >= *shape.edges && static_cast<double>(entry.edges) <= edges * window) continue;
    throw InvalidRequest("--smoothing",
                         fmt::format("{} edges cannot be: smoothing leaves at least the {} edges of --edges, and at "
                                     "most {:.0f} times as many",
                                     entry.edges, *shape.edges, window));
  }
}

GraphStatistics described(const ShapeCommand& command) {
  GraphStatistics shape;
  Complaints complaints;
  complaints.hear([&] { shape.vertices = needed_count(command.vertices, "--vertices", "its number of vertices"); });
  complaints.hear([&] { shape.steps = needed_count(command.steps, "--steps", "its number of steps"); });
  complaints.hear([&] { shape.edges = needed_count(command.edges, "--edges", "the edges of all steps together"); });
  complaints.hear([&] {
    shape.feature_width = command.features.empty() ? degree_features : parse_count(command.features, "--features");
  });
  for (const std::string& text : command.smoothing)
    complaints.hear([&] { shape.smoothed.push_back(smoothed_of(text)); });
  complaints.raise();
  check_sizes(shape);
  shape.name = command.out.empty() ? "shape" : std::filesystem::path(command.out).stem().string();
  shape.description = "A graph known by its sizes alone.";
  shape.sources["*"] = typed_source;
  if (command.features.empty()) shape.sources["feature_width"] = "default: in- and out-degree";
  shape.unknown["*"] = "not given on the command line";
  return shape;
}

NewFile new_shape(const ShapeCommand& command) {
  const GraphStatistics shape = described(command);
  const Json json = to_json(shape);
  shape_from_json(json, "shape");  // what is written can be read
  return {json,
          fmt::format("{} vertices, {} steps, {} edges", format_count(*shape.vertices), format_count(*shape.steps),
                      format_count(*shape.edges)),
          "strobe plan --workload {} --model tm-gcn --clusters all"};
}

CommandAction define_shape(CommandOptions& options) {
  const auto command = std::make_shared<ShapeCommand>();
  take_new_action(options, command->action);
  options.text("--vertices", command->vertices, "number of vertices, such as 5M", "N");
  options.text("--steps", command->steps, "number of steps (snapshots)", "N");
  options.text("--edges", command->edges, "edges of all steps together, such as 100M", "N");
  options.text("--features", command->features, "features of a vertex (default 2: its degrees)", "N");
  options.repeated("--smoothing", command->smoothing,
                   "edges of all steps after a model's smoothing, such as m_product:edges=1.1G,window=5; without it, "
                   "no edge is assumed to come again",
                   "KIND:edges=N");
  options.text("--out", command->out, "file to write (default: standard output)", "FILE");
  options.example(
      "K, M and G stand for thousands, millions and billions.\n"
      "Example: strobe shape new --vertices 5M --steps 100 --edges 100M --out my.json");
  return
      [command] { return write_new_file(command->action, command->out, [&command] { return new_shape(*command); }); };
}

const Register<CommandTag> shape_registered{
    {"shape", "write a shape: a graph known by its sizes, to plan for", "", {}, define_shape, {}}};

}  // namespace
}  // namespace strobe
