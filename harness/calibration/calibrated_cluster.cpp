// Turns samples into a cluster file, with one fit per operation or collective and number of ranks. Every fit records
// its number of samples, their bytes and its error. Host and links that were not measured are absent or follow from the
// collectives' fits. Invariant: all values that the file calls measured were measured. Cost O(samples).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "backends/sim/cluster/fit_terms.hpp"
#include "core/errors.hpp"
#include "harness/calibration/calibration.hpp"
#include "harness/calibration/least_squares.hpp"
#include "results/row/statistics.hpp"

namespace strobe {
namespace {

/// Observations of one fit, with their bytes.
struct Group {
  std::vector<Observation> observations;
  std::vector<double> bytes;
};

/// Coefficients and residuals under their keys. Zero coefficients are left out.
template <class Terms>
Json fit_json(const Group& group, const Terms& terms, int ranks, const std::vector<double>& most = {}) {
  const std::vector<double> coefficients = fit_non_negative(group.observations, most);
  std::vector<double> errors;
  for (const Observation& o : group.observations)
    errors.push_back(std::abs(predicted_seconds(coefficients, o.amounts) / o.seconds - 1));
  Json fit{{"ranks", ranks}};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (coefficients[i] > 0) fit[terms[i].key] = coefficients[i];
  }
  fit["samples"] = group.observations.size();
  fit["least_bytes"] = *std::min_element(group.bytes.begin(), group.bytes.end());
  fit["most_bytes"] = *std::max_element(group.bytes.begin(), group.bytes.end());
  fit["median_relative_error"] = median(errors);
  fit["p95_relative_error"] = percentile(errors, 95);
  fit["max_relative_error"] = *std::max_element(errors.begin(), errors.end());
  return fit;
}

template <class Terms, class Amounts>
void add(const Terms& terms, const Amounts& amounts, double bytes, double seconds, Group& group) {
  if (!(seconds > 0)) return;
  Observation o;
  for (const auto& term : terms) o.amounts.push_back(term.amount(amounts));
  o.seconds = seconds;
  group.observations.push_back(std::move(o));
  group.bytes.push_back(bytes);
}

/// Upper bounds of an operation's terms at `ranks` ranks. A byte of memory costs at most two bytes at the rate of a
/// copy, because a cached line is read before it is written. Ranks on one machine share that rate.
std::vector<double> most_of_operation(const CalibrationData& data, int ranks) {
  std::vector<double> most;
  const double sharing = data.rates.own_memory ? 1 : ranks;
  for (const sim::OperationTerm& term : sim::operation_terms) {
    most.push_back(term.of_memory ? 2 * sharing / data.rates.memory_bytes_per_second
                                  : std::numeric_limits<double>::infinity());
  }
  return most;
}

Json operation_fits(const CalibrationData& data) {
  std::map<std::pair<std::string, int>, Group> groups;
  for (const OperationTiming& s : data.operations)
    add(sim::operation_terms, s.work, s.work.bytes(), s.seconds, groups[{s.operation, s.ranks}]);
  Json fits = Json::object();
  for (const auto& [key, group] : groups) {
    if (group.observations.empty()) continue;
    Json fit = fit_json(group, sim::operation_terms, key.second, most_of_operation(data, key.second));
    fit["precision"] = data.precision;
    fits[key.first].push_back(fit);
  }
  return fits;
}

/// Fits of the host's operations, by one worker. A byte of memory costs at most two bytes at the rate of its copy,
/// like on a device.
Json host_operation_fits(const HostMeasurement& host) {
  std::map<std::string, Group> groups;
  for (const OperationTiming& s : host.operations)
    add(sim::host_terms, s.work, s.work.bytes(), s.seconds, groups[s.operation]);
  std::vector<double> most;
  for (const sim::OperationTerm& term : sim::host_terms)
    most.push_back(term.of_memory ? 2 / host.rates.core_bytes_per_second : std::numeric_limits<double>::infinity());
  Json fits = Json::object();
  for (const auto& [name, group] : groups) {
    if (!group.observations.empty()) fits[name].push_back(fit_json(group, sim::host_terms, 1, most));
  }
  return fits;
}

/// If ranks share the host's memory, data moves while a rank waits for it. A device with memory of its own moves data
/// during compute, and the simulator computes the overlap.
Json collective_fits(const CalibrationData& data) {
  std::map<std::pair<std::string, int>, std::vector<CollectiveTiming>> samples;
  for (const CollectiveTiming& s : data.collectives) samples[{s.collective, s.ranks}].push_back(s);
  std::map<std::pair<std::string, int>, Group> groups;
  for (const auto& [key, all] : samples) {
    for (const CollectiveTiming& s : samples_to_fit(all)) {
      add(sim::collective_terms, sim::CollectiveAmounts{s.bytes, s.messages}, s.bytes,
          data.rates.own_memory ? s.flight_seconds : s.seconds, groups[key]);
    }
  }
  Json fits = Json::object();
  for (const auto& [key, group] : groups) {
    if (!group.observations.empty()) fits[key.first].push_back(fit_json(group, sim::collective_terms, key.second));
  }
  return fits;
}

/// The rate and latency of a message from its fit, for the description of the links.
std::pair<double, double> link_of(const Json& fits, double otherwise) {
  const char* const name = fits.contains(message_name) ? message_name : "send";
  if (!fits.contains(name)) return {otherwise, 0};
  const Json& fit = fits.at(name).front();
  const double per_byte = fit.value("seconds_per_byte", 0.0) + fit.value("seconds_per_byte_beyond_2_mib", 0.0);
  const double latency = fit.value("seconds", 0.0) + fit.value("seconds_per_message", 0.0);
  return {per_byte > 0 ? 1 / per_byte : otherwise, latency};
}

double typical_gap(const CalibrationData& data) {
  std::vector<double> gaps;
  for (const MeasuredCase& c : data.cases) gaps.push_back(c.gap_seconds);
  return median(gaps);
}

int most_ranks(const CalibrationData& data) {
  std::int64_t most = 1;
  for (const MeasuredCase& c : data.cases) most = std::max(most, c.request.ranks);
  return static_cast<int>(most);
}

Json gpu_json(const CalibrationData& data, const ClusterDescription& about, int places,
              const std::function<Json(double, const char*)>& measured) {
  const std::uint64_t memory = data.rates.own_memory ? data.rates.memory_bytes : about.memory_bytes;
  return {
      {"name", about.source},
      {"flops_fp32_per_second", measured(data.rates.flops_fp32_per_second, "dense layer of 2048 x 1024 x 1024")},
      {"flops_fp64_per_second", measured(data.rates.flops_fp64_per_second, "dense layer of 2048 x 1024 x 1024")},
      {"memory_bytes_per_second", measured(data.rates.memory_bytes_per_second, "copy of 128 MiB, read and written")},
      {"memory_bytes", measured(std::floor(static_cast<double>(memory) / places),
                                data.rates.own_memory ? "the device's memory, divided by the ranks that were measured"
                                                      : "the machine's memory, divided by the ranks that fit")},
      {"reserved_bytes", measured(0, "not measured: memory of the process without its tensors")},
      {"launch_seconds", measured(0, "contained in the fit of each operation")},
      {"host_issue_seconds", measured(typical_gap(data), "median over cases of the time between operations")},
      {"stores_transpose", data.rates.stores_transpose},
      {"narrow_bytes", measured(static_cast<double>(data.rates.narrow_bytes), "a property of its kernels")}};
}

void add_load_rates(const LoadRates& load, const std::function<Json(double, const char*)>& measured, Json& host) {
  const auto add = [&](const char* key, double rate, const char* how) {
    if (rate > 0) host[key] = measured(rate, how);
  };
  add("text_bytes_per_second", load.text_bytes_per_second, "CSV of a million events, cut into steps");
  add("binary_bytes_per_second", load.binary_bytes_per_second, "binary file of these events");
  add("made_entries_per_second", load.made_entries_per_second, "a uniform graph of 1.6 million entries");
  add("prepared_entries_per_second", load.prepared_entries_per_second,
      "Laplacian of uniform graphs of 16 edges and of 1 edge a vertex");
  add("prepared_features_per_second", load.prepared_features_per_second, "the same graphs");
}

Json host_json(const HostRates& rates, std::uint64_t memory_bytes,
               const std::function<Json(double, const char*)>& measured) {
  Json host{
      {"cores", measured(rates.cores, "cores that the process may use")},
      {"core_operations_per_second",
       measured(rates.core_operations_per_second, "multiplications and additions of integers, eight chains")},
      {"core_bytes_per_second", measured(rates.core_bytes_per_second, "copy of 128 MiB by one core, read and written")},
      {"memory_bytes_per_second", measured(rates.memory_bytes_per_second, "copy of 128 MiB by all cores together")},
      {"random_access_seconds", measured(rates.random_access_seconds, "loads that name the next, through 256 MiB")}};
  host["disk_bytes_per_second"] = rates.disk_bytes_per_second > 0
                                      ? measured(rates.disk_bytes_per_second, "a file of 128 MiB, read in order")
                                      : Json{{"value", nullptr}, {"reason", "strobe calibrate: " + rates.no_disk}};
  if (memory_bytes > 0) host["memory_bytes"] = measured(static_cast<double>(memory_bytes), "the machine's memory");
  add_load_rates(rates.load, measured, host);
  return host;
}

/// Issuing a message takes no longer than sending a small one. If sending waits for a network, the issue was not
/// measured.
Json message_cost(double latency, const std::string& date) {
  const DefaultCost& otherwise = default_message_cost;
  if (latency > 0 && latency < otherwise.seconds) {
    return {{"value", latency},
            {"source", "strobe calibrate: at most a small message between two ranks, half of a round trip"},
            {"date", date}};
  }
  return {{"value", otherwise.seconds},
          {"low", otherwise.low},
          {"high", otherwise.high},
          {"source", otherwise.source},
          {"date", date}};
}

}  // namespace

