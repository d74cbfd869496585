// Timeline: one rank's passes over all steps, in the blocks of the plan's schedule (gradient checkpointing, ESDG
// section 3.1). The forward pass goes block by block without records, and keeps only the state at borders between
// blocks. The backward pass goes from the last block to the first. It computes each block again from the kept state,
// then differentiates it. A single block is not computed again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/full_batch/block_store.hpp"
#include "harness/full_batch/block_pages.hpp"
#include "harness/full_batch/layer_walk.hpp"

namespace strobe {

class Timeline {
 public:
  Timeline(const FullBatchPlan& plan, Device& device, Communicator& communicator);

  /// Receives the embeddings [own rows of the block, F] of block number `block`.
  using Keep = std::function<void(std::size_t block, const Tensor& embeddings)>;
  using Loss = std::function<void(std::size_t block, Tape& tape, const Var& embeddings)>;

  /// Has passes measure each unit of chunks; null: no measurement. The meter must outlive them.
  void measure_units(UnitMeter* meter) {
    for (LayerWalk& walk : walks_) walk.measure_units(meter);
  }

  /// Begins an epoch: moves the inputs to the device again if they are streamed in one block.
  void stream_inputs();

  /// A forward pass. `keep` sees each block's embeddings once, in order. All ranks must call it.
  void forward(const Parameters& parameters, const Pass& pass, const Keep& keep);

  /// A forward and a backward pass. `keep` works as above. `loss` puts the block's loss on the tape and starts its
  /// backward pass. Gradients of the parameters are added up. All ranks must call it.
  void train(const Parameters& parameters, const Pass& pass, const Keep& keep, const Loss& loss);

  /// Passes an epoch's loss, the same on every rank, to the policy of stale rows.
  void end_epoch(double loss) { threshold_->add_loss(loss); }
  /// Rows and states that ranks keep of each other from epoch to epoch, on rank 0, by names that say where. Empty if
  /// none are kept. All ranks must call it.
  std::map<std::string, std::vector<double>> gather_kept();
  /// The reverse: continues after epochs with these losses. All ranks must call it.
  void restore_kept(const std::map<std::string, std::vector<double>>& kept, const std::vector<double>& losses);

 private:
  /// The state at a border: [layers], undefined for layers without state.
  using Border = std::vector<Tensor>;

  /// Calls visit(name, exchange) for every exchange whose rows may be stale.
  template <class VisitExchange>
  void for_stale(const VisitExchange& visit) const;
  /// The same for every exchange of states for the next epoch.
  template <class VisitStates>
  void for_previous(const VisitStates& visit) const;
  std::shared_ptr<const BlockInputs> inputs(std::size_t block, Visit visit);
  std::shared_ptr<const BlockInputs> brought(std::size_t block, Visit visit);
  std::vector<LayerMemory> no_memory() const { return std::vector<LayerMemory>(plan_.model.layers.size()); }
  void walk_once(std::size_t block, const Parameters& parameters, const Pass& pass, const Keep& keep);
  void adopt(std::size_t block, const std::vector<LayerMemory>& memory);
  /// A layer with all earlier steps as its state holds before `block` all that it holds before the previous block, and
  /// more below it. One copy serves both if the same ranks begin them.
  void share_prefix(std::size_t block, std::size_t layer);
  std::vector<LayerMemory> leaves(std::size_t block);
  void return_gradient(std::size_t block, Tape& tape, const std::vector<LayerMemory>& memory, const Border& gradients);

  const FullBatchPlan& plan_;
  Device& device_;
  Communicator& communicator_;
  BlockPages pages_;
  std::unique_ptr<StaleThreshold> threshold_;                 // at a fixed address, because exchanges point to it
  std::vector<LayerWalk> walks_;                              // [blocks]
  std::vector<std::shared_ptr<const BlockInputs>> resident_;  // [blocks]; null if a block's inputs come and go
  std::unique_ptr<BlockStore> store_;                         // null if blocks are moved in one piece
  std::vector<HostParts> parts_;                              // [blocks]; for blocks that are moved in one piece
  std::vector<Border> borders_;                               // [blocks]; the state before each block
};

}  // namespace strobe
