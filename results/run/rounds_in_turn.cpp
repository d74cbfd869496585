#include "results/run/rounds_in_turn.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <set>

#include "core/errors.hpp"
#include "results/row/machine_reading.hpp"
#include "results/run/environment.hpp"
#include "results/run/run_directory.hpp"

namespace strobe {
namespace {

struct MeasuredCase {
  Json json;
  std::string id;
  std::vector<RoundRecord> records;
  std::vector<EpochSample> samples;
};

MeasuredCase case_of(const MeasuredFunction& function) {
  Json options = function.settings;
  const auto taken = [&options](const char* key, Json otherwise) {
    Json value = options.value(key, std::move(otherwise));
    options.erase(key);
    return value;
  };
  Json json{
      {"workload", {{"name", taken("workload", "none")}}}, {"ranks", taken("ranks", 1)}, {"seed", taken("seed", 1)}};
  for (const char* part : {"model", "task", "optimizer"}) json[part] = {{"name", "none"}};
  options["name"] = function.name;
  json["strategy"] = options;
  const std::string id = function.name + "#" + plan_hash(json).substr(0, 6);
  return {std::move(json), id, {}, {}};
}

std::vector<MeasuredCase> cases_of(const std::vector<MeasuredFunction>& functions, int rounds) {
  if (functions.empty() || rounds < 1) throw Error("measure_in_turn needs a function and a round");
  std::vector<MeasuredCase> cases;
  std::set<std::string> ids;
  for (const MeasuredFunction& function : functions) {
    cases.push_back(case_of(function));
    if (!ids.insert(cases.back().id).second) throw Error("two measured functions are alike: " + function.name);
  }
  return cases;
}

CaseResult measured(const std::function<CaseResult(std::size_t, int)>& measure, std::size_t i, int round) {
  try {
    return measure(i, round);
  } catch (const std::exception& error) {
    CaseResult failed;
    failed.status = "failed";
    failed.reason = error.what();
    return failed;
  }
}

bool has_failed(const MeasuredCase& c) { return !c.records.empty() && c.records.back().row.status != "ok"; }

}  // namespace

void measure_in_turn(const std::string& folder, const std::vector<MeasuredFunction>& functions, int rounds,
                     const std::function<CaseResult(std::size_t, int)>& measure) {
  std::vector<MeasuredCase> cases = cases_of(functions, rounds);
  Json plan = Json::array();
  for (const MeasuredCase& c : cases) plan.push_back(c.json);
  const Json here = environment();
  RunDirectory run(folder, plan, here, false);
  const std::string session = plan_hash(here);
  MachineWatch watch;
  std::vector<std::size_t> turns(cases.size());
  std::iota(turns.begin(), turns.end(), std::size_t{0});
  for (int round = 0; round < rounds; ++round, std::reverse(turns.begin(), turns.end())) {
    for (const std::size_t i : turns) {
      MeasuredCase& c = cases[i];
      if (has_failed(c)) continue;
      CaseResult result = measured(measure, i, round);
      c.records.push_back({c.id, round, session, watch.look(), summarise(c.json, c.id, result)});
      number_repetitions(result.samples, round, 1);
      run.append_round(c.records.back(), result.samples);
      c.samples.insert(c.samples.end(), result.samples.begin(), result.samples.end());
      if (round + 1 == rounds || has_failed(c)) run.add_row(row_of_rounds(c.records, c.samples, rounds));
    }
  }
}

}  // namespace strobe
