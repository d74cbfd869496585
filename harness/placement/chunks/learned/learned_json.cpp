// The file of a learned workload. Weights are written as the bits of fp32 in hexadecimal, so that reading restores them
// exactly.
#include <fmt/format.h>

#include <bit>
#include <charconv>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "harness/placement/chunks/learned/learned_workload.hpp"

namespace strobe {
namespace {

constexpr const char* workload_schema = "strobe chunk workloads 1";

std::string hex_of(const std::vector<float>& values) {
  std::string text;
  text.reserve(values.size() * 8);
  for (const float value : values)
    fmt::format_to(std::back_inserter(text), "{:08x}", std::bit_cast<std::uint32_t>(value));
  return text;
}

std::vector<float> floats_of(const std::string& hex, std::int64_t count) {
  if (count < 0 || hex.size() != 8 * static_cast<std::size_t>(count)) throw Error("a matrix lacks some of its numbers");
  std::vector<float> values;
  values.reserve(count);
  for (const char* at = hex.data(); at != hex.data() + hex.size(); at += 8) {
    std::uint32_t bits = 0;
    const auto read = std::from_chars(at, at + 8, bits, 16);
    if (read.ec != std::errc() || read.ptr != at + 8) throw Error("a weight is not a hexadecimal number");
    values.push_back(std::bit_cast<float>(bits));
  }
  return values;
}

Json range_json(const LearnedRange& range) { return {{"smallest", range.smallest}, {"largest", range.largest}}; }

LearnedRange range_from(const Json& json) {
  return {json.at("smallest").get<double>(), json.at("largest").get<double>()};
}

Json time_json(const std::optional<LearnedTime>& time) {
  if (!time) return nullptr;
  Json layers = Json::array();
  for (const MlpLayer<float>& layer : time->mlp.layers) {
    layers.push_back({{"inputs", layer.inputs},
                      {"outputs", layer.outputs},
                      {"weight_fp32_hex", hex_of(layer.weight)},
                      {"bias_fp32_hex", hex_of(layer.bias)}});
  }
  return {{"input_shift", time->shift},
          {"input_scale", time->scale},
          {"log_seconds_centre", time->centre},
          {"layers", std::move(layers)}};
}

std::optional<LearnedTime> time_from(const Json& json, std::size_t inputs) {
  if (json.is_null()) return std::nullopt;
  LearnedTime time;
  time.shift = json.at("input_shift").get<std::vector<double>>();
  time.scale = json.at("input_scale").get<std::vector<double>>();
  time.centre = json.at("log_seconds_centre").get<double>();
  std::int64_t width = inputs;
  if (time.shift.size() != inputs || time.scale.size() != inputs) throw Error("inputs are not those of the model");
  for (const Json& layer : json.at("layers")) {
    MlpLayer<float> next{layer.at("inputs").get<std::int64_t>(), layer.at("outputs").get<std::int64_t>(), {}, {}};
    if (next.inputs != width || next.outputs < 1) throw Error("layers do not fit each other");
    next.weight = floats_of(layer.at("weight_fp32_hex").get<std::string>(), next.inputs * next.outputs);
    next.bias = floats_of(layer.at("bias_fp32_hex").get<std::string>(), next.outputs);
    width = next.outputs;
    time.mlp.layers.push_back(std::move(next));
  }
  if (time.mlp.layers.empty() || width != 1) throw Error("an MLP does not have exactly one output");
  return time;
}

/// Number of inputs in a file of this model. It does not depend on widths.
std::size_t input_count(const LearnedWorkload& learned) {
  const auto model = ModelRegistry::instance().find(learned.model.at("name").get<std::string>(), "/model");
  const auto layers = model.value(learned.model)->layers(static_cast<std::int64_t>(learned.feature_width.smallest));
  return workload_inputs({}, 0, layers, learned.sequence_length).size();
}

LearnedWorkload read_learned(const Json& json) {
  LearnedWorkload learned;
  learned.model = json.at("model");
  learned.device = json.at("device").get<std::string>(), learned.cluster = json.at("cluster").get<std::string>();
  learned.precision = json.at("precision").get<std::string>();
  learned.sequence_length = json.at("sequence_length").get<std::string>();
  learned.hidden = range_from(json.at("hidden")), learned.feature_width = range_from(json.at("feature_width"));
  learned.cells = range_from(json.at("cells"));
  learned.report = json.at("report");
  const std::size_t inputs = input_count(learned);
  learned.structure = time_from(json.at("structure"), inputs), learned.time = time_from(json.at("time"), inputs);
  return learned;
}

}  // namespace

Json learned_to_json(const LearnedWorkload& learned) {
  return with_digest({{"schema", workload_schema},
                      {"model", learned.model},
                      {"device", learned.device},
                      {"cluster", learned.cluster},
                      {"precision", learned.precision},
                      {"sequence_length", learned.sequence_length},
                      {"hidden", range_json(learned.hidden)},
                      {"feature_width", range_json(learned.feature_width)},
                      {"cells", range_json(learned.cells)},
                      {"report", learned.report},
                      {"structure", time_json(learned.structure)},
                      {"time", time_json(learned.time)}});
}

LearnedWorkload learned_from_json(Json json, const std::string& file) {
  const std::string anew = "; make it again with `strobe calibrate --chunks`";
  const auto refuse = [&](const std::string& what) {
    throw InvalidRequest("/strategy/workloads", fmt::format("{}{}{}", file, what, anew));
  };
  if (!json.is_object() || json.value("schema", Json()) != workload_schema)
    refuse(fmt::format(" is not a file of chunk workloads (key schema must be '{}')", workload_schema));
  try {
    const bool proven = take_digest(json, file);
    LearnedWorkload learned = read_learned(json);
    if (!proven) note_unproven_file(file);
    return learned;
  } catch (const InvalidInput& error) {
    throw InvalidRequest("/strategy/workloads", error.what() + anew);
  } catch (const std::exception& error) {
    refuse(fmt::format(" is damaged: {}", error.what()));
    throw;
  }
}

}  // namespace strobe
