// The checkpoint of training in groups: weights, every copy of the memory, and memory rows of batches in training.
// These rows were read before later writes, so they cannot be read again. The structure of batches is drawn again.
#include <fmt/format.h>

#include "harness/event_batches/groups/group_trainer.hpp"
#include "harness/schedule/host_values.hpp"

namespace strobe {
namespace {

std::string own_name(int rank) { return fmt::format("rank{}", rank); }

}  // namespace

std::vector<double> GroupTrainer::own_state() {
  std::vector<double> values;
  if (memory_ == nullptr) return values;
  if (memory_->saved_values() > 0) values = memory_->save();
  const auto add = [&](const Tensor& rows) {
    const std::vector<double> read = host_values(device_, rows);
    values.insert(values.end(), read.begin(), read.end());
  };
  const std::optional<TrainerTurn> turn = plan_.order.turn(trained_, communicator_.rank());
  for (std::int64_t set = turn ? turn->set : 0; set > 0 && set < plan_.order.groups().j; ++set) {
    const ComingRows& coming = current_.rows[set];
    device_.await(coming.ready);
    add(coming.rows.memory);
    add(coming.rows.mail);
  }
  return values;
}

void GroupTrainer::gather_state() {
  const std::vector<double> own = own_state();
  const std::size_t ranks = communicator_.size();
  std::vector<std::int64_t> counts(ranks, 0);
  counts[communicator_.rank()] = static_cast<std::int64_t>(own.size());
  gathered_.assign(ranks, {});
  gathered_[0] = own;
  if (ranks == 1 || !device_.has_values()) return;
  const PartScope part(device_, MemoryPart::buffers);
  const Tensor sizes = device_.move_in(counts.data(), static_cast<std::int64_t>(ranks), 1, ElementType::i64);
  communicator_.all_reduce(sizes, Traffic::other);
  device_.move_out(sizes, counts.data());
  std::vector<PeerRows> places;
  std::int64_t total = 0;
  for (const std::int64_t count : counts) {
    places.push_back({total, count});
    total += count;
  }
  const Tensor send = device_.move_in(own.data(), static_cast<std::int64_t>(own.size()), 1, ElementType::f64);
  const Tensor all = device_.allocate(total, 1, ElementType::f64);
  communicator_.all_gather_v(send, all, places, Traffic::other);
  const std::vector<double> values = host_values(device_, all);
  for (std::size_t rank = 0; rank < ranks && communicator_.rank() == 0; ++rank)
    gathered_[rank].assign(values.begin() + places[rank].first, values.begin() + places[rank].first + counts[rank]);
}

TrainingState GroupTrainer::state() {
  TrainingState now = weights_.state();
  for (std::size_t rank = 0; rank < gathered_.size(); ++rank) {
    if (!gathered_[rank].empty()) now.kept[own_name(static_cast<int>(rank))] = std::move(gathered_[rank]);
  }
  gathered_.clear();
  now.kept[kept_groups] = groups_to_keep(plan_);
  return now;
}

void GroupTrainer::restore(const TrainingState& state) {
  weights_.restore(state);
  trained_ = begun_ = plan_.order.first_iteration(state.epoch);
  const auto own = state.kept.find(own_name(communicator_.rank()));
  restore_own(own == state.kept.end() ? std::vector<double>{} : own->second, trained_);
}

void GroupTrainer::restore_own(const std::vector<double>& values, std::int64_t iteration) {
  const std::optional<TrainerTurn> turn = plan_.order.turn(iteration, communicator_.rank());
  const std::int64_t sequence = turn ? turn->sequence : 0;
  source_.restart(sequence, iteration);
  auto at = values.begin();
  if (const std::int64_t held = memory_ == nullptr ? 0 : memory_->saved_values(); held > 0 && !values.empty()) {
    memory_->restore({at, at + held});
    at += held;
  }
  // Draw a batch in training again, also without memory. Its rows come from the checkpoint.
  if (!turn || turn->set == 0) return;
  current_ = {};
  current_.drawn = source_.take(sequence);
  device_.await(current_.drawn.ready);
  const auto take = [&](std::int64_t rows, std::int64_t width) {
    const Tensor tensor = device_.allocate(rows, width);
    device_.run(CopyRows{
        vector_on(device_, {at, at + rows * width}).view(0, rows, width), tensor, {}, {}, rows, 0, 0, width, false});
    at += rows * width;
    return tensor;
  };
  for (std::int64_t set = 0; set < plan_.order.groups().j; ++set) {
    const SharedDraw& drawn = current_.drawn.draws[set];
    current_.inputs.push_back(turn->count > 0 ? loader_.load(drawn) : BatchInput{});
    if (memory_ == nullptr) continue;
    current_.rows.emplace_back();
    if (set < turn->set || at == values.end()) continue;
    MemoryRows& rows = current_.rows.back().rows;
    rows.memory = take(static_cast<std::int64_t>(drawn->vertices.size()), plan_.memory.width);
    rows.mail = take(drawn->mails, 2 * plan_.memory.width);
  }
}

}  // namespace strobe
