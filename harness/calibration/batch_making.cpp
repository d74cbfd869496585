// Real training makes the batches inline, so that caches are as training leaves them. The simulator charges a batch by
// the mean work of its size, so calls of one size are one sample. Cost: the cases' epochs.
#include "harness/calibration/batch_making.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/errors.hpp"
#include "core/system/interrupt.hpp"
#include "harness/hybrid_batches/batch_feed.hpp"
#include "harness/run/run_case.hpp"
#include "models/snapshots/model.hpp"
#include "results/row/row.hpp"
#include "results/row/statistics.hpp"

namespace strobe {
namespace {

constexpr std::int64_t updates = 90;  // about ten for each of the sizes below

/// Fewer sizes for large graphs, so that a few long batches do not take most of the minute.
Json strategy_of(const BatchGround& ground) {
  const bool large = ground.vertices > 200'000;
  return {{"name", "hybrid_batch"},
          {"generator", "inline"},
          {"reservoir", false},
          {"adjuster", "random"},
          {"vertex_sizes", large ? "1%/5%" : "1%/5%/25%"},
          {"snapshot_sizes", large ? "20%/50%" : "20%/50%/100%"},
          {"evaluate_every", updates + 1}};
}

/// Whether a state walks along edges at every step, and so reaches all of a large graph.
bool walks_at_every_step(const Json& model) {
  const std::vector<LayerShape> layers =
      ModelRegistry::instance().find(model.at("name").get<std::string>()).value(model)->layers(1);
  return std::any_of(layers.begin(), layers.end(), [](const LayerShape& layer) { return layer.step_by_step; });
}

using Key = std::tuple<double, double, double, double>;

}  // namespace

std::vector<BatchGround> batch_grounds(bool quick) {
  // Dense steps, where most cells of a batch are found by the walk, and sparse ones, where most are targets.
  std::vector<BatchGround> grounds{{"uniform", 1'500, 16, 4'500},
                                   {"uniform", 2'000, 16, 600},
                                   {"power-law", 8'000, 24, 32'000},
                                   {"uniform", 10'000, 24, 2'000},
                                   {"uniform", 40'000, 12, 20'000}};
  grounds.push_back({"uniform", 40'000, 12, 120'000});
  if (quick) return grounds;
  grounds.push_back({"power-law", 100'000, 12, 500'000});
  grounds.push_back({"uniform", 400'000, 8, 400'000});
  return grounds;
}

std::vector<Case> batch_making_cases(const BatchGround& ground) {
  Json workload{{"name", ground.generator}, {"vertices", ground.vertices}, {"steps", ground.steps}};
  if (ground.generator == "uniform") {
    workload["density"] = static_cast<double>(ground.edges_of_step) / static_cast<double>(ground.vertices);
  } else {
    workload["edges"] = ground.edges_of_step;
  }
  std::vector<Case> cases;
  for (const Json& model : {Json{{"name", "t-gcn"}}, Json{{"name", "evolve-gcn-o"}}, Json{{"name", "dcrnn"}}}) {
    const Case c = case_from_json({{"workload", workload},
                                   {"model", model},
                                   {"task", "vertex-regression"},
                                   {"strategy", strategy_of(ground)},
                                   {"device", host_device},
                                   {"comm", "local"},
                                   {"epochs", updates},
                                   {"warmup", 0}},
                                  "");
    if (ground.vertices < 10'000 || !walks_at_every_step(c.model)) cases.push_back(c);
  }
  return cases;
}

std::vector<OperationTiming> batch_making_timings(const std::vector<Span>& spans, const std::string& configuration) {
  std::map<Key, std::pair<Work, std::vector<double>>> calls;
  for (const Span& span : spans) {
    // Waiting for a batch leaves a span of the same name, but without work.
    if (span.stream != Stream::host || span.name != making_batches || !(span.work.bytes() > 0)) continue;
    const Work& w = span.work;
    auto& [work, seconds] = calls[{w.flops, w.bytes_read, w.bytes_written, w.gather.accessed_bytes}];
    work = w;
    seconds.push_back(span.end_seconds - span.begin_seconds);
  }
  std::vector<OperationTiming> samples;
  for (auto& [key, call] : calls) {
    auto& [work, seconds] = call;
    if (seconds.size() < 2) continue;
    seconds.erase(seconds.begin());  // it also paid for fresh memory
    OperationTiming sample;
    sample.operation = std::string(making_batches);
    sample.configuration = configuration;
    sample.work = work;
    sample.seconds = median(seconds);
    sample.calls = static_cast<int>(seconds.size());
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::vector<OperationTiming> measure_batch_making(const Case& c, const DataCache& cache) {
  if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
  std::vector<std::vector<Span>> spans;
  const CaseResult result = run_case(c, &spans, {}, cache);
  if (result.status != "ok") throw Error(case_id(c) + ": " + result.reason);
  return batch_making_timings(spans.at(0), case_id(c));
}

}  // namespace strobe
