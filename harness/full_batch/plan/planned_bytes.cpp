// The bytes that a plan will send in one epoch: the sum over its exchanges, forward and backward (decisions E3, E22
// define the count). The runner fails a case if its communicator counts other bytes.
#include <algorithm>

#include "harness/full_batch/exchange/server_route.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {
namespace {

/// The number of forward passes over a block, including the re-run of a checkpoint block, and of backward passes.
struct Passes {
  std::uint64_t forward = 1, backward = 1;
};

class ByteCount {
 public:
  explicit ByteCount(const FullBatchCase& c) : case_(c), element_(c.model.fp64 ? 8 : 4) {}

  /// Adds the bytes that one block's layers and samples send.
  void add(const BlockPlan& block, bool first, const Passes& passes) {
    for (std::size_t l = 0; l < case_.model.layers.size(); ++l) {
      const LayerShape& layer = case_.model.layers[l];
      // Features are constants: no gradient flows back to them.
      const Passes halo_passes{passes.forward, l == 0 ? 0 : passes.backward};
      if (sends_rows(case_.model.layers, l))
        to(Traffic::halo) += neighbour_bytes(block, layer.input_width, halo_passes);
      // Every slice sums over ranks once.
      const std::uint64_t slices = std::max<std::uint64_t>(1, block.slices.size());
      add_sums(layer.sums, block.steps(), {slices * passes.forward, slices * passes.backward});
      add_states(block.handover[l], first, passes);
      if (block.earlier_steps[l]) to(Traffic::halo) += bytes(*block.earlier_steps[l], layer.spatial_width, passes);
      // A state of the previous epoch travels once, and no gradient returns.
      if (block.trained[l] != nullptr)
        add_packed(*block.trained[l], layer, passes, block.trains_at_once(l) ? Passes{1, 0} : passes);
      if (layer.step_by_step) to(Traffic::halo) += step_bytes(block, layer, passes);
      if (!walks_timelines(layer)) continue;
      to(Traffic::redistribute) +=
          bytes(block.to_temporal, layer.spatial_width, passes) + bytes(block.to_spatial, layer.temporal_width, passes);
    }
    to(Traffic::halo) += bytes(block.train.halo, case_.model.layers.back().temporal_width, {1, 1});
  }

  void add_updates() {
    to(Traffic::gradient) += 2 * others() * static_cast<std::uint64_t>(case_.model.parameter_count) * element_;
    to(Traffic::other) += 2 * others() * sizeof(double);  // the loss
  }

  const PerTraffic<std::uint64_t>& planned() const { return planned_; }

 private:
  std::uint64_t& to(Traffic traffic) { return planned_[traffic]; }
  std::uint64_t others() const { return static_cast<std::uint64_t>(case_.ranks()) - 1; }

  std::uint64_t bytes(const ExchangePlan& exchange, std::int64_t width, const Passes& passes) const {
    const std::uint64_t rows = passes.forward * static_cast<std::uint64_t>(sent_rows(exchange, false)) +
                               passes.backward * static_cast<std::uint64_t>(sent_rows(exchange, true));
    return rows * static_cast<std::uint64_t>(width) * element_;
  }

  /// Rows of a slice have numbers of their own, so their servers may differ from those in the whole block.
  std::uint64_t neighbour_bytes(const BlockPlan& block, std::int64_t width, const Passes& passes) const {
    if (block.slices.empty()) return bytes(block.spatial_halo, width, passes);
    std::uint64_t sum = 0;
    for (const SlicePlan& slice : block.slices) sum += bytes(slice.halo, width, passes);
    return sum;
  }

  void add_sums(const LayerSums& sums, std::int64_t steps, const Passes& passes) {
    const std::uint64_t values = steps * sums.values;
    const std::uint64_t constants = steps * sums.constants_per_rank * case_.ranks();
    to(Traffic::state) +=
        2 * others() * element_ * ((passes.forward + passes.backward) * values + passes.forward * constants);
  }

  /// A re-run finds the state at the block's border where the first pass left it (decisions E22).
  void add_states(const StateHandover& handover, bool first, const Passes& passes) {
    for (std::size_t s = first ? 1 : 0; s < handover.plans.size(); ++s) {
      to(Traffic::state) += bytes(handover.plans[s], handover.shape[s].width, s == 0 ? Passes{1, 1} : passes);
    }
  }

  void add_packed(const PackedPlan& packed, const LayerShape& layer, const Passes& passes, const Passes& handed) {
    for (const ExchangePlan& handover : packed.handover)
      to(Traffic::state) += bytes(handover, packed.state.width, handed);
    to(Traffic::halo) += bytes(packed.halo, layer.spatial_width, passes);
  }

  /// Bytes that a layer that goes step by step sends for its products.
  std::uint64_t step_bytes(const BlockPlan& block, const LayerShape& layer, const Passes& passes) const {
    std::uint64_t sum = 0;
    for (const StepProduct& product : layer.products) {
      for (const StepSupport& step : block.supports.at(product.support)) {
        sum += bytes(step.halo, product.width, passes);
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
