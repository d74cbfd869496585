// From samples to a row.
// Returns one row whose times are those of the slowest rank of each measured epoch, whose phases add up to the mean
// epoch, and whose bytes are sums over ranks. Invariants: warm-up epochs count for memory only; an epoch that lacks a
// rank's sample is left out; every null has a reason. Cost: O(samples log samples).
#include "results/row/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "core/errors.hpp"
#include "results/row/memory_bytes.hpp"
#include "results/row/row_codec.hpp"
#include "results/row/statistics.hpp"

namespace strobe {
namespace {

/// Keys of a case that are keys of its row.
const std::set<std::string>& shared_keys() {
  static const std::set<std::string> keys{"workload", "model",   "strategy", "task",      "optimizer", "device",
                                          "comm",     "cluster", "numerics", "precision", "ranks",     "seed"};
  return keys;
}

/// Keys of the case that are keys of the row are taken as they are; the others are its settings.
void take_settings(const Json& case_json, Row& row) {
  for (const RowField& field : row_fields()) {
    if (shared_keys().count(field.key) != 0 && case_json.contains(field.key)) field.set(row, case_json.at(field.key));
  }
  for (const auto& [key, value] : case_json.items()) {
    if (shared_keys().count(key) == 0) row.settings[key] = value;
  }
}

/// Epochs last as long as their `slowest` rank; the phases of the `busiest` end in waiting for it.
void take_times(const std::vector<const EpochSample*>& slowest, const std::vector<const EpochSample*>& busiest,
                Row& row) {
  std::vector<double> seconds;
  PerPhase<double> phases{};
  double hidden = 0;
  const double n = slowest.size();
  for (std::size_t e = 0; e < slowest.size(); ++e) {
    const EpochSample* const sample = busiest[e];
    seconds.push_back(slowest[e]->epoch_seconds);
    phases[Phase::wait] += (slowest[e]->epoch_seconds - sample->epoch_seconds) / n;
    hidden += sample->hidden_communicate_seconds / n;
    for (std::size_t i = 0; i < phases.size(); ++i) phases[i] += sample->phase_seconds[i] / n;
  }
  EpochSeconds times;
  times.n = static_cast<std::int64_t>(seconds.size());
  times.median = median(seconds);
  times.mean = mean(seconds);
  times.min = *std::min_element(seconds.begin(), seconds.end());
  times.max = *std::max_element(seconds.begin(), seconds.end());
  times.p95 = percentile(seconds, 95);
  if (const auto interval = median_interval(seconds)) {
    times.ci95_low = interval->low;
    times.ci95_high = interval->high;
  } else {
    const std::string reason = fmt::format("a 95 % interval of a median needs {} measured epochs, there are {}",
                                           fewest_for_median_interval, times.n);
    row.absent["/epoch_seconds/ci95_low"] = row.absent["/epoch_seconds/ci95_high"] = reason;
  }
  row.epoch_seconds = times;
  row.phase_seconds = phases;
  row.hidden_communicate_seconds = hidden;
}

/// An operation that an epoch has no span of took no time in it.
void take_operations(const std::vector<const EpochSample*>& epochs, Row& row) {
  std::array<std::map<std::string, double>, 3> sums;  // seconds, flops, bytes
  double work = 0;
  for (const EpochSample* sample : epochs) {
    for (const OperationTotals& operation : sample->operations) {
      const std::array<double, 3> values{operation.seconds, operation.flops, operation.bytes};
      for (std::size_t i = 0; i < 3; ++i) sums[i][std::string(operation.name)] += values[i];
      work += operation.flops + operation.bytes;
    }
  }
  for (auto& by_name : sums)
    for (auto& [name, value] : by_name) value /= static_cast<double>(epochs.size());
  if (sums[0].empty()) row.absent["/operation_seconds"] = "its samples record no operation";
  if (!sums[0].empty()) row.operation_seconds = sums[0];
  if (work > 0) row.operation_flops = sums[1], row.operation_bytes = sums[2];
  if (!(work > 0)) row.absent["/operation_flops"] = row.absent["/operation_bytes"] = "its samples state no work";
}

/// Sums over ranks must be the same in every epoch; where they are not, the largest is given and a note says so.
void take_bytes(const Epochs& epochs, Row& row) {
  SentBytes most{};
  std::uint64_t transfer = 0, messages = 0;
  std::set<SentBytes> distinct_sent;
  std::set<std::uint64_t> distinct_transfer, distinct_messages;
  for (const auto& [key, ranks] : epochs) {
    SentBytes sent{};
    std::uint64_t epoch_transfer = 0, epoch_messages = 0;
    for (const EpochSample* sample : ranks) {
      for (std::size_t i = 0; i < traffic_count; ++i) sent[i] += sample->sent_bytes[i];
      epoch_transfer += sample->transfer_bytes;
      epoch_messages += sample->messages;
    }
    for (std::size_t i = 0; i < traffic_count; ++i) most[i] = std::max(most[i], sent[i]);
    transfer = std::max(transfer, epoch_transfer);
    messages = std::max(messages, epoch_messages);
    distinct_sent.insert(sent), distinct_transfer.insert(epoch_transfer), distinct_messages.insert(epoch_messages);
  }
  most[traffic_count] = std::accumulate(most.begin(), most.begin() + traffic_count, std::uint64_t{0});
  if (distinct_sent.size() > 1 || distinct_messages.size() > 1)
    row.notes.push_back("bytes or messages differ between epochs; the largest are given");
  if (distinct_transfer.size() > 1)
    row.notes.push_back("bytes moved to the device differ between epochs; the largest are given");
  row.sent_bytes = most;
  row.transfer_bytes = transfer;
  row.messages = messages;
}

void take_peaks(const std::vector<EpochSample>& samples, Row& row) {
  PeakBytes peaks;
  peaks.host.resize(row.ranks);
  peaks.device.resize(row.ranks);
  for (const EpochSample& sample : samples) {
    const std::size_t rank = sample.rank;
    if (rank >= peaks.host.size()) continue;
    peaks.host[rank] = std::max(peaks.host[rank], sample.peak_host_bytes);
    peaks.device[rank] = std::max(peaks.device[rank], sample.peak_device_bytes);
  }
  row.peak_bytes = peaks;
}

/// The fullest rank's share of its memory.
void take_memory_share(const CaseResult& result, Row& row) {
  double share = 0;
  for (const EpochSample& sample : result.samples) {
    const std::uint64_t peak = std::max(sample.peak_device_bytes, sample.peak_host_bytes);
    if (sample.memory_limit_bytes > 0)
      share = std::max(share, static_cast<double>(peak) / static_cast<double>(sample.memory_limit_bytes));
  }
  if (share > 0) row.device_memory_share = share;
  if (share == 0) row.absent["/device_memory_share"] = "no limit of the device's memory is known";
}

void take_imbalance(const Epochs& epochs, Row& row) {
  Imbalance ratios{0, 0};
  for (const auto& [key, ranks] : epochs) {
    double least = ranks.front()->busy_seconds, most = least, sum = 0;
    for (const EpochSample* sample : ranks) {
      least = std::min(least, sample->busy_seconds);
      most = std::max(most, sample->busy_seconds);
      sum += sample->busy_seconds;
    }
    ratios.max_over_min += most / least / static_cast<double>(epochs.size());
    ratios.max_over_mean += most * static_cast<double>(ranks.size()) / sum / static_cast<double>(epochs.size());
  }
  row.imbalance = ratios;
}

void take_band(const CaseResult& result, Row& row) {
  if (result.band_high_factor > 0) {
    const double median = row.epoch_seconds->median;
    row.epoch_seconds_band90 = {median * result.band_low_factor, median * result.band_high_factor, result.band_source};
  } else {
    row.absent["/epoch_seconds_band90"] = result.time_source != "virtual" ? "the time is measured, not predicted"
                                          : result.band_source.empty()
                                              ? "the errors of predictions for this cluster are not known"
                                              : result.band_source;
  }
}

void take_throughput(const CaseResult& result, Row& row) {
  if (std::find(std::begin(throughput_units), std::end(throughput_units), result.throughput_unit) ==
      std::end(throughput_units)) {
    throw Error(unknown_name_message("unit of throughput", result.throughput_unit,
                                     {std::begin(throughput_units), std::end(throughput_units)}));
  }
  const double seconds = row.epoch_seconds->median;
  if (result.cells_per_epoch > 0) row.throughput["cells_per_second"] = result.cells_per_epoch / seconds;
  if (result.edges_per_epoch > 0) row.throughput["edges_per_second"] = result.edges_per_epoch / seconds;
  if (result.nonzeros_per_epoch > 0) row.throughput["nonzeros_per_second"] = result.nonzeros_per_epoch / seconds;
  // Zero: epochs work through different numbers of them.
  if (result.items_per_epoch > 0) row.throughput[result.throughput_unit] = result.items_per_epoch / seconds;
}

void take_rates(const Epochs& epochs, const CaseResult& result, Row& row) {
  const double seconds = row.epoch_seconds->mean;
  take_throughput(result, row);
  if (result.peak_flops_per_second > 0 && result.peak_bytes_per_second > 0) {
    Work work;
    for (const auto& [key, ranks] : epochs) {
      for (const EpochSample* sample : ranks) {
        work.flops += sample->work.flops / static_cast<double>(epochs.size());
        work.bytes_read += sample->work.bytes() / static_cast<double>(epochs.size());
      }
    }
    row.roofline = Roofline{work.flops / seconds / result.peak_flops_per_second,
                            work.bytes_read / seconds / result.peak_bytes_per_second};
    const double ranks = row.ranks;
    row.device_peaks = DevicePeaks{result.peak_flops_per_second / ranks, result.peak_bytes_per_second / ranks};
  } else {
    row.absent["/roofline"] = row.absent["/device_peaks"] = "the peaks of this device are not known";
  }
  if (result.dollars_per_second > 0) {
    row.dollars_per_epoch = result.dollars_per_second * seconds;
    row.currency = result.currency;
  } else {
    row.absent["/dollars_per_epoch"] = "no dated price";
  }
}

/// Keys of `until` are null in most rows.
void take_until(const Json& case_json, const CaseResult& result, Row& row) {
  row.until = result.until;
  const bool asked = case_json.contains("until");
  const std::string reason = asked ? "the case ended as " + row.status : "the case has no until";
  for (const char* key : {"/until_reached", "/until_iterations", "/until_seconds", "/until_dollars"}) {
    if (!row.until) row.absent[key] = reason;
  }
  if (!row.until) return;
  const bool known = std::isfinite(row.until->seconds);
  const std::string why = "epochs before the checkpoint that was continued were measured by another run";
  if (!known) row.absent["/until_seconds"] = why;
  const bool priced = result.dollars_per_second > 0;
  if (!priced || !known) row.absent["/until_dollars"] = priced ? why : "no dated price";
}

/// Why the last value of a series may be no number.
void explain_last(const std::string& name, const Series& series, Row& row) {
  if (row.status == "ok" || series.per_epoch.empty() || std::isfinite(series.per_epoch.back())) return;
  row.absent[fmt::format("/metrics/{}/{}", name, series.per_epoch.size() - 1)] =
      fmt::format("the case ended as {}, or its weights are no longer finite", row.status);
}

std::optional<std::vector<double>> take_series(const Series& series, const std::string& pointer, Row& row) {
  if (!series.per_epoch.empty()) return series.per_epoch;
  row.absent[pointer] = !series.absent_reason.empty() ? series.absent_reason
                        : row.status == "ok"          ? "no values were computed"
                                                      : "the case ended as " + row.status;
  return std::nullopt;
}

/// Gives every null that has no reason yet, and whose parents have none, `reason`.
void explain_nulls(const Json& value, const std::string& pointer, const std::string& reason, Row& row) {
  if (row.absent.count(pointer) != 0 || pointer == "/absent" || pointer == "/settings") return;
  if (value.is_null()) row.absent[pointer] = reason;
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      explain_nulls(value[i], fmt::format("{}/{}", pointer, i), reason, row);
  }
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) explain_nulls(item, pointer + "/" + key, reason, row);
  }
}

