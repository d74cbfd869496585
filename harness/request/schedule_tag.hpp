// Kinds of training: each defines one update and has a planner. A strategy names the kind that it plans (StrategyTag).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/registry.hpp"
#include "harness/request/case.hpp"

namespace strobe {

class DataCache;        // core/data_cache.hpp
class SchedulePlanner;  // harness/schedule/schedule.hpp
struct CaseSlot;        // harness/request/case_slots.hpp

/// The purpose of a plan. A `report` names every exchange and its bytes. It holds no index lists and needs no world, so
/// that one process can plan a run on 64.
enum class PlanUse { run, report };

struct ScheduleTag {
  static constexpr const char* kind = "schedule";
  struct Value {
    std::string family;  // of the models that it trains: snapshots | events
    /// Begins to plan a case: reads its data, unless `cache` holds them, and builds its model. Throws InvalidRequest,
    /// InvalidInput.
    std::unique_ptr<SchedulePlanner> (*planner)(const Case& request, PlanUse use, const DataCache& cache) = nullptr;
    /// Whether an epoch visits all cells, or all events. Epochs of different strategies can then be compared.
    bool passes = true;
  };
};
using ScheduleRegistry = Registry<ScheduleTag>;

/// Options for full-batch training only. Cases of another kind do not have them.
const std::vector<std::string>& full_batch_only();
/// Options of all other kinds of training. Full-batch cases do not have them.
const std::vector<std::string>& never_full_batch();
/// Options that the case's kind of training does not have. Only models of snapshots have `presence`.
std::vector<std::string> options_of_others(const Case& c);

/// The family of the case's model: "snapshots" | "events" | another one. Throws InvalidRequest for an unknown model.
const std::string& family_of(const Json& model);

/// Workload options that turn events into steps and define cells. Models of events do not read them.
const std::vector<std::string>& options_of_steps();

/// The plug-in of a slot when a case with this model does not choose: the slot's default, except that a task matches
/// the model's family. `model` is a name, an object with one, or null for the default model.
std::string default_plugin(const CaseSlot& slot, const Json& model);

/// Adapts a case to its model's family. A learning rate that the user leaves out of `json` becomes the family's
/// default. Strategy parameters for models of events are removed for other models. Throws InvalidRequest when `json`
/// gives such a parameter to a model of another family.
void settle_family(Case& c, const Json& json, const std::string& pointer);

/// Whether the case trains in full batches. A case without a strategy does.
bool trains_full_batch(const Case& c);

/// Refuses a case whose model or task is of another family than its strategy trains. Refuses options in `json` (the
/// user's input) that belong to another kind of training. Throws InvalidRequest.
void check_schedule(const Case& c, const Json& json, const std::string& pointer);

/// The kind of training that the case's strategy plans. Throws InvalidRequest("/strategy", ...) for an unknown name.
const Entry<ScheduleTag::Value>& schedule_of(const Case& c);

}  // namespace strobe
