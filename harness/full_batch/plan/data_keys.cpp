#include "harness/full_batch/plan/data_keys.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "harness/full_batch/plan/existing_samples.hpp"
#include "workloads/preparation/feature_scale.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

/// Whether the workload takes only some of the steps, "A:B". Graphs that are read or cut from events can.
bool is_part(const Json& workload) {
  return workload.contains("steps") && workload.at("steps").is_string() &&
         !workload.at("steps").get<std::string>().empty();
}

/// The events on which a task is judged; nothing for a task of snapshots.
std::optional<EventGraph> judged_events(const Task& task, const GraphKey& key) {
  if (!task.wants_events()) return std::nullopt;
  if (is_part(key.workload.json)) {
    throw InvalidRequest("/workload/steps",
                         "the task is judged on all events, but steps keeps only some; leave steps out");
  }
  return load_events(key.workload.name(), key.workload.json, static_cast<std::uint64_t>(key.seed));
}

}  // namespace

SnapshotGraph GraphKey::make(const DataCache&) const {
  return load_workload(workload.name(), workload.json, static_cast<std::uint64_t>(seed));
}

PresenceKey::Value PresenceKey::make(const DataCache& cache) const { return presence_of(*cache.get(graph), presence); }

TaskData SamplesKey::make(const DataCache& cache) const {
  const std::shared_ptr<const SnapshotGraph> raw = cache.get(graph);
  const std::shared_ptr<const Presence> cells = *cache.get(PresenceKey{graph, presence});
  const std::shared_ptr<const Task> of = TaskRegistry::instance().find(task.name(), "/task").value(task.json);
  const std::optional<EventGraph> events = judged_events(*of, graph);
  const auto draw_all = [&](const SnapshotGraph& whole) {
    return draw_samples(*of, whole, events ? &*events : nullptr, static_cast<std::uint64_t>(graph.seed));
  };
  const auto draw = [&](const SnapshotGraph& whole) {
    return cells == nullptr ? draw_all(whole) : draw_existing_samples(*of, draw_all, whole, *cells, presence);
  };
  if (fp64 || raw->targets.empty() || raw->exact_features.empty()) return draw(*raw);
  SnapshotGraph rounded = *raw;
  rounded.exact_features.clear();
  return draw(rounded);
}

PreparedKey::Value PreparedKey::make(const DataCache& cache) const {
  const std::shared_ptr<const SnapshotGraph> raw = cache.get(graph);
  const std::shared_ptr<const Presence> cells = *cache.get(PresenceKey{graph, presence});
  return std::make_shared<const DigestedGraph>(
      prepare_scaled(FeatureScale(*raw, what.feature_scale, trained_steps, fp64, cells), what, steps, fp64));
}

}  // namespace strobe