/// The keys of the kind of training. A key without a value keeps the reason that the kind gives, if it gives one.
void take_kind(const Facts& facts, Row& row) {
  for (const auto& [name, entry] : FactsRegistry::instance().entries()) {
    for (const FactField& field : entry.value.fields) {
      const auto value = facts.values.find(field.key);
      if (value != facts.values.end() && !value->second.is_null()) {
        row.facts[field.key] = value->second;
        continue;
      }
      const auto why = facts.absent.find(field.key);
      const std::string reason = why == facts.absent.end() ? field.absent : why->second;
      if (!reason.empty()) row.absent["/" + field.key] = reason;
    }
  }
}

/// The work of an epoch, which is known before the first one.
void take_work(const CaseResult& result, Row& row) {
  EpochWork work{result.cells_per_epoch, result.edges_per_epoch, 0, static_cast<double>(result.iterations_per_epoch)};
  for (const auto& [unit, count] : {std::pair{throughput_units[0], &work.edges},
                                    {throughput_units[1], &work.cells},
                                    {throughput_units[2], &work.events}})
    if (result.throughput_unit == unit) *count = result.items_per_epoch;
  if (work.cells + work.edges + work.events + work.updates > 0)
    row.epoch_work = work;
  else
    row.absent["/epoch_work"] = "the work of an epoch was not stated";
  const std::string why = "epochs of this case have no such number, or each has its own";
  for (const auto& [name, member] : row_codec::work_counts)
    if (row.epoch_work && !(work.*member > 0)) row.absent[fmt::format("/epoch_work/{}", name)] = why;
}

