#include "results/row/sample_lines.hpp"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/kept_text.hpp"
#include "results/row/json_lines.hpp"
#include "results/row/row_codec.hpp"

namespace strobe {
namespace {

template <class T, std::size_t N>
Json named_values(const std::array<T, N>& values, const std::array<std::string_view, N>& names) {
  Json result = Json::object();
  for (std::size_t i = 0; i < N; ++i) result[std::string(names[i])] = values[i];
  return result;
}

void read_phases(const Json& json, PerPhase<double>& seconds) {
  for (std::size_t i = 0; i < seconds.size(); ++i)
    seconds[i] = json.at(row_codec::written_phase(json, i)).get<double>();
}

/// A line that lacks a kind of traffic was written before that kind existed: 0.
void read_sent_bytes(const Json& json, PerTraffic<std::uint64_t>& bytes) {
  for (std::size_t i = 0; i < traffic_count; ++i)
    bytes[i] = json.value(std::string(traffic_names[i]), std::uint64_t{0});
}

/// A line without parts is older than they are: 0.
void read_parts(const Json& json, const char* key, PerMemoryPart<std::uint64_t>& bytes) {
  if (!json.contains(key)) return;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = json.at(key).at(std::string(memory_part_names[i])).get<std::uint64_t>();
}

struct OperationKey {
  const char* key;
  double OperationTotals::*member;
};
constexpr OperationKey operation_keys[] = {{"operation_seconds", &OperationTotals::seconds},
                                           {"operation_flops", &OperationTotals::flops},
                                           {"operation_bytes", &OperationTotals::bytes}};

void write_operations(const std::vector<OperationTotals>& operations, Json& json) {
  for (const auto& [key, member] : operation_keys) {
    Json& values = json[key] = Json::object();
    for (const OperationTotals& operation : operations) values[std::string(operation.name)] = operation.*member;
  }
}

/// An operation has seconds; lines of older versions lack its work, which is 0 then.
std::vector<OperationTotals> read_operations(const Json& json) {
  std::map<std::string, OperationTotals> by_name;
  for (const auto& [key, member] : operation_keys) {
    if (!json.contains(key)) continue;
    for (const auto& [name, value] : json.at(key).items()) by_name[name].*member = value.get<double>();
  }
  std::vector<OperationTotals> result;
  for (auto& [name, totals] : by_name) {
    totals.name = kept_text(name);
    result.push_back(totals);
  }
  return result;
}

}  // namespace

Json sample_to_json(const std::string& case_id, const EpochSample& sample) {
  Json json = Json::object();
  json["case_id"] = case_id;
  json["repetition"] = sample.repetition;
  json["epoch"] = sample.epoch;
  json["rank"] = sample.rank;
  json["warmup"] = sample.warmup;
  json["epoch_seconds"] = sample.epoch_seconds;
  json["busy_seconds"] = sample.busy_seconds;
  json["phase_seconds"] = named_values(sample.phase_seconds, phase_names);
  json["hidden_communicate_seconds"] = sample.hidden_communicate_seconds;
  json["sent_bytes"] = named_values(sample.sent_bytes, traffic_names);
  json["transfer_bytes"] = sample.transfer_bytes;
  json["messages"] = sample.messages;
  json["flops"] = sample.work.flops;
  json["read_bytes"] = sample.work.bytes_read;
  json["written_bytes"] = sample.work.bytes_written;
  json["peak_host_bytes"] = sample.peak_host_bytes;
  json["peak_device_bytes"] = sample.peak_device_bytes;
  json["memory_limit_bytes"] = sample.memory_limit_bytes;
  json["memory_parts"] = named_values(sample.memory_parts, memory_part_names);
  json["host_parts"] = named_values(sample.host_parts, memory_part_names);
  json["process_bytes"] = sample.process_bytes;
  json["loaded_bytes"] = sample.stage_rows.loaded_bytes;
  json["lane_rows"] = sample.stage_rows.bin_rows;
  json["filled_rows"] = sample.stage_rows.filled_rows;
  write_operations(sample.operations, json);
  if (!sample.drawn_seconds.empty()) json["drawn_seconds"] = sample.drawn_seconds;
  return json;
}

EpochSample sample_from_json(const Json& json) {
  EpochSample sample;
  sample.repetition = json.at("repetition").get<int>();
  sample.epoch = json.at("epoch").get<int>();
  sample.rank = json.at("rank").get<int>();
  sample.warmup = json.at("warmup").get<bool>();
  sample.epoch_seconds = json.at("epoch_seconds").get<double>();
  sample.busy_seconds = json.at("busy_seconds").get<double>();
  read_phases(json.at("phase_seconds"), sample.phase_seconds);
  sample.hidden_communicate_seconds = json.at("hidden_communicate_seconds").get<double>();
  read_sent_bytes(json.at("sent_bytes"), sample.sent_bytes);
  sample.transfer_bytes = json.at("transfer_bytes").get<std::uint64_t>();
  sample.messages = json.at("messages").get<std::uint64_t>();
  sample.work = {json.at("flops").get<double>(), json.at("read_bytes").get<double>(),
                 json.at("written_bytes").get<double>()};
  sample.peak_host_bytes = json.at("peak_host_bytes").get<std::uint64_t>();
  sample.peak_device_bytes = json.at("peak_device_bytes").get<std::uint64_t>();
  sample.memory_limit_bytes = json.value("memory_limit_bytes", std::uint64_t{0});
  read_parts(json, "memory_parts", sample.memory_parts);
  read_parts(json, "host_parts", sample.host_parts);
  sample.process_bytes = json.value("process_bytes", std::uint64_t{0});
  sample.stage_rows = {json.value("loaded_bytes", std::uint64_t{0}), json.value("lane_rows", std::uint64_t{0}),
                       json.value("filled_rows", std::uint64_t{0})};
  sample.operations = read_operations(json);
  sample.drawn_seconds = json.value("drawn_seconds", std::vector<double>());
  return sample;
}

std::string sample_lines(const std::string& case_id, const std::vector<EpochSample>& samples, int round) {
  std::string text;
  for (const EpochSample& sample : samples) {
    Json json = sample_to_json(case_id, sample);
    if (round >= 0) json["round"] = round;
    text += json_line(json);
  }
  return text;
}

std::map<std::string, std::vector<EpochSample>> read_samples(const std::string& path) {
  std::map<std::string, std::vector<EpochSample>> samples;
  for_each_json_line(path, "sample", [&](std::string_view, const Json& json, std::uint64_t) {
    samples[json.at("case_id").get<std::string>()].push_back(sample_from_json(json));
  });
  return samples;
}

std::string kept_sample_lines(const std::string& path, const std::function<bool(const std::string&, int)>& keep) {
  std::string text;
  for_each_json_line(path, "sample", [&](std::string_view line, const Json& json, std::uint64_t) {
    if (keep(json.at("case_id").get<std::string>(), json.value("round", -1))) text.append(line).append("\n");
  });
  return text;
}

}  // namespace strobe
