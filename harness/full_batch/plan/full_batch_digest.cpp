// The digest of the parts of a full-batch plan that must be equal for ranks in several processes.
#include <type_traits>
#include <vector>

#include "core/hash.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "workloads/preparation/prepared_digest.hpp"

namespace strobe {
namespace {

/// A digest of lists. The length of each list precedes it, so that lists cannot run into each other.
class ListDigest {
 public:
  template <class Array>
  void add(const Array& values) {
    using T = typename Array::value_type;
    static_assert(std::is_trivially_copyable_v<T>);
    add_number(static_cast<std::int64_t>(values.size()));
    sha_.update(values.data(), values.size() * sizeof(T));
  }
  void add(const std::string& text) {
    add_number(static_cast<std::int64_t>(text.size()));
    sha_.update(text.data(), text.size());
  }
  void add_number(std::int64_t number) { sha_.update(&number, sizeof number); }
  std::string hex() { return sha_.hex(); }

 private:
  Sha256 sha_;
};

}  // namespace

std::string digest_of(const PreparedGraph& graph) {
  ListDigest digest;
  digest.add_number(graph.vertices);
  digest.add_number(graph.steps);
  digest.add_number(graph.feature_width);
  digest.add(step_digests_of(graph));
  digest.add(graph.counted_nonzeros);
  return digest.hex();
}

const std::string& DigestedGraph::digest() const {
  std::call_once(made_, [this] { digest_ = digest_of(graph_); });
  return digest_;
}

namespace {

/// The digest of a graph, computed once for all cases that share it.
std::string shared_digest(const DataPlan& data, const std::shared_ptr<const PreparedGraph>& graph) {
  for (const auto& known : data.digested)
    if (&known->graph() == graph.get()) return known->digest();
  return digest_of(*graph);
}

void add(const Samples& samples, ListDigest& digest) {
  digest.add_number(samples.arity);
  digest.add(samples.vertices);
  digest.add(samples.step);
  digest.add(samples.label);
  digest.add(samples.value);
  digest.add(samples.weight);
  digest.add(samples.baseline);
  digest.add(samples.candidate_of);
  digest.add(samples.memory);
  if (!samples.codes.empty()) digest.add(samples.codes);
}

void add(const Placement& placement, ListDigest& digest) {
  digest.add(placement.map_of_step);
  for (const auto& map : placement.maps) {
    digest.add_number(map->single);
    digest.add(map->owner);
  }
}

}  // namespace

std::string digest_of(const FullBatchPlan& plan) {
  ListDigest digest;
  digest.add(shared_digest(plan.data, plan.data.graph));
  for (const auto& support : plan.data.supports) digest.add(shared_digest(plan.data, support));
  digest.add_number(plan.data.samples->steps);
  add(plan.data.samples->train, digest);
  add(plan.data.samples->validation, digest);
  add(plan.data.samples->test, digest);
  digest.add(plan.model.start_values);
  add(plan.strategy.spatial, digest);
  add(plan.strategy.temporal, digest);
  for (const BlockPlan& block : plan.blocks) digest.add_number(block.steps());
  if (plan.stale.active) digest.add(text_of(plan.strategy.staleness));
  if (plan.strategy.states != CutStates::exact) digest.add(text_of(plan.strategy.states));
  if (plan.fusion != nullptr) {
    digest.add(plan.fusion->kind);
    digest.add(plan.fusion->units_per_rank);
    for (const auto& units : plan.fusion->blocks) {
      digest.add(units->per_rank);
      add(units->cells, digest);
    }
  }
  return digest.hex();
}

}  // namespace strobe