/// Fills in the facts of the case that are known however it ended.
void take_facts(const Json& case_json, const std::string& case_id, const CaseResult& result, Row& row) {
  row.case_id = case_id;
  row.status = result.status;
  row.reason = result.reason;
  take_settings(case_json, row);
  row.time_source = result.time_source;
  row.exact = result.exact;
  row.approximations = result.approximations;
  if (!row.exact && row.approximations.empty()) row.approximations.push_back("unnamed approximation");
  row.notes = result.notes;
  row.planned_bytes = result.planned_bytes;
  row.threads = result.threads;
  row.load_seconds = result.load_seconds;
  if (!(row.load_seconds >= 0))
    row.absent["/load_seconds"] = result.load_unknown.empty() ? "it was not measured" : result.load_unknown;
  take_kind(result.facts, row);
  take_work(result, row);
  if (result.iterations_per_epoch > 0) {
    row.iterations = result.iterations_per_epoch;
  } else {
    row.absent["/iterations"] = "how often an epoch updates the weights was not stated";
  }
  if (row.threads.empty() && !result.samples.empty()) {
    row.absent["/threads_per_rank"] =
        result.time_source == "virtual" ? "the time is virtual" : "its kernels do not run on the processor";
  }
}

/// Leaves out what samples without spans do not tell.
void leave_unseen(const std::string& why, Row& row) {
  row.phase_seconds.reset(), row.sent_bytes.reset(), row.transfer_bytes.reset(), row.messages.reset();
  row.peak_bytes.reset(), row.memory_bytes.reset(), row.imbalance.reset();
  row.hidden_communicate_seconds = std::numeric_limits<double>::quiet_NaN();
  for (const char* key : {"/phase_seconds", "/sent_bytes", "/transfer_bytes", "/messages", "/peak_bytes",
                          "/memory_bytes", "/imbalance", "/hidden_communicate_seconds", "/operation_seconds",
                          "/operation_flops", "/operation_bytes", "/threads_per_rank"})
    row.absent[key] = why;
}

