// Kinds of training: what one update is, and who plans it. A strategy says which kind it plans (StrategyTag).
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

/// What a plan is made for. A `report` names every exchange and its bytes; it holds no index lists and asks for no
/// world, so that a run on 64 processes is planned by one.
enum class PlanUse { run, report };

struct ScheduleTag {
  static constexpr const char* kind = "schedule";
  struct Value {
    std::string family;  // whose models it trains: snapshots | events
    /// Begins to plan a case: reads its data, unless they are in `cache`, and builds its model. Throws InvalidRequest,
    /// InvalidInput.
    std::unique_ptr<SchedulePlanner> (*planner)(const Case& request, PlanUse use, const DataCache& cache) = nullptr;
    /// Whether an epoch goes through all cells, or events, so that epochs of one strategy compare with another's.
    bool passes = true;
  };
};
using ScheduleRegistry = Registry<ScheduleTag>;

/// Options of a case that mean something for full-batch training only; a case of another kind does not have them.
const std::vector<std::string>& full_batch_only();
/// Options of a case that every other kind of training has, and full batches have not.
const std::vector<std::string>& never_full_batch();

/// The family of the case's model: "snapshots" | "events" | another one. Throws InvalidRequest for an unknown model.
const std::string& family_of(const Json& model);

/// Options of workloads that say how events become steps and what cells look like, which models of events do not read.
const std::vector<std::string>& options_of_steps();

/// What a slot takes when a case with this model does not choose: the slot's own, but a task of the model's family.
/// `model` is a name, an object with one, or null, which stands for the slot's own.
std::string default_plugin(const CaseSlot& slot, const Json& model);

/// A learning rate that `json`, what the user gave, leaves open is that of the model's family, and parameters that the
/// strategy has for models of events alone go elsewhere. Throws InvalidRequest where `json` gives one of these to a
/// model of another family.
void settle_family(Case& c, const Json& json, const std::string& pointer);

/// Whether the case is trained in full batches; so is one that names no strategy yet.
bool trains_full_batch(const Case& c);

/// Refuses a case whose model or task is of another family than its strategy trains, and one that sets options of
/// another kind of training; `json` is what the user gave. Throws InvalidRequest.
void check_schedule(const Case& c, const Json& json, const std::string& pointer);

/// The kind of training that the case's strategy plans. Throws InvalidRequest("/strategy", ...) for an unknown name.
const Entry<ScheduleTag::Value>& schedule_of(const Case& c);

}  // namespace strobe
