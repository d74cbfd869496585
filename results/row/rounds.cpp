// Invariant: a row made from one round has the values of that round's own row; only what rounds say is added.
#include "results/row/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/row/json_lines.hpp"
#include "results/row/memory_bytes.hpp"

namespace strobe {
namespace {

constexpr std::uint64_t row_bootstrap_seed = 1;
constexpr double row_confidence = 0.95;

Series series_of(const std::optional<std::vector<double>>& values, const std::string& pointer, const Row& row) {
  Series series;
  if (values) series.per_epoch = *values;
  if (const auto reason = row.absent.find(pointer); reason != row.absent.end()) series.absent_reason = reason->second;
  return series;
}

/// Rates are of the row's own times, so that other samples give other rates.
void take_rates(const Row& row, CaseResult& result) {
  const EpochWork work = work_of(row);
  result.throughput_unit = "events_per_second";
  result.items_per_epoch = work.events;
  result.cells_per_epoch = work.cells;
  result.edges_per_epoch = work.edges;
  if (!row.epoch_seconds) return;
  if (const auto rate = row.throughput.find("nonzeros_per_second"); rate != row.throughput.end())
    result.nonzeros_per_epoch = rate->second * row.epoch_seconds->median;
  const double mean = row.epoch_seconds->mean;
  if (row.device_peaks) {
    const double ranks = row.ranks;
    result.peak_flops_per_second = row.device_peaks->flops_per_second * ranks;
    result.peak_bytes_per_second = row.device_peaks->bytes_per_second * ranks;
  }
  if (std::isfinite(row.dollars_per_epoch)) {
    result.dollars_per_second = row.dollars_per_epoch / mean;
    result.currency = row.currency;
  }
}

/// The interval of the median from the spread between rounds, which is what another run would differ by.
void take_interval(const std::map<int, std::vector<double>>& seconds, Row& row) {
  Rounds rounds;
  for (const auto& [round, epochs] : seconds) rounds.push_back(epochs);
  const auto level = level_of_rounds(rounds, row_bootstrap_seed);
  if (!level || !row.epoch_seconds) return;
  const ConfidenceInterval interval = level->interval(row_confidence);
  row.epoch_seconds->ci95_low = row.epoch_seconds->median * interval.low / level->value();
  row.epoch_seconds->ci95_high = row.epoch_seconds->median * interval.high / level->value();
  row.absent.erase("/epoch_seconds/ci95_low");
  row.absent.erase("/epoch_seconds/ci95_high");
}

/// Samples of a process that produced no result are kept in samples.jsonl, but belong to no epoch of the row.
void end_with(const std::vector<RoundRecord>& records, int wanted, CaseResult& result) {
  for (const RoundRecord& record : records) {
    if (record.row.status == "ok") continue;
    result.status = record.row.status;
    result.reason = fmt::format("round {}: {}", record.round + 1, record.row.reason);
    return;
  }
  if (static_cast<int>(records.size()) >= wanted) return;
  result.status = "interrupted";
  result.reason = fmt::format("{} of {} rounds were run", records.size(), wanted);
}

Row row_of_virtual_time(const RoundRecord& record) {
  Row row = record.row;
  row.notes.push_back("one round: virtual time is the same in every process");
  return row;
}

RoundRecord record_from_json(const Json& json, const std::string& file) {
  return {json.at("case_id").get<std::string>(), json.at("round").get<int>(), json.at("session").get<std::string>(),
          machine_from_json(json.at("machine")), row_from_json(json.at("row"), file)};
}

}  // namespace

Json round_to_json(const RoundRecord& record) {
  return {{"case_id", record.case_id},
          {"round", record.round},
          {"session", record.session},
          {"machine", machine_to_json(record.machine)},
          {"row", row_to_json(record.row)}};
}

std::map<std::string, std::vector<RoundRecord>> read_rounds(const std::string& path) {
  std::map<std::string, std::vector<RoundRecord>> records;
  for_each_json_line(path, "round", [&](std::string_view, const Json& json, std::uint64_t) {
    RoundRecord record = record_from_json(json, path);
    records[record.case_id].push_back(std::move(record));
  });
  return records;
}

int repetitions_of(const Row& row) {
  const auto repeat = row.settings.find("repeat");
  return repeat != row.settings.end() && repeat->is_number_integer() ? std::max(1, repeat->get<int>()) : 1;
}

void number_repetitions(std::vector<EpochSample>& samples, int round, int repetitions) {
  for (EpochSample& sample : samples) sample.repetition += round * repetitions;
}

std::map<int, std::vector<double>> seconds_by_round(const std::vector<EpochSample>& samples, const Row& row) {
  std::map<int, std::vector<double>> rounds;
  const int repetitions = repetitions_of(row);
  for (const EpochSample* sample : slowest_of_each_epoch(samples, row.ranks))
    rounds[sample->repetition / repetitions].push_back(sample->epoch_seconds);
  return rounds;
}

namespace {

/// The facts of a row, with the reasons why some have no value.
Facts facts_of(const Row& row) {
  Facts facts;
  facts.values = row.facts;
  for (const auto& [name, entry] : FactsRegistry::instance().entries()) {
    for (const FactField& field : entry.value.fields) {
      if (const auto why = row.absent.find("/" + field.key); why != row.absent.end())
        facts.absent[field.key] = why->second;
    }
  }
  return facts;
}

}  // namespace

CaseResult result_of_row(const Row& row, std::vector<EpochSample> samples) {
  CaseResult result;
  result.status = row.status;
  result.reason = row.reason;
  result.samples = std::move(samples);
  result.loss = series_of(row.loss, "/loss", row);
  for (const auto& [name, values] : row.metrics) result.metrics[name] = series_of(values, "/metrics/" + name, row);
  result.metric_samples = row.metric_samples;
  result.metric_best_rule = row.metric_best_rule;
  result.metric_best_possible = row.metric_best_possible;
  result.time_source = row.time_source;
  result.iterations_per_epoch = row.iterations.value_or(0);
  result.facts = facts_of(row);
  result.threads = row.threads;
  result.load_seconds = row.load_seconds;
  result.load_unknown = series_of({}, "/load_seconds", row).absent_reason;
  result.until = row.until;
  result.exact = row.exact;
  result.approximations = row.approximations;
  result.notes = row.notes;
  result.planned_bytes = row.planned_bytes;
  result.planned_memory = planned_memory_of(row);
  if (row.time_draws) result.draws_of = row.time_draws->of;
  take_rates(row, result);
  if (row.epoch_seconds && !row.phase_seconds) result.unseen = series_of({}, "/phase_seconds", row).absent_reason;
  return result;
}

Row row_of_rounds(const std::vector<RoundRecord>& records, const std::vector<EpochSample>& samples, int wanted) {
  if (records.front().row.time_source == "virtual") return row_of_virtual_time(records.front());
  const auto first =
      std::find_if(records.begin(), records.end(), [](const RoundRecord& record) { return record.row.status == "ok"; });
  const Row& facts = first == records.end() ? records.front().row : first->row;
  std::vector<EpochSample> of_first;
  const int repetitions = repetitions_of(facts), round = first == records.end() ? 0 : first->round;
  for (const EpochSample& sample : samples)
    if (sample.repetition / repetitions == round) of_first.push_back(sample);
  CaseResult result = result_of_row(facts, std::move(of_first));
  result.samples = samples;
  // The note about differences between epochs is written again for all samples.
  std::erase_if(result.notes, [](const std::string& note) { return note.find("differ between epochs") != note.npos; });
  end_with(records, wanted, result);
  Row row = summarise(case_json_of(facts), facts.case_id, result);
  const std::map<int, std::vector<double>> seconds = seconds_by_round(samples, row);
  MachineState machine;
  RoundTimes times;
  std::vector<double> loads;
  for (const RoundRecord& record : records) {
    machine.add(record.machine);
    times.session = record.session;
    if (record.row.load_seconds >= 0) loads.push_back(record.row.load_seconds);
    const auto found = seconds.find(record.round);
    times.seconds.push_back(found == seconds.end() ? MachineReading::unknown : median(found->second));
  }
  take_interval(seconds, row);
  if (!loads.empty()) row.load_seconds = median(loads);
  row.rounds = std::move(times);
  row.absent.erase("/rounds");
  note_machine(row, machine, "rounds");
  return row;
}

void note_machine(Row& row, const MachineState& state, const std::string& where) {
  row.machine = state;
  row.absent.erase("/machine");
  const Json json = machine_to_json(state);
  for (const auto& [key, value] : json.items())
    if (value.is_null()) row.absent["/machine/" + key] = "the machine does not tell, or the time was too short";
  for (const std::string& note : machine_notes(state, where)) row.notes.push_back(note);
}

}  // namespace strobe