/// Returns why a value is null that has no reason of its own.
std::string why_null(const CaseResult& result, const Epochs& epochs, const Row& row) {
  if (!epochs.empty()) return "not a finite number";
  return result.untimed.empty() || row.status != "ok" ? "the case ended as " + row.status : result.untimed;
}

}  // namespace

Row summarise(const Json& case_json, const std::string& case_id, const CaseResult& result) {
  Row row;
  take_facts(case_json, case_id, result, row);
  const Epochs epochs = complete_epochs(result.samples, row.ranks);
  if (row.status == "ok" && epochs.empty() && result.untimed.empty()) {
    row.status = "failed";
    row.reason = "no measured epoch was completed by all ranks";
  }
  if (!result.samples.empty()) take_peaks(result.samples, row), take_memory_bytes(result, row);
  if (!epochs.empty()) {
    const std::vector<const EpochSample*> slowest_ranks = slowest_of_each_epoch(result.samples, row.ranks);
    const std::vector<const EpochSample*> busiest_ranks = busiest_of_each_epoch(result.samples, row.ranks);
    take_times(slowest_ranks, busiest_ranks, row);
    take_operations(busiest_ranks, row);
    take_bytes(epochs, row);
    take_imbalance(epochs, row);
    take_band(result, row);
    take_rates(epochs, result, row);
  }
  take_memory_share(result, row);
  if (!result.unseen.empty()) leave_unseen(result.unseen, row);
  row.loss = take_series(result.loss, "/loss", row);
  for (const auto& [name, series] : result.metrics) {
    row.metrics[name] = take_series(series, "/metrics/" + name, row);
    explain_last(name, series, row);
  }
  take_until(case_json, result, row);
  take_draws(result, row);
  const bool is_virtual = row.time_source == "virtual";
  row.absent["/rounds"] = is_virtual ? "virtual time is the same in every process" : "one process measured it";
  row.absent["/machine"] = is_virtual ? "the time is virtual" : "the machine was not observed";
  row.metric_samples = result.metric_samples;
  row.metric_best_rule = result.metric_best_rule, row.metric_best_possible = result.metric_best_possible;
  explain_nulls(row_to_json(row), "", why_null(result, epochs, row), row);
  return row;
}

Row row_of_median(const Json& case_json, const std::string& case_id, const std::string& status,
                  const std::string& reason, double median_seconds, const std::string& why) {
  Row row;
  row.case_id = case_id;
  row.status = status;
  row.reason = reason;
  take_settings(case_json, row);
  if (std::isfinite(median_seconds)) {
    row.epoch_seconds.emplace();
    row.epoch_seconds->median = median_seconds;
    row.notes.push_back("only the median epoch is known, not the number of epochs");
  }
  explain_nulls(row_to_json(row), "", why, row);
  return row;
}

Json case_json_of(const Row& row) {
  Json json = row.settings;
  for (const RowField& field : row_fields())
    if (shared_keys().count(field.key) != 0) json[field.key] = field.get(row);
  return json;
}

}  // namespace strobe
