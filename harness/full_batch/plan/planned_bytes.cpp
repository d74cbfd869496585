// The bytes that a plan will send in one epoch: the sum over its exchanges, forward and backward (decisions E3, E22
// define the count). The runner fails a case if its communicator counts other bytes.
#include <algorithm>

#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {
namespace {

/// The number of forward passes over a block, including the re-run of a checkpoint block, and of backward passes.
struct Passes {
  std::uint64_t forward = 1, backward = 1;
  std::uint64_t all() const { return forward + backward; }
};

class ByteCount {
 public:
  explicit ByteCount(const FullBatchCase& c) : case_(c), element_(c.model.fp64 ? 8 : 4) {}

  /// Adds the bytes that one block's layers and samples send.
  void add(const BlockPlan& block, bool first, const Passes& passes) {
    for (std::size_t l = 0; l < case_.model.layers.size(); ++l) {
      const LayerShape& layer = case_.model.layers[l];
      // Features are constants: no gradient flows back to them.
      const std::uint64_t halo_passes = l == 0 ? passes.forward : passes.all();
      if (layer.reads_neighbours) to(Traffic::halo) += halo_passes * bytes(block.spatial_halo, layer.input_width);
      // Every slice sums over ranks once.
      const std::uint64_t slices = std::max<std::uint64_t>(1, block.slices.size());
      add_sums(layer.sums, block.steps(), {slices * passes.forward, slices * passes.backward});
      add_states(block.handover[l], first, passes);
      if (block.earlier_steps[l])
        to(Traffic::halo) += passes.all() * bytes(*block.earlier_steps[l], layer.spatial_width);
      // A state of the previous epoch travels once, and no gradient returns.
      if (block.trained[l] != nullptr)
        add_packed(*block.trained[l], layer, passes, block.trains_at_once(l) ? 1 : passes.all());
      if (layer.step_by_step) to(Traffic::halo) += passes.all() * step_bytes(block, layer);
      if (!walks_timelines(layer)) continue;
      to(Traffic::redistribute) += passes.all() * (bytes(block.to_temporal, layer.spatial_width) +
                                                   bytes(block.to_spatial, layer.temporal_width));
    }
    to(Traffic::halo) += 2 * bytes(block.train.halo, case_.model.layers.back().temporal_width);
  }

  void add_updates() {
    to(Traffic::gradient) += 2 * others() * static_cast<std::uint64_t>(case_.model.parameter_count) * element_;
    to(Traffic::other) += 2 * others() * sizeof(double);  // the loss
  }

  const PerTraffic<std::uint64_t>& planned() const { return planned_; }

 private:
  std::uint64_t& to(Traffic traffic) { return planned_[traffic]; }
  std::uint64_t others() const { return static_cast<std::uint64_t>(case_.ranks()) - 1; }

  std::uint64_t bytes(const ExchangePlan& exchange, std::int64_t width) const {
    return static_cast<std::uint64_t>(exchange.total_rows()) * static_cast<std::uint64_t>(width) * element_;
  }

  void add_sums(const LayerSums& sums, std::int64_t steps, const Passes& passes) {
    const std::uint64_t values = steps * sums.values;
    const std::uint64_t constants = steps * sums.constants_per_rank * case_.ranks();
    to(Traffic::state) += 2 * others() * element_ * (passes.all() * values + passes.forward * constants);
  }

  /// A re-run finds the state at the block's border where the first pass left it (decisions E22).
  void add_states(const StateHandover& handover, bool first, const Passes& passes) {
    for (std::size_t s = first ? 1 : 0; s < handover.plans.size(); ++s) {
      to(Traffic::state) += (s == 0 ? 2 : passes.all()) * bytes(handover.plans[s], handover.shape[s].width);
    }
  }

  void add_packed(const PackedPlan& packed, const LayerShape& layer, const Passes& passes, std::uint64_t handed) {
    for (const ExchangePlan& handover : packed.handover)
      to(Traffic::state) += handed * bytes(handover, packed.state.width);
    to(Traffic::halo) += passes.all() * bytes(packed.halo, layer.spatial_width);
  }

  /// Bytes that one pass of a layer that goes step by step sends for its products.
  std::uint64_t step_bytes(const BlockPlan& block, const LayerShape& layer) const {
    std::uint64_t sum = 0;
    for (const StepProduct& product : layer.products) {
      for (const StepSupport& step : block.supports.at(product.support)) {
        sum += bytes(step.halo, product.width);
      }
    }
    return sum;
  }

  const FullBatchCase& case_;
  std::uint64_t element_;
  PerTraffic<std::uint64_t> planned_{};
};

}  // namespace

PerTraffic<std::uint64_t> count_planned_bytes(const FullBatchCase& c, const std::vector<BlockPlan>& blocks,
                                              bool keeps_last) {
  ByteCount count(c);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const bool once = b + 1 == blocks.size() && keeps_last;
    count.add(blocks[b], b == 0, once ? Passes{1, 1} : Passes{2, 1});
  }
  count.add_updates();
  return count.planned();
}

}  // namespace strobe
