// Runs whose rows and samples are made up, so that every number is known.
#pragma once

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/row/rounds.hpp"
#include "results/run/run_directory.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe::testing_results {

struct MadeCase {
  std::string strategy = "snapshot";
  std::vector<double> rounds = {};  // seconds of an epoch in each process; NaN: the process measured nothing
  double cells = 1000;              // of an epoch; 0 with events
  double events = 0;
  std::int64_t updates = 1;
  std::int64_t seed = 3;
  std::int64_t ranks = 2;
  Json settings = Json::object();
  double until = 0;  // seconds to mrr=0.3; below 0: it was not reached; 0: not asked for
  bool simulated = false;
  std::map<std::string, Json> facts = {};  // of the kind of training
  std::map<std::string, std::int64_t> metric_samples = {};
  std::map<std::string, double> metrics = {};   // after the last epoch
  std::optional<ConfidenceInterval> band = {};  // of a prediction, as factors of its time
  std::vector<double> draws = {};               // of a prediction: seconds of an epoch in each drawn cluster
  std::string draws_of = "some clusters";
};

class MadeRun {
 public:
  MadeRun(const TemporaryFolder& folder, const std::string& name) : MadeRun(folder.file(name), Json::array()) {}
  /// The run of a plan, whose cases get their rows from `add_case`.
  MadeRun(const std::string& path, const Json& plan)
      : directory_(path, plan, Json{{"host_class", {{"text", "host A"}}}}, false), session_("session of " + path) {}

  void add(const MadeCase& made) { add_case(json_of(made), "case" + std::to_string(count_++), made); }

  void add_case(const Json& json, const std::string& id, const MadeCase& made) {
    if (made.rounds.size() == 1) {
      const CaseResult result = result_of(made, made.rounds.front());
      directory_.append_epochs(id, result.samples);
      directory_.add_row(summarise(json, id, result));
      return;
    }
    std::vector<RoundRecord> records;
    std::vector<EpochSample> all;
    for (std::size_t round = 0; round < made.rounds.size(); ++round) {
      if (std::isnan(made.rounds[round])) continue;
      CaseResult result = result_of(made, made.rounds[round]);
      records.push_back({id, static_cast<int>(round), session_, {}, summarise(json, id, result)});
      number_repetitions(result.samples, static_cast<int>(round), 1);
      directory_.append_round(records.back(), result.samples);
      all.insert(all.end(), result.samples.begin(), result.samples.end());
    }
    directory_.add_row(row_of_rounds(records, all, static_cast<int>(records.size())));
  }

 private:
  static Json json_of(const MadeCase& made) {
    Json json = case_json(made.ranks, made.strategy, made.simulated ? "sim" : "cpu");
    json["seed"] = made.seed;
    json.update(made.settings);
    if (made.until != 0) json["until"] = "mrr=0.3";
    return json;
  }

  static CaseResult result_of(const MadeCase& made, double seconds) {
    CaseResult result = make_result(6, seconds);
    if (made.simulated) {
      result.time_source = "virtual";
      for (EpochSample& sample : result.samples) {
        sample.phase_seconds[4] -= sample.epoch_seconds - seconds;
        sample.epoch_seconds = seconds;
      }
    }
    for (EpochSample& sample : result.samples)
      if (sample.rank == 0) sample.drawn_seconds = made.draws;
    if (!made.draws.empty()) result.draws_of = made.draws_of;
    result.iterations_per_epoch = made.updates;
    result.items_per_epoch = made.events > 0 ? made.events : made.cells;
    result.throughput_unit = made.events > 0 ? "events_per_second" : "cells_per_second";
    result.facts.values = made.facts;
    result.metric_samples = made.metric_samples;
    for (const auto& [name, value] : made.metrics) result.metrics[name] = {{0.5, value}, ""};
    if (made.band) result.band_low_factor = made.band->low, result.band_high_factor = made.band->high;
    if (made.until != 0) result.until = UntilOutcome{made.until > 0, 12, std::abs(made.until)};
    return result;
  }

  RunDirectory directory_;
  std::string session_;
  int count_ = 0;
};

}  // namespace strobe::testing_results
