#include "harness/run/kept_plans.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/system/process_memory.hpp"
#include "harness/run/fusion_profile.hpp"

namespace strobe {

namespace {

std::uint64_t bytes_to_keep() {
  constexpr const char* name = "STROBE_KEPT_PLANS_GIB";
  const char* const text = std::getenv(name);
  if (text == nullptr) return std::uint64_t{4} << 30;
  char* end = nullptr;
  const double gib = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(gib >= 0 && gib < 1e9))
    throw InvalidRequest(name, fmt::format("is '{}'; expected a number of GiB, from 0 on", text));
  return static_cast<std::uint64_t>(gib * 1024 * 1024 * 1024);
}

std::shared_ptr<const PlannedCase> with_facts(const PlannedCase& plan, const TrainingMemory& memory,
                                              double load_seconds) {
  PlannedCase made = plan;
  if (!memory.note.empty()) made.notes.push_back(memory.note);
  made.host_bytes = memory.bytes;
  made.load_seconds = load_seconds;
  return std::make_shared<const PlannedCase>(std::move(made));
}

}  // namespace

KeptPlans::KeptPlans(std::shared_ptr<const NodeStore> node, NodeRanks here)
    : KeptPlans(bytes_to_keep(), std::move(node), std::move(here)) {}

std::shared_ptr<const PlannedCase> KeptPlans::get(const Case& c) {
  const std::string key = case_to_json(c).dump();
  if (const auto kept = plans_.find(key); kept != plans_.end()) return kept->second;
  spare_process_memory(c.host_memory_limit_gib > 0);
  if (c.host_memory_limit_gib > 0) drop_plans();
  check_room_to_read(c);
  const double before = measured_bytes(c, process_memory_bytes);
  std::shared_ptr<const PlannedCase> plan = make_plan_here(c, PlanUse::run, cache_, here_);
  Checked& checked = checked_[key];
  if (!checked.memory) check(c, *plan, std::max(0.0, measured_bytes(c, most_process_memory) - before), checked);
  checked.load_seconds = std::max(checked.load_seconds, plan->load_seconds);
  plan = with_facts(*plan, *checked.memory, checked.load_seconds);
  const std::uint64_t bytes = plan->schedule->summary().kept_bytes;
  if (bytes_ + bytes > most_bytes_) {
    all_fit_ = false;
    return plan;
  }
  bytes_ += bytes;
  plans_[key] = plan;
  return plan;
}

void KeptPlans::check(const Case& c, const PlannedCase& plan, double planning_bytes, Checked& checked) const {
  TrainingMemory memory = check_host_memory(plan, here_, planning_bytes);
  if (c.host_memory_limit_gib > 0) {
    if (const auto measuring = measuring_case(plan)) checked.measuring = check_measuring_epoch(*measuring, plan, here_);
  }
  memory.note += checked.measuring;
  checked.memory = std::move(memory);
}

double KeptPlans::measured_bytes(const Case& c, std::uint64_t (*look)()) const {
  // A simulated job plans elsewhere.
  return c.host_memory_limit_gib > 0 && c.cluster.empty() && here_.program_bytes > 0 ? static_cast<double>(look()) : 0;
}

void KeptPlans::drop_plans() {
  if (plans_.empty()) return;
  plans_.clear();
  bytes_ = 0;
  all_fit_ = false;
  malloc_trim(0);  // otherwise planning would seem to take less, because it reuses freed memory
  forget_process_memory();
}

void KeptPlans::forget_data() {
  if (all_fit_) cache_.forget();
}

std::shared_ptr<const PlannedCase> KeptPlans::take(const Case& c) {
  const std::shared_ptr<const PlannedCase> plan = get(c);
  if (plans_.erase(case_to_json(c).dump()) > 0) bytes_ -= plan->schedule->summary().kept_bytes;
  if (c.host_memory_limit_gib > 0) drop_plans();  // otherwise they would take memory while the case trains
  return plan;
}

std::shared_ptr<const PlannedCase> KeptPlans::checked(const std::shared_ptr<const PlannedCase>& measured) const {
  TrainingMemory memory = check_host_memory(*measured, here_, 0);  // nothing more was read or made than for the plan
  if (memory.note.empty()) return measured;
  const auto before = checked_.find(case_to_json(measured->request).dump());
  if (before != checked_.end()) memory.note += before->second.measuring;
  PlannedCase made = *measured;
  std::erase_if(made.notes, [](const std::string& earlier) { return earlier.starts_with(host_limit_note); });
  made.notes.push_back(memory.note);
  made.host_bytes = memory.bytes;
  return std::make_shared<const PlannedCase>(std::move(made));
}

}  // namespace strobe
