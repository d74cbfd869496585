#include "harness/full_batch/plan/data_keys.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/full_batch/plan/existing_samples.hpp"
#include "harness/full_batch/plan/samples_file.hpp"
#include "workloads/binary/binary_snapshots.hpp"
#include "workloads/preparation/prepared_file.hpp"
#include "workloads/preparation/shared_facts.hpp"
#include "workloads/storage/node_store.hpp"
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

Json json_of(const GraphKey& key) { return {key.workload.json.dump(), key.seed}; }

/// All members by position, so that a new one cannot be left out.
Json json_of(const PreparedKey& key) {
  const auto& [smooth, window, smooth_features, laplacian, walk, symmetric, first_product, keep_features, terms, scale,
               m] = key.what;
  const auto& [walks, hops, kind] = terms;
  const auto& [graph, presence, what, steps, trained_steps, fp64] = key;
  const Json of_terms = {walks, hops, kind};
  return {json_of(graph), presence, smooth, window, smooth_features, laplacian,     walk, symmetric, first_product,
          keep_features,  of_terms, scale,  m,      steps,           trained_steps, fp64};
}

Json json_of(const SamplesKey& key) {
  const auto& [graph, presence, task, fp64] = key;
  return {"samples", json_of(graph), presence, task.json.dump(), fp64};
}

/// Whether the graph is a mapped file already, which processes of a node share without our help.
bool is_mapped(const SnapshotGraph& graph) {
  return !graph.snapshots.empty() && graph.snapshots.front()->row_offsets.own_bytes() == 0;
}

/// An empty file says that every process maps the graph's own file.
void write_shared(const SnapshotGraph& graph, const std::string& path) {
  if (!is_mapped(graph) && !graph.snapshots.empty()) return write_passing_snapshots(graph, path);
  if (!std::ofstream(path)) throw SystemError("cannot write " + path);
}

}  // namespace

SnapshotGraph GraphKey::make(const DataCache& cache) const {
  const auto load = [&] { return load_workload(workload.name(), workload.json, static_cast<std::uint64_t>(seed)); };
  if (cache.node() == nullptr) return load();
  std::optional<SnapshotGraph> own;
  const auto write = [&](const std::string& path) {
    const BoundedReading bound = cache.node()->bounded_reading();
    own = load();
    write_shared(*own, path);
  };
  const auto read = [&](const std::string& path, std::shared_ptr<const void> keeper) {
    if (std::filesystem::file_size(path) > 0) return read_passing_snapshots(path, std::move(keeper));
    return own ? *std::move(own) : load();
  };
  std::optional<SnapshotGraph> shared = cache.node()->get<SnapshotGraph>(json_of(*this), write, read);
  if (!shared) shared = own ? std::move(own) : load();
  return *std::move(shared);
}

PresenceKey::Value PresenceKey::make(const DataCache& cache) const {
  const std::shared_ptr<const SnapshotGraph> raw = cache.get(graph);
  std::optional<Value> shared;
  if (cache.node() != nullptr && presence != "all") {
    const auto join = [&](const std::string& path) {
      write_presence(*raw, presence, path, cache.node()->begin_wait());
    };
    shared = cache.node()->get_together<Value>({"presence", json_of(graph), presence}, join, read_presence);
  }
  return shared ? *std::move(shared) : presence_of(*raw, presence);
}

FeatureMeasures MeasuresKey::make(const DataCache& cache) const {
  const std::shared_ptr<const SnapshotGraph> raw = cache.get(graph);
  const std::shared_ptr<const Presence> cells = *cache.get(PresenceKey{graph, presence});
  const auto measure = [&] { return measure_features(*raw, trained_steps, fp64, cells.get()); };
  if (cache.node() == nullptr) return measure();
  const auto write = [&](const std::string& path) { write_measures(measure(), path); };
  const auto read = [](const std::string& path, const std::shared_ptr<const void>&) { return read_measures(path); };
  std::optional<FeatureMeasures> shared =
      cache.node()->get<FeatureMeasures>({"measures", json_of(graph), presence, trained_steps, fp64}, write, read);
  return shared ? *std::move(shared) : measure();
}

TaskData SamplesKey::make(const DataCache& cache) const {
  if (cache.node() == nullptr) return draw(cache);
  const auto write = [&](const std::string& path) {
    const BoundedReading bound = cache.node()->bounded_reading();  // what does not fit grows in files
    write_samples_file(draw(cache), path);
  };
  std::optional<TaskData> shared = cache.node()->get<TaskData>(json_of(*this), write, read_samples_file);
  return shared ? *std::move(shared) : draw(cache);
}

TaskData SamplesKey::draw(const DataCache& cache) const {
  const std::shared_ptr<const SnapshotGraph> raw = cache.get(graph);
  const std::shared_ptr<const Presence> cells = *cache.get(PresenceKey{graph, presence});
  const std::shared_ptr<const Task> of = TaskRegistry::instance().find(task.name(), "/task").value(task.json);
  const std::optional<EventGraph> events = judged_events(*of, graph);
  if (cells != nullptr && task.json.value("protocol", "none") != "none")
    throw InvalidRequest("/presence", fmt::format("presence={} takes samples away, and protocol={} judges all events; "
                                                  "set presence=all",
                                                  presence, task.json.at("protocol").get<std::string>()));
  const auto draw_all = [&](const SnapshotGraph& whole) {
    return draw_samples(*of, whole, events ? &*events : nullptr, static_cast<std::uint64_t>(graph.seed));
  };
  const auto draw_existing = [&](const SnapshotGraph& whole) {
    return cells == nullptr ? draw_all(whole) : draw_existing_samples(*of, draw_all, whole, *cells, presence);
  };
  if (fp64 || raw->targets.empty() || raw->exact_features.empty()) return draw_existing(*raw);
  SnapshotGraph rounded = *raw;
  rounded.exact_features.clear();
  return draw_existing(rounded);
}

PreparedKey::Value PreparedKey::make(const DataCache& cache) const {
  const std::shared_ptr<const SnapshotGraph> raw = cache.get(graph);
  const std::shared_ptr<const Presence> cells = *cache.get(PresenceKey{graph, presence});
  const bool measured = what.feature_scale == "standardise";
  const FeatureScale scale(*raw, what.feature_scale,
                           measured ? *cache.get(MeasuresKey{graph, presence, trained_steps, fp64}) : FeatureMeasures(),
                           fp64, cells);
  std::optional<PreparedGraph> shared;
  if (cache.node() != nullptr) {
    const auto join = [&](const std::string& path) {
      prepare_into(scale, what, steps, fp64, path, cache.node()->begin_wait());
    };
    const auto read = [&](const std::string& path, std::shared_ptr<const void> keeper) {
      return read_prepared(path, std::move(keeper), cells);
    };
    shared = cache.node()->get_together<PreparedGraph>(json_of(*this), join, read);
  }
  return std::make_shared<const DigestedGraph>(shared ? *std::move(shared) : prepare_scaled(scale, what, steps, fp64));
}

}  // namespace strobe
