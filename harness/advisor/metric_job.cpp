#include "harness/advisor/metric_job.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/request/schedule_tag.hpp"
#include "harness/request/until.hpp"

namespace strobe {
namespace {

/// The same training on one rank of this machine.
Json on_one_rank(Json request) {
  for (const char* key : {"cluster", "memory_limit_gib"}) request.erase(key);
  request.update({{"strategy", "sequential"}, {"ranks", 1}, {"device", host_device}, {"comm", "local"}, {"nb", "1"}});
  request.update({{"overlap", 1}, {"inputs", "streamed"}, {"transfer", "direct"}});  // the values are the same
  return request;
}

}  // namespace

MetricJob::MetricJob(const std::string& until, std::int64_t epochs) : until_(until), epochs_(epochs) {
  const UntilRule rule = parse_until(until);
  if (!rule.converged && !rule.reads_loss()) return;
  throw InvalidRequest(
      "--until",
      fmt::format(
          "'{}' asks for {}, which cannot be compared between models; ask for the value of a metric, such as mrr=0.3",
          until, rule.converged ? "convergence" : "a loss"));
}

MetricReach MetricJob::train(const Json& request, const DataCache& cache) {
  Json with_values = request;
  with_values.update({{"numerics", host_device}, {"until", until_}, {"epochs", epochs_}, {"warmup", 0}});
  const CaseResult result = [&] {
    try {
      return run_case(case_from_json(with_values, ""), nullptr, {}, cache);
    } catch (const InvalidRequest& error) {
      if (error.where() != "/until") throw;
      throw InvalidRequest("--until", error.message());
    }
  }();
  MetricReach reach;
  if (result.status != "ok") {
    reach.refusal = result.reason;
    return reach;
  }
  reach.epochs = static_cast<std::int64_t>(result.loss.per_epoch.size());
  if (!result.until) throw Error("training that ends at a metric did not report how it ended");
  reach.reached = result.until->reached;
  reach.updates = result.until->iterations;
  reach.seconds = result.until->seconds;
  if (const auto target = result.facts.values.find("until_value"); target != result.facts.values.end())
    reach.target = target->second.get<double>();
  check_target(reach, request.at("model").at("name").get<std::string>());
  return reach;
}

void MetricJob::check_target(const MetricReach& reach, const std::string& model) {
  if (!reach.target) return;
  if (!first_seen_) first_seen_.emplace(model, *reach.target);
  const auto& [first, value] = *first_seen_;
  if (std::abs(*reach.target - value) <= 1e-9 * std::abs(value)) return;
  throw InvalidRequest("--until",
                       fmt::format("'{}' is {:.6g} for {} and {:.6g} for {}, whose best rules differ, so times until "
                                   "then do not compare; give the value",
                                   until_, value, first, *reach.target, model));
}

MetricReach MetricJob::reach(const PlannedCase& plan, const Case& c, const DataCache& cache) {
  const std::lock_guard lock(mutex_);
  const Json request = case_to_json(c);
  if (!trains_full_batch(c) || !plan.schedule->summary().approximations.empty()) return train(request, cache);
  const Json one = on_one_rank(request);
  const auto [curve, is_new] = curves_.try_emplace(one.dump());
  if (is_new) {
    curve->second = train(one, cache);
    curve->second.seconds.reset();
  }
  return curve->second;
}

}  // namespace strobe
