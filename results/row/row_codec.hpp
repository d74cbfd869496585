// How the values of a row are written as JSON and read back, and their JSON Schemas; for the table of row_fields.cpp.
// Numbers are written in the shortest form that reads back to the same bits; NaN is null.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "results/row/row.hpp"

namespace strobe::row_codec {

// Conversions: encode(value) and decode(json, value) for every type that a row holds -------------------------------

inline Json encode(const std::string& value) { return value; }
inline Json encode(std::int64_t value) { return value; }
inline Json encode(std::uint64_t value) { return value; }
inline Json encode(const Json& value) { return value; }
inline Json encode(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
inline void decode(const Json& json, double& value) {
  value = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}
inline void decode(const Json& json, Json& value) { value = json; }
template <class T>
inline void decode(const Json& json, T& value) {
  value = json.get<T>();
}

template <class T>
inline Json encode(const std::vector<T>& values) {
  Json result = Json::array();
  for (const T& value : values) result.push_back(encode(value));
  return result;
}
template <class T>
inline void decode(const Json& json, std::vector<T>& values) {
  values.clear();
  for (const Json& item : json) decode(item, values.emplace_back());
}

using NamedDouble = std::pair<const char*, double EpochSeconds::*>;
inline constexpr NamedDouble epoch_statistics[] = {{"median", &EpochSeconds::median},
                                                   {"min", &EpochSeconds::min},
                                                   {"mean", &EpochSeconds::mean},
                                                   {"max", &EpochSeconds::max},
                                                   {"p95", &EpochSeconds::p95},
                                                   {"ci95_low", &EpochSeconds::ci95_low},
                                                   {"ci95_high", &EpochSeconds::ci95_high}};

inline Json encode(const EpochSeconds& value) {
  Json result = Json::object();
  for (const auto& [name, member] : epoch_statistics) result[name] = encode(value.*member);
  result["n"] = value.n;
  return result;
}
inline void decode(const Json& json, EpochSeconds& value) {
  for (const auto& [name, member] : epoch_statistics) decode(json.at(name), value.*member);
  decode(json.at("n"), value.n);
}

using NamedCount = std::pair<const char*, double EpochWork::*>;
inline constexpr NamedCount work_counts[] = {{"cells", &EpochWork::cells},
                                             {"edges", &EpochWork::edges},
                                             {"events", &EpochWork::events},
                                             {"updates", &EpochWork::updates}};

inline Json encode(const EpochWork& value) {
  Json result = Json::object();
  for (const auto& [name, member] : work_counts) result[name] = value.*member > 0 ? Json(value.*member) : Json(nullptr);
  return result;
}
inline void decode(const Json& json, EpochWork& value) {
  for (const auto& [name, member] : work_counts)
    value.*member = json.at(name).is_null() ? 0 : json.at(name).get<double>();
}

inline Json encode(const EpochBand& value) {
  return {{"low", encode(value.low)}, {"high", encode(value.high)}, {"source", value.source}};
}
inline void decode(const Json& json, EpochBand& value) {
  decode(json.at("low"), value.low);
  decode(json.at("high"), value.high);
  decode(json.at("source"), value.source);
}

inline Json encode(const TimeDraws& value) {
  return {{"of", value.of},
          {"epoch_seconds", encode(value.epoch_seconds)},
          {"until_seconds", value.until_seconds ? encode(*value.until_seconds) : Json(nullptr)}};
}
inline void decode(const Json& json, TimeDraws& value) {
  decode(json.at("of"), value.of);
  decode(json.at("epoch_seconds"), value.epoch_seconds);
  value.until_seconds.reset();
  if (!json.at("until_seconds").is_null()) decode(json.at("until_seconds"), value.until_seconds.emplace());
}

inline Json encode(const RoundTimes& value) {
  return {{"session", value.session}, {"median_seconds", encode(value.seconds)}};
}
inline void decode(const Json& json, RoundTimes& value) {
  decode(json.at("session"), value.session);
  decode(json.at("median_seconds"), value.seconds);
}
inline Json encode(const MachineState& value) { return machine_to_json(value); }
inline void decode(const Json& json, MachineState& value) { value = machine_from_json(json); }

inline std::string traffic_name(std::size_t i) { return i < traffic_count ? std::string(traffic_names[i]) : "total"; }

inline Json encode(const PerPhase<double>& value) {
  Json result = Json::object();
  for (std::size_t i = 0; i < value.size(); ++i) result[std::string(phase_names[i])] = encode(value[i]);
  return result;
}
/// Rows of version 1 call phase `host` "sample".
inline std::string written_phase(const Json& json, std::size_t i) {
  const std::string name(phase_names[i]);
  return name == "host" && !json.contains(name) ? "sample" : name;
}
inline void decode(const Json& json, PerPhase<double>& value) {
  for (std::size_t i = 0; i < value.size(); ++i) decode(json.at(written_phase(json, i)), value[i]);
}
inline Json encode(const SentBytes& value) {
  Json result = Json::object();
  for (std::size_t i = 0; i < value.size(); ++i) result[traffic_name(i)] = value[i];
  return result;
}
/// A row that lacks a kind of traffic was written before that kind existed: 0. The total is always there.
inline void decode(const Json& json, SentBytes& value) {
  for (std::size_t i = 0; i < traffic_count; ++i) value[i] = json.value(traffic_name(i), std::uint64_t{0});
  decode(json.at(traffic_name(traffic_count)), value[traffic_count]);
}

inline Json encode(const PeakBytes& value) { return {{"host", encode(value.host)}, {"device", encode(value.device)}}; }
inline void decode(const Json& json, PeakBytes& value) {
  decode(json.at("host"), value.host);
  decode(json.at("device"), value.device);
}
inline Json encode(const PartsOfRanks& value) {
  Json result = Json::object();
  for (std::size_t i = 0; i < value.size(); ++i) result[std::string(memory_part_names[i])] = encode(value[i]);
  return result;
}
inline void decode(const Json& json, PartsOfRanks& value) {
  for (std::size_t i = 0; i < value.size(); ++i) decode(json.at(std::string(memory_part_names[i])), value[i]);
}
Json encode(const MemoryBytes& value);
void decode(const Json& json, MemoryBytes& value);
inline Json encode(const Imbalance& value) {
  return {{"max_over_min", encode(value.max_over_min)}, {"max_over_mean", encode(value.max_over_mean)}};
}
inline void decode(const Json& json, Imbalance& value) {
  decode(json.at("max_over_min"), value.max_over_min);
  decode(json.at("max_over_mean"), value.max_over_mean);
}
inline Json encode(const Roofline& value) {
  return {{"flops_fraction", encode(value.flops_fraction)}, {"bandwidth_fraction", encode(value.bandwidth_fraction)}};
}
inline void decode(const Json& json, Roofline& value) {
  decode(json.at("flops_fraction"), value.flops_fraction);
  decode(json.at("bandwidth_fraction"), value.bandwidth_fraction);
}

inline Json encode(const DevicePeaks& value) {
  return {{"flops_per_second", encode(value.flops_per_second)}, {"bytes_per_second", encode(value.bytes_per_second)}};
}
inline void decode(const Json& json, DevicePeaks& value) {
  decode(json.at("flops_per_second"), value.flops_per_second);
  decode(json.at("bytes_per_second"), value.bytes_per_second);
}

template <class T>
inline Json encode(const std::optional<T>& value) {
  return value ? encode(*value) : Json(nullptr);
}
template <class T>
inline void decode(const Json& json, std::optional<T>& value) {
  value.reset();
  if (!json.is_null()) decode(json, value.emplace());
}
template <class T>
inline Json encode(const std::map<std::string, T>& values) {
  Json result = Json::object();
  for (const auto& [name, value] : values) result[name] = encode(value);
  return result;
}
template <class T>
inline void decode(const Json& json, std::map<std::string, T>& values) {
  values.clear();
  for (const auto& [name, item] : json.items()) decode(item, values[name]);
}

inline Json encode(const MemoryBytes& value) {
  Json result = encode(value.accounted);
  result["planned"] = encode(value.planned);
  result["host"] = encode(value.host);
  result["process"] = encode(value.process);
  return result;
}
inline void decode(const Json& json, MemoryBytes& value) {
  decode(json, value.accounted);
  decode(json.at("planned"), value.planned);
  decode(json.at("host"), value.host);
  decode(json.at("process"), value.process);
}

// Schemas ----------------------------------------------------------------------------------------------------------

inline Json text() { return {{"type", "string"}}; }
inline Json one_of(std::vector<std::string> values) { return {{"enum", std::move(values)}}; }
inline Json count(int minimum = 0) { return {{"type", "integer"}, {"minimum", minimum}}; }
inline Json number() { return {{"type", {"number", "null"}}, {"minimum", 0}}; }
inline Json list(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }
inline Json any_object() { return {{"type", "object"}}; }
inline Json map_of(Json values) { return {{"type", "object"}, {"additionalProperties", std::move(values)}}; }
inline Json plugin() {
  return {{"type", "object"}, {"properties", {{"name", text()}}}, {"required", Json::array({"name"})}};
}
inline Json group(Json properties) {
  Json required = Json::array();
  for (const auto& [name, schema] : properties.items()) required.push_back(name);
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", required},
          {"additionalProperties", false}};
}
inline Json or_null(Json schema) {
  if (schema["type"].is_array()) return schema;
  schema["type"] = Json::array({schema["type"], "null"});
  return schema;
}
inline Json named_group(const std::vector<std::string>& names, const Json& each) {
  Json properties = Json::object();
  for (const std::string& name : names) properties[name] = each;
  return group(properties);
}
inline Json epoch_schema() {
  Json schema = Json::object();
  for (const auto& [name, member] : epoch_statistics) schema[name] = number();
  schema["n"] = count();
  return group(schema);
}
inline Json work_schema() {
  Json counts = Json::object();
  for (const auto& [name, member] : work_counts) counts[name] = number();
  return group(counts);
}
inline Json band_schema() { return group({{"low", number()}, {"high", number()}, {"source", text()}}); }
inline Json traffic_schema() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i <= traffic_count; ++i) names.push_back(traffic_name(i));
  return named_group(names, count());
}
inline Json throughput_schema() {
  Json properties = Json::object();
  for (const std::string_view key : throughput_keys) properties[std::string(key)] = number();
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}
inline Json memory_schema() {
  const Json ranks = list(count());
  const Json parts = named_group({std::begin(memory_part_names), std::end(memory_part_names)}, ranks);
  Json properties = parts.at("properties");
  properties["planned"] = properties["host"] = or_null(parts);
  properties["process"] = or_null(ranks);
  return group(properties);
}
inline Json draws_schema() {
  return group({{"of", text()}, {"epoch_seconds", list(number())}, {"until_seconds", or_null(list(number()))}});
}
inline Json rounds_schema() { return group({{"session", text()}, {"median_seconds", list(number())}}); }
inline Json machine_schema() {
  const Json extent{{"type", {"array", "null"}}, {"items", {{"type", "number"}}}, {"minItems", 2}, {"maxItems", 2}};
  return named_group({"load", "other_cores", "stolen_share", "megahertz"}, extent);
}
inline Json phase_schema() { return named_group({std::begin(phase_names), std::end(phase_names)}, number()); }
inline Json series() { return list({{"type", {"number", "null"}}}); }
inline Json exact_schema() {
  return {{"oneOf", Json::array({Json{{"const", true}}, Json{{"type", "array"}, {"items", text()}, {"minItems", 1}}})}};
}

// Fields ------------------------------------------------------------------------------------------------------------

/// A key of a row whose value is a member of it.
template <auto Member>
RowField field(const char* key, const char* unit, Json schema, const char* help) {
  return {key,
          unit,
          help,
          std::move(schema),
          [](const Row& row) { return encode(row.*Member); },
          [](Row& row, const Json& json) { decode(json, row.*Member); }};
}

/// A key that files of an older version lack.
inline RowField later(RowField field) {
  field.later = true;
  return field;
}

inline Json scalar(double value) { return encode(value); }
template <class T>
Json scalar(T value) {
  return value;
}

/// The registered facts (fact_fields.cpp), in the order of their tables' names.
std::vector<RowField> fact_fields();

}  // namespace strobe::row_codec