Json calibrated_cluster(const CalibrationData& data, const ClusterDescription& about) {
  if (data.operations.empty()) {
    throw InvalidRequest(
        "SUITE", data.failed.empty() ? "nothing was measured" : "no case could be measured; " + data.failed.front());
  }
  const auto measured = [&](double value, const char* how) {
    return Json{{"value", value}, {"source", fmt::format("strobe calibrate: {}", how)}, {"date", about.date}};
  };
  const int places = std::max(most_ranks(data), data.cores) * (data.cores > 0 ? 2 : 1);
  Json calibration{{"device", data.device}, {"comm", data.comm}, {"precision", data.precision}, {"date", about.date}};
  if (data.cores > 0) calibration["cores"] = data.cores;
  calibration["operations"] = operation_fits(data);
  calibration["collectives"] = collective_fits(data);
  if (data.host.rates.cores > 0) calibration["host_operations"] = host_operation_fits(data.host);
  calibration["cases"] = Json::array();
  for (const MeasuredCase& c : data.cases) calibration["cases"].push_back(case_to_json(c.request));
  const auto [rate, latency] = link_of(calibration["collectives"], data.rates.memory_bytes_per_second);
  Json cluster{{"name", about.name}, {"description", about.description}, {"calibrated", true}};
  cluster["nodes"] = measured(1, "one machine");
  cluster["gpus_per_node"] =
      measured(places, data.cores > 0 ? "ranks that were measured or cores, and as many again that take turns"
                                      : "ranks that were measured");
  cluster["gpu"] = gpu_json(data, about, places, measured);
  if (data.host.rates.cores > 0) cluster["host"] = host_json(data.host.rates, about.memory_bytes, measured);
  if (data.rates.own_memory) {
    cluster["host_to_device_bytes_per_second"] =
        measured(data.rates.host_to_device_bytes_per_second, "64 MiB to the device");
    cluster["host_to_device_latency_seconds"] = measured(data.rates.host_to_device_latency_seconds, "8 bytes to it");
  } else {
    cluster["host_memory"] = "shared";
  }
  cluster["intra_node_bytes_per_second"] = measured(rate, "large messages between two ranks, half of a round trip");
  cluster["intra_node_latency_seconds"] = measured(latency, "small messages between two ranks, half of a round trip");
  cluster["message_seconds"] = message_cost(latency, about.date);
  cluster["price_per_node_hour"] = "not sold";
  cluster["calibration"] = calibration;
  return cluster;
}

}  // namespace strobe
