#include "harness/run/kept_plans.hpp"

#include <nlohmann/json.hpp>

#include "harness/training/make_plan.hpp"

namespace strobe {

std::shared_ptr<const PlannedCase> KeptPlans::get(const Case& c) {
  const std::string key = case_to_json(c).dump();
  if (const auto kept = plans_.find(key); kept != plans_.end()) return kept->second;
  const std::shared_ptr<const PlannedCase> plan = make_plan(c);
  const std::uint64_t bytes = plan->schedule->kept_bytes();
  if (bytes_ + bytes > most_bytes_) return plan;
  bytes_ += bytes;
  plans_[key] = plan;
  return plan;
}

std::shared_ptr<const PlannedCase> KeptPlans::take(const Case& c) {
  const std::shared_ptr<const PlannedCase> plan = get(c);
  if (plans_.erase(case_to_json(c).dump()) > 0) bytes_ -= plan->schedule->kept_bytes();
  return plan;
}

}  // namespace strobe
