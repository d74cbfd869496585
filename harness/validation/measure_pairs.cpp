// Runs each pair for real and simulated. Returns results in the order of the pairs. Cost: the real runs; each plan is
// made once for all rounds.
#include "harness/validation/measure_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "core/system/interrupt.hpp"
#include "harness/run/run_case.hpp"
#include "harness/schedule/planned_case.hpp"
#include "harness/training/make_plan.hpp"
#include "harness/validation/baseline.hpp"

namespace strobe {
namespace {

/// Runs one case. A failure becomes the result's status, unless the user asked to stop.
class Runner {
 public:
  explicit Runner(const DataCache& cache) : cache_(cache) {}

  CaseResult run(const Case& c, std::vector<std::vector<Span>>& spans) {
    if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
    CaseResult result;
    try {
      if (plan_ == nullptr) plan_ = make_plan(c, PlanUse::run, cache_);
      return run_planned(plan_, c, &spans);
    } catch (const Interrupted&) {
      throw;
    } catch (const Unavailable& error) {
      result.status = "skipped";
      result.reason = error.what();
    } catch (const std::bad_alloc&) {
      result.status = "out_of_memory";
      result.reason = "the host's memory is exhausted";
    } catch (const std::exception& error) {
      result.status = "failed";
      result.reason = error.what();
    }
    return result;
  }

 private:
  const DataCache& cache_;
  std::shared_ptr<const PlannedCase> plan_;
};

void add_round(CaseResult&& more, int round, CaseResult& all) {
  for (EpochSample& sample : more.samples) sample.repetition = round;
  if (round == 0) {
    all = std::move(more);
    return;
  }
  all.samples.insert(all.samples.end(), more.samples.begin(), more.samples.end());
  if (all.status != "ok" || more.status == "ok") return;
  all.status = more.status;
  all.reason = more.reason;
}

void run_measured(Runner& runner, int round, const PairListener& listener, PairResult& result) {
  Case once = result.pair.measured;
  once.repeat = 1;
  listener.begin(result.pair.id);
  std::vector<std::vector<Span>> spans;
  CaseResult run = runner.run(once, spans);
  listener.end(result.pair.id, run);
  if (run.status == "ok") average_in(result.measured_parts, span_parts(run.samples, spans), round);
  add_round(std::move(run), round, result.measured);
}

void run_simulated(const PairListener& listener, const DataCache& cache, PairResult& result) {
  const Case& c = result.pair.simulated;
  listener.begin(case_id(c));
  std::vector<std::vector<Span>> spans;
  result.simulated = Runner(cache).run(c, spans);
  listener.end(case_id(c), result.simulated);
  if (result.simulated.status != "ok") return;
  result.band = band_of(summarise(case_to_json(c), case_id(c), result.simulated));
  result.simulated_parts = span_parts(result.simulated.samples, spans);
  result.baseline_seconds = roofline_ring_seconds(last_epoch_spans(result.simulated.samples, spans),
                                                  *load_cluster(c.cluster), c.precision == "fp64");
}

/// Stores a pair's result after `rounds`. If the program ends now, its row must not claim that all rounds ran.
void keep_rounds(const PairListener& listener, std::int64_t rounds, const PairResult& result) {
  PairResult so_far = result;
  const std::int64_t wanted = result.pair.measured.repeat;
  if (rounds < wanted && so_far.measured.status == "ok") {
    so_far.measured.status = "interrupted";
    so_far.measured.reason = fmt::format("{} of {} rounds were run", rounds, wanted);
  }
  listener.keep(so_far);
}

void run_rounds(bool first, const PairListener& listener, std::vector<PairResult>& results) {
  std::int64_t rounds = 0;
  for (const PairResult& result : results) rounds = std::max(rounds, result.pair.measured.repeat);
  const DataCache cache;
  std::vector<Runner> runners(results.size(), Runner(cache));
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (round >= results[i].pair.measured.repeat) continue;
      run_measured(runners[i], round, listener, results[i]);
      if (round == 0 && first) run_simulated(listener, cache, results[i]);
      keep_rounds(listener, round + 1, results[i]);
    }
  }
}

}  // namespace

std::optional<PredictedBand> band_of(const Row& row) {
  const Json json = row_to_json(row);
  const auto band = json.find("epoch_seconds_band90");
  if (band == json.end() || !band->is_object()) return std::nullopt;
  const Json &low = band->at("low"), &high = band->at("high");
  if (!low.is_number() || !high.is_number()) return std::nullopt;
  return PredictedBand{low.get<double>(), high.get<double>()};
}

Row measured_row(const PairResult& result) {
  if (result.earlier) return *result.earlier;
  const Case& c = result.pair.measured;
  return summarise(case_to_json(c), case_id(c), result.measured);
}

std::vector<PairResult> measure_pairs(const std::vector<ValidationPair>& pairs, bool first,
                                      const PairListener& listener) {
  std::vector<PairResult> results;
  for (const ValidationPair& pair : pairs) results.push_back({pair, {}, {}, {}, {}, {}, 0});
  run_rounds(first, listener, results);
  return results;
}

void simulate_pairs(std::vector<PairResult>& results, const PairListener& listener) {
  const DataCache cache;
  for (PairResult& result : results) {
    run_simulated(listener, cache, result);
    listener.keep(result);
  }
}

}  // namespace strobe
