// Parts of tgn-attn as plain operations, which compute the same as the built-in ones (models/events/event_parts.hpp).
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe::event_test {

inline constexpr int memory_width = 6, time_width = 4, edge_width = 1;
inline constexpr int message_width = 2 * memory_width + time_width + edge_width;

inline Json plain_operation(const std::string& name, const std::string& kind, const std::vector<std::string>& of,
                            const Json& more = Json::object()) {
  Json json{{"name", name}, {"kind", kind}, {"of", of}};
  json.update(more);
  return json;
}

inline Json plain_input(const std::string& name, int width) { return {{"name", name}, {"width", width}}; }

/// The built-in message: the mail, the time encoding and the features, side by side.
inline Json plain_message() {
  return {
      {"inputs",
       {plain_input("memory", memory_width), plain_input("other_memory", memory_width),
        plain_input("time_encoding", time_width), plain_input("edge_features", edge_width)}},
      {"weights", Json::array()},
      {"operations", {plain_operation("m", "concat", {"memory", "other_memory", "time_encoding", "edge_features"})}},
      {"output", "m"}};
}

/// The GRU of docs/reference/event_models.md. Its weights have the built-in names and bounds, so that the seed draws
/// the same values.
inline Json plain_gru() {
  const double bound = 1.0 / std::sqrt(static_cast<double>(memory_width));
  const auto weight = [&](const std::string& name, int rows) {
    return Json{{"name", "memory." + name}, {"rows", rows}, {"columns", 3 * memory_width}, {"bound", bound}};
  };
  Json part{
      {"inputs", {plain_input("message", message_width), plain_input("memory", memory_width)}},
      {"weights",
       {weight("weight_x", message_width), weight("weight_h", memory_width), weight("bias_x", 1), weight("bias_h", 1)}},
      {"output", "next"}};
  Json& all = part["operations"] = Json::array();
  const auto add = [&](const std::string& name, const std::string& kind, const std::vector<std::string>& of,
                       const Json& more = Json::object()) { all.push_back(plain_operation(name, kind, of, more)); };
  add("gi", "dense", {"message", "memory.weight_x", "memory.bias_x"});
  add("gh", "dense", {"memory", "memory.weight_h", "memory.bias_h"});
  for (const char* from : {"gi", "gh"}) {
    for (int gate = 0; gate < 3; ++gate)
      add(fmt::format("{}{}", from, gate), "columns", {from},
          {{"first", gate * memory_width}, {"count", memory_width}});
  }
  add("r0", "combine", {"gi0", "gh0"});
  add("z0", "combine", {"gi1", "gh1"});
  add("r", "sigmoid", {"r0"});
  add("z", "sigmoid", {"z0"});
  add("rh", "multiply", {"r", "gh2"});
  add("n0", "combine", {"gi2", "rh"});
  add("n", "tanh", {"n0"});
  add("open", "affine", {"z"}, {{"p", -1}, {"q", 1}});
  add("new", "multiply", {"open", "n"});
  add("kept", "multiply", {"z", "memory"});
  add("next", "combine", {"new", "kept"});
  return part;
}

/// The attention of docs/reference/event_models.md with attention=head, one slot after the other. Weights have the
/// built-in names and bounds.
inline Json plain_attention() {
  constexpr int width = memory_width, heads = 2;
  const double query = 1.0 / std::sqrt(static_cast<double>(memory_width + time_width));
  const double keyed = 1.0 / std::sqrt(static_cast<double>(memory_width + edge_width + time_width));
  const auto weight = [](const std::string& name, int rows, int columns, double bound) {
    return Json{{"name", "attention." + name}, {"rows", rows}, {"columns", columns}, {"bound", bound}};
  };
  const auto of_slots = [](const std::string& name, int columns) {
    return Json{{"name", name}, {"width", columns}, {"of", "neighbours"}};
  };
  Json part{
      {"inputs",
       {plain_input("memory", memory_width), plain_input("root_time", time_width), of_slots("neighbours", memory_width),
        of_slots("neighbour_times", time_width), of_slots("edge_features", edge_width)}},
      {"weights",
       {weight("query", memory_width + time_width, width, query), weight("query_bias", 1, width, query),
        weight("vertex", memory_width, 2 * width, keyed), weight("edge", edge_width, 2 * width, keyed),
        weight("time", time_width, 2 * width, keyed), weight("bias", 1, 2 * width, keyed)}},
      {"output", "a"}};
  Json& all = part["operations"] = Json::array();
  const auto add = [&](const std::string& name, const std::string& kind, const std::vector<std::string>& of,
                       const Json& more = Json::object()) { all.push_back(plain_operation(name, kind, of, more)); };
  add("root", "concat", {"memory", "root_time"});
  add("q", "dense", {"root", "attention.query", "attention.query_bias"});
  add("of_vertex", "dense", {"neighbours", "attention.vertex", "attention.bias"});
  add("of_edge", "dense", {"edge_features", "attention.edge"});
  add("of_time", "dense", {"neighbour_times", "attention.time"});
  add("some", "combine", {"of_vertex", "of_edge"});
  add("kv", "combine", {"some", "of_time"});
  add("k", "columns", {"kv"}, {{"first", 0}, {"count", width}});
  add("v", "columns", {"kv"}, {{"first", width}, {"count", width}});
  add("q_of_slots", "spread", {"q"});
  add("products", "multiply", {"q_of_slots", "k"});
  add("dots", "head_sums", {"products"}, {{"count", heads}});
  add("scores", "affine", {"dots"}, {{"p", 1.0 / std::sqrt(static_cast<double>(width / heads))}});
  add("sums", "attend", {"scores", "v"});
  add("a", "found", {"sums"});  // changes nothing, because sums over no slots are 0
  return part;
}

inline Json all_plain_parts() {
  return {{"message", plain_message()}, {"updater", plain_gru()}, {"embedding", plain_attention()}};
}

inline Json file_of(const Json& parts) {
  return {{"format", "strobe.captured"}, {"version", 1},  {"memory", memory_width}, {"time", time_width},
          {"edge_features", edge_width}, {"parts", parts}};
}

}  // namespace strobe::event_test
