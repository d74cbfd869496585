#include "models/events/event_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/json_reader.hpp"
#include "models/snapshots/captured_values.hpp"

namespace strobe {
namespace {

/// The shape of an input that a part may read.
struct PartInputShape {
  std::int64_t width = 0;
  bool of_slots = false;  // a row for each neighbour
};
using PartInputShapes = std::map<std::string, PartInputShape>;

/// Reads the parts of one file.
class PartsReader {
 public:
  PartsReader(std::string source, std::int64_t memory, std::int64_t time)
      : source_(std::move(source)), memory_(memory), time_(time) {}

  EventParts read(const Json& json) {
    check_captured_version(json, source_);
    if (!json.contains("parts")) refuse("holds a model of snapshots; type --model captured:path=...");
    for (const auto& [key, ignored] : json.items()) {
      if (!std::set<std::string>{"format", "version", "memory", "time", "edge_features", "parts"}.contains(key))
        refuse("has the unknown key '" + key + "'");
    }
    expect_width("memory", json.at("memory").get<std::int64_t>(), memory_);
    expect_width("time", json.at("time").get<std::int64_t>(), time_);
    EventParts parts;
    parts.source = source_;
    parts.edge_features = json.at("edge_features").get<std::int64_t>();
    if (parts.edge_features < 0) refuse("has a negative number of edge features");
    read_parts(json.at("parts"), parts);
    return parts;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { throw InvalidInput(source_, 0, 0, why); }

  void expect_width(const std::string& option, std::int64_t there, std::int64_t asked) const {
    if (there == asked) return;
    throw InvalidRequest("/model/" + option,
                         fmt::format("'{}' has parts for {}={}, and the model has {}={}; type {}={}", source_, option,
                                     there, option, asked, option, there));
  }

  void read_parts(const Json& json, EventParts& parts) const {
    for (const auto& [name, ignored] : json.items()) {
      if (name != "message" && name != "updater" && name != "embedding")
        refuse("has the unknown part '" + name + "'; known: message, updater, embedding");
    }
    std::int64_t message = 2 * memory_ + time_ + parts.edge_features;
    if (json.contains("message")) {
      parts.message = part("message", json,
                           {{"memory", {memory_}},
                            {"other_memory", {memory_}},
                            {"time_encoding", {time_}},
                            {"edge_features", {parts.edge_features}}});
      message = parts.message->output_width();
    }
    if (json.contains("updater")) {
      parts.updater = part("updater", json, {{"message", {message}}, {"memory", {memory_}}});
      if (parts.updater->output_width() != memory_)
        refuse(fmt::format("has an updater whose result is {} wide, and memory is {}", parts.updater->output_width(),
                           memory_));
    }
    if (json.contains("embedding"))
      parts.embedding = part("embedding", json,
                             {{"memory", {memory_}},
                              {"root_time", {time_}},
                              {"neighbours", {memory_, true}},
                              {"neighbour_times", {time_, true}},
                              {"edge_features", {parts.edge_features, true}}});
  }

  CapturedPart part(const std::string& name, const Json& json, const PartInputShapes& allowed) const {
    CapturedPart part = read_captured_part(json.at(name), source_);
    for (std::size_t i = 0; i < part.inputs.size(); ++i) {
      const auto found = allowed.find(part.inputs[i]);
      if (found == allowed.end()) {
        std::string known;
        for (const auto& [input, ignored] : allowed) known += (known.empty() ? "" : ", ") + input;
        refuse(fmt::format("has the part '{}', which reads '{}'; it may read {}", name, part.inputs[i], known));
      }
      if (found->second.width != part.widths[i])
        refuse(fmt::format("has the part '{}', which reads '{}' of width {} in place of {}", name, part.inputs[i],
                           part.widths[i], found->second.width));
      if (found->second.of_slots != part.graph.of_slots[i])
        refuse(fmt::format("has the part '{}', whose input '{}' must {}be of neighbours", name, part.inputs[i],
                           found->second.of_slots ? "" : "not "));
    }
    for (const CapturedOperation& operation : part.graph.operations) {
      if (name != "embedding" && is_of_events(operation.kind))
        refuse("has the part '" + name + "', which looks at neighbours; only an embedding does");
    }
    return part;
  }

  std::string source_;
  std::int64_t memory_, time_;
};

/// Hands the file's weights to the parts, and keeps those that no part has.
void take_weights(std::vector<SavedMatrix> matrices, const std::string& source, EventParts& parts) {
  for (std::optional<CapturedPart>* part : {&parts.message, &parts.updater, &parts.embedding}) {
    if (!part->has_value()) continue;
    CapturedGraph& graph = (*part)->graph;
    const auto of_part = [&](const SavedMatrix& matrix) {
      return std::any_of(graph.weights.begin(), graph.weights.end(),
                         [&](const CapturedWeight& weight) { return weight.name == matrix.name; });
    };
    const auto others = std::stable_partition(matrices.begin(), matrices.end(), of_part);
    set_captured_weights(graph, {matrices.begin(), others}, source);
    matrices.erase(matrices.begin(), others);
  }
  parts.own = std::move(matrices);
}

}  // namespace

EventParts read_event_parts(const std::string& path, std::int64_t memory, std::int64_t time) {
  namespace files = std::filesystem;
  if (path.empty()) return {};
  const bool folder = files::is_directory(path);
  const std::string file = folder ? (files::path(path) / "model.json").string() : path;
  if (!files::exists(file)) throw InvalidRequest("/model/path", "there is no file '" + file + "'");
  const Json json = read_json_object(file);
  EventParts parts = read_json_values(file, [&] { return PartsReader(file, memory, time).read(json); });
  const std::string weights = (files::path(path) / "weights.safetensors").string();
  if (folder && files::exists(weights)) take_weights(read_safetensors(weights), weights, parts);
  return parts;
}

void add_weights(const CapturedPart& part, std::vector<ParameterShape>& shapes) {
  for (const CapturedWeight& weight : part.graph.weights) {
    shapes.push_back(glorot(weight.name, weight.rows == 0 ? part.graph.features : weight.rows, weight.columns));
    if (weight.bound >= 0) shapes.back().bound = weight.bound;
    shapes.back().start = weight.start;
  }
}

void start_from(const EventParts& parts, std::vector<ParameterShape>& shapes) {
  std::set<std::string> names;
  for (const ParameterShape& shape : shapes) {
    if (!names.insert(shape.name).second)
      throw InvalidInput(parts.source, 0, 0, "has the weight '" + shape.name + "', which is there already");
  }
  for (const SavedMatrix& matrix : parts.own) {
    const auto found = std::find_if(shapes.begin(), shapes.end(),
                                    [&](const ParameterShape& shape) { return shape.name == matrix.name; });
    if (found == shapes.end() || found->rows != matrix.rows || found->columns != matrix.columns)
      throw InvalidInput(parts.source, 0, 0,
                         fmt::format("has next to it the weight '{}' [{}, {}], which the model does not have",
                                     matrix.name, matrix.rows, matrix.columns));
    if (!std::all_of(matrix.values.begin(), matrix.values.end(), [](double value) { return std::isfinite(value); }))
      throw InvalidInput(parts.source, 0, 0,
                         "has next to it a value in weight '" + matrix.name + "' that is no finite number");
    found->start = matrix.values;
  }
}

Var run_part(Tape& tape, const Parameters& parameters, const CapturedPart& part, const PartInput& input) {
  CapturedValues values(tape, part.graph, parameters);
  for (std::size_t i = 0; i < part.inputs.size(); ++i) values.set(i, input(part.inputs[i]));
  return values.get(part.graph.output);
}

}  // namespace strobe
