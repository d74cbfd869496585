#include "harness/full_batch/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/schedule/host_values.hpp"

namespace strobe {

Timeline::Timeline(const FullBatchPlan& plan, Device& device, Communicator& communicator)
    : plan_(plan),
      device_(device),
      communicator_(communicator),
      pages_(plan, device),
      threshold_(std::make_unique<StaleThreshold>(plan.strategy.staleness)),
      parts_(plan.blocks.size()),
      borders_(plan.blocks.size()) {
  const std::size_t count = plan.blocks.size();
  if (plan.options.moves_snapshots()) store_ = std::make_unique<BlockStore>(device, plan);
  const bool stays = inputs_stay(plan);
  for (std::size_t b = 0; b < count; ++b) {
    walks_.emplace_back(plan, plan.blocks[b], b + 1 == count, device, threshold_.get());
    if (!stays) {
      resident_.push_back(nullptr);
      continue;
    }
    pages_.await(b);
    resident_.push_back(
        std::make_shared<const BlockInputs>(bring_inputs(device, plan, plan.blocks[b], Visit::lasting)));
    pages_.turn(b, std::min(b + 1, count - 1), true);
  }
}

void Timeline::stream_inputs() {
  const bool streamed = !plan_.options.resident && plan_.blocks.size() == 1 && !store_;
  if (!streamed) return;
  for (const std::uint64_t bytes : resident_[0]->bytes()) device_.move_in_again(bytes);
}

template <class VisitExchange>
void Timeline::for_stale(const VisitExchange& visit) const {
  for (std::size_t b = 0; b < walks_.size(); ++b) {
    for (const auto& [covers, exchange] : walks_[b].stale()) {
      const std::string of_layer = fmt::format("stale.block{}.layer{}", b, covers.layer + 1);
      visit(covers.what.empty() ? of_layer : of_layer + "." + covers.what, *exchange);
    }
  }
}

template <class VisitStates>
void Timeline::for_previous(const VisitStates& visit) const {
  for (const LayerWalk& walk : walks_) {
    for (std::size_t l = 0; l < walk.previous().size(); ++l)
      if (walk.previous()[l]) visit(fmt::format("states.layer{}", l + 1), *walk.previous()[l]);
  }
}

std::map<std::string, std::vector<double>> Timeline::gather_kept() {
  std::map<std::string, std::vector<double>> kept;
  const auto keep = [&](const std::string& name, const auto& exchange) {
    const Tensor all = exchange.gather(device_, communicator_);
    if (!all.defined()) return;
    std::vector<double> values = host_values(device_, all);
    if (device_.rank() == 0 && !values.empty()) kept[name] = std::move(values);
  };
  for_stale(keep);
  for_previous(keep);
  if (!kept.empty()) kept[StalePlan::layout_name] = plan_.stale.layout;
  return kept;
}

void Timeline::restore_kept(const std::map<std::string, std::vector<double>>& kept, const std::vector<double>& losses) {
  threshold_->resume(losses);
  const auto restore = [&](const std::string& name, auto& exchange) {
    const auto values = kept.find(name);
    if (values == kept.end()) return;  // training without kept rows: the next epoch is like a first one
    const Tensor all = vector_on(device_, values->second);
    const std::int64_t rows = exchange.held_rows();
    exchange.restore(device_, all.view(0, rows, all.rows() / rows));
  };
  for_stale(restore);
  for_previous(restore);
}

std::shared_ptr<const BlockInputs> Timeline::inputs(std::size_t block, Visit visit) {
  if (resident_[block]) return resident_[block];
  pages_.await(block);
  std::shared_ptr<const BlockInputs> here = brought(block, visit);
  const std::size_t next =
      visit == Visit::forward ? std::min(block + 1, walks_.size() - 1) : std::max<std::size_t>(block, 1) - 1;
  pages_.turn(block, next, false);
  return here;
}

std::shared_ptr<const BlockInputs> Timeline::brought(std::size_t block, Visit visit) {
  if (store_) return std::make_shared<const BlockInputs>(store_->bring(block, visit));
  HostParts* const kept = plan_.options.from_file ? nullptr : &parts_[block];
  return std::make_shared<const BlockInputs>(bring_inputs(device_, plan_, plan_.blocks[block], visit, kept));
}

void Timeline::adopt(std::size_t block, const std::vector<LayerMemory>& memory) {
  Border& border = borders_[block];
  border.assign(memory.size(), Tensor());
  for (std::size_t l = 0; l < memory.size(); ++l) {
    if (!memory[l].after) continue;
    border[l] = walks_[block].adopt(device_, communicator_, l, memory[l].after->value);
    share_prefix(block, l);
  }
}

void Timeline::share_prefix(std::size_t block, std::size_t layer) {
  Border& earlier = borders_[block - 1];
  if (plan_.model.layers[layer].need != TemporalNeed::all || earlier.empty()) return;
  const auto begins = [&](std::size_t b) {
    const Placement& placement = plan_.blocks[b].temporal;
    return placement.maps[placement.map_of_step[0]];
  };
  if (begins(block - 1) == begins(block)) {
    earlier[layer] = borders_[block][layer].slice_rows(0, earlier[layer].rows());
  }
}

void Timeline::walk_once(std::size_t block, const Parameters& parameters, const Pass& pass, const Keep& keep) {
  const std::shared_ptr<const BlockInputs> here = inputs(block, Visit::forward);
  Tape tape(device_, false);
  std::vector<LayerMemory> memory = no_memory();
  for (std::size_t l = 0; l < borders_[block].size(); ++l) {
    if (borders_[block][l].defined()) memory[l].before = Tape::constant(borders_[block][l]);
  }
  const Var embeddings = walks_[block].forward(tape, communicator_, parameters, pass, *here, memory);
  keep(block, embeddings->value);
  if (block + 1 < walks_.size()) adopt(block + 1, memory);
}

void Timeline::forward(const Parameters& parameters, const Pass& pass, const Keep& keep) {
  for (std::size_t b = 0; b < walks_.size(); ++b) {
    walk_once(b, parameters, pass, keep);
    borders_[b].clear();
  }
}

std::vector<LayerMemory> Timeline::leaves(std::size_t block) {
  std::vector<LayerMemory> memory = no_memory();
  for (std::size_t l = 0; l < borders_[block].size(); ++l) {
    const Tensor& state = borders_[block][l];
    if (!state.defined()) continue;
    const Tensor gradient = device_.allocate(state.rows(), state.columns(), state.type());
    device_.run(Fill{gradient, 0.0});
    memory[l].before = Tape::leaf(state, gradient);
  }
  return memory;
}

void Timeline::return_gradient(std::size_t block, Tape& tape, const std::vector<LayerMemory>& memory,
                               const Border& gradients) {
  for (std::size_t l = 0; l < gradients.size(); ++l) {
    if (!gradients[l].defined()) continue;
    tape.add_gradient(memory[l].after, walks_[block + 1].return_gradient(device_, communicator_, l, gradients[l]));
  }
}

void Timeline::train(const Parameters& parameters, const Pass& pass, const Keep& keep, const Loss& loss) {
  const std::size_t count = walks_.size(), walked = plan_.keeps_last_block() ? count - 1 : count;
  for (std::size_t b = 0; b < walked; ++b) walk_once(b, parameters, pass, keep);
  Border gradients;  // of the state that the current block hands to the next one
  for (std::size_t b = count; b-- > 0;) {
    const std::shared_ptr<const BlockInputs> here = inputs(b, Visit::differentiated);
    Tape tape(device_);
    std::vector<LayerMemory> memory = leaves(b);
    const Var embeddings = walks_[b].forward(tape, communicator_, parameters, pass, *here, memory);
    if (b >= walked) keep(b, embeddings->value);
    const Range range(pass.ranges, "backward");
    loss(b, tape, embeddings);
    return_gradient(b, tape, memory, gradients);
    gradients.clear();
    for (LayerMemory& layer : memory) layer.after = nullptr;
    tape.backward();
    for (const LayerMemory& layer : memory) gradients.push_back(layer.before ? layer.before->gradient : Tensor());
    borders_[b].clear();
  }
  for_previous([this](const std::string&, PreviousStates& states) { states.finish(device_, communicator_); });
}

}  // namespace strobe
