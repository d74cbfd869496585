#include "harness/hybrid_batches/batch_feed.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "backends/cluster.hpp"
#include "backends/host/host_work.hpp"
#include "core/random.hpp"

namespace strobe {
namespace {

constexpr std::size_t in_the_making = 2;  // most batches that a generator makes at a time

/// About what a generator takes for each vertex to look up places.
constexpr double scratch_bytes = 32;
/// About what the lists of a kept batch take, over the values in them. They grow as the batch is made.
constexpr double room_of_lists = 1.06;

/// Kept batches are numbered for each size by itself; other batches have the number of their iteration.
std::uint64_t number_of_kept(std::size_t action, std::uint64_t count) {
  return ((static_cast<std::uint64_t>(action) + 1) << 26) + count;
}
std::uint64_t number_of_snapshots(std::uint64_t iteration) { return (std::uint64_t{1} << 31) + iteration; }

}  // namespace

Work making_work(const HybridPlan& plan, std::size_t action, double times) {
  const TypicalBatch& typical = plan.typical[action];
  const double element = plan.full->model.fp64 ? 8 : 4;
  // Each entry is read twice: when its vertex is found, and when it is re-encoded. A read takes its column, its value
  // and the place of its vertex, which lies anywhere in lists of 16 bytes per vertex. A cell is copied into its layer's
  // lists. A cell that is no target must also be found, stamped, sorted in and numbered, which takes about three times
  // as long. Operations count cells only, so that a fit can separate the time per cell from the time per entry.
  const double of_targets = typical.target_cells * static_cast<double>(plan.layers().size());
  const double found = std::max(0.0, typical.cells - of_targets);
  const double places = 2 * 4 * typical.entries, vertices = static_cast<double>(plan.graph().vertices);
  const double features = typical.target_cells * static_cast<double>(plan.graph().cell_width()) * element;
  Work work;
  work.flops = times * 6 * (typical.cells + 2 * found);
  work.bytes_read = times * (typical.entries * (2 * 4 + element) + places + features + 16 * typical.cells);
  work.bytes_written = times * typical.bytes;
  work.gather = {times * places, std::min(times * places, 4 * vertices), 16 * vertices, 4};
  return work;
}

std::int64_t most_kept(const HybridPlan& plan, Rank rank, std::size_t action) {
  const BatchSize& size = plan.actions[action].of_rank[rank];
  std::int64_t owned = 0;
  for (const auto& group : plan.groups[rank]) owned += static_cast<std::int64_t>(group.size());
  const std::int64_t steps = plan.cuts_steps() ? size.windows.count - 1 + size.steps : plan.trained_steps();
  const double batches = static_cast<double>(owned * steps) / static_cast<double>(size.steps * size.vertices);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(batches / static_cast<double>(plan.actions.size())));
}

int generator_count(const HybridPlan& plan) {
  const std::int64_t sizes = plan.actions.size();
  if (plan.options.generator == "inline") return 1;
  if (plan.options.generators > 0) return static_cast<int>(std::min(sizes, plan.options.generators));
  const Case& c = plan.full->request;
  std::int64_t cores = std::max(1U, std::thread::hardware_concurrency()), ranks = c.ranks;
  if (!c.cluster.empty()) {
    const auto cluster = load_cluster(c.cluster);
    if (cluster->host.cores == 0) return static_cast<int>(sizes);
    cores = cluster->host.cores;
    ranks = std::min<std::int64_t>(ranks, cluster->gpus_per_node);
  }
  return static_cast<int>(std::clamp(cores / ranks, std::int64_t{1}, sizes));
}

double feed_bytes(const HybridPlan& plan, Rank rank) {
  const HybridOptions& options = plan.options;
  const bool pipelined = options.generator == "pipelined";
  const double generators = generator_count(plan), in_flight = pipelined ? in_the_making : 0;
  const double own = generators * scratch_bytes * static_cast<double>(plan.graph().vertices);
  double largest = 0, kept = 0;  // the reservoir when it is full
  for (std::size_t a = 0; a < plan.actions.size(); ++a) {
    largest = std::max(largest, plan.typical[a].bytes);
    kept += plan.typical[a].bytes * static_cast<double>(most_kept(plan, rank, a));
  }
  if (!options.reservoir) return own + in_flight * static_cast<double>(plan.actions.size()) * largest;
  kept = room_of_lists * std::min(kept, options.reservoir_gib * 1024 * 1024 * 1024);
  if (options.reservoir_start == "full" || plan.iterations() == 0) return own + kept;
  const Case& c = plan.full->request;
  const double updates = static_cast<double>((c.warmup + c.epochs) * plan.iterations());
  const double made = updates * std::max(1.0, in_flight * generators) + in_flight * generators;  // kept, and under way
  return own + std::min(kept, room_of_lists * largest * made);
}

BatchFeed::BatchFeed(const HybridPlan& plan, Device& device)
    : plan_(plan),
      device_(device),
      generators_(static_cast<std::size_t>(generator_count(plan))),
      stores_(plan.actions.size()),
      fills_(plan.options.reservoir && plan.options.reservoir_start == "full") {
  for (std::size_t g = 0; g < generators_.size(); ++g)
    generators_[g] = {std::make_shared<BatchMaker>(plan, device.has_values()), g};
}

BatchFeed::Pending BatchFeed::give(std::size_t action, double times, std::function<SharedBatch(BatchMaker&)> make) {
  Pending pending{action, std::make_shared<SharedBatch>(), {}};
  const std::size_t generator = generator_of(action);
  HostWork work;
  work.name = making_batches;
  work.serial = true;
  work.work = making_work(plan_, action, times);
  work.channel = static_cast<int>(generator), work.channels = static_cast<int>(generators_.size());
  work.body = [maker = generators_[generator].maker, to = pending.batch, make = std::move(make)](Workers&) {
    *to = make(*maker);
  };
  pending.ready = device_.run_on_host(std::move(work));
  return pending;
}

BatchFeed::Pending BatchFeed::start(std::size_t action, std::uint64_t number) {
  return give(action, 1,
              [rank = device_.rank(), action, number](BatchMaker& maker) { return maker.make(rank, action, number); });
}

BatchFeed::Pending BatchFeed::start_snapshots(std::size_t action, std::uint64_t number) {
  const std::size_t rank = device_.rank();
  const BalancedGroups& groups = plan_.groups[rank];
  BatchSize size = plan_.actions[action].of_rank[rank];
  const double some = size.vertices;
  size.vertices = 0;
  for (const auto& group : groups) size.vertices += static_cast<std::int64_t>(group.size());
  size.is_share = true;
  const auto draw = [&groups, size, own = device_.rank(), number, &plan = plan_] {
    return draw_targets(groups, size, plan.trained_steps(), plan.seed(), own, number, 0, plan.graph().presence.get());
  };
  return give(action, static_cast<double>(size.vertices) / some,
              [draw, action](BatchMaker& maker) { return maker.make(draw(), action); });
}

SharedBatch BatchFeed::finish(Pending pending) {
  device_.await(pending.ready);
  return *pending.batch;
}

SharedBatch BatchFeed::take(std::size_t action, std::uint64_t iteration) {
  if (std::exchange(fills_, false)) fill();
  if (plan_.options.reservoir) return from_reservoir(action, iteration);
  if (plan_.options.generator == "pipelined") return next_in_line(action);
  return make(action, iteration);
}

SharedBatch BatchFeed::next_in_line(std::size_t action) {
  Store& store = stores_[action];
  const auto of_size = [&](const Pending& pending) { return pending.action == action; };
  if (std::none_of(pending_.begin(), pending_.end(), of_size)) pending_.push_back(start(action, store.begun++));
  const auto first = std::find_if(pending_.begin(), pending_.end(), of_size);
  Pending pending = *first;
  pending_.erase(first);
  const SharedBatch batch = finish(std::move(pending));
  while (static_cast<std::size_t>(std::count_if(pending_.begin(), pending_.end(), of_size)) < in_the_making)
    pending_.push_back(start(action, store.begun++));
  return batch;
}

SharedBatch BatchFeed::from_reservoir(std::size_t action, std::uint64_t iteration) {
  const bool pipelined = plan_.options.generator == "pipelined";
  if (pipelined) {
    take_in_finished();
    begin_more();
  }
  const std::vector<SharedBatch>& kept = stores_[action].batches;
  const RandomStream random(plan_.seed(), random_purpose::batch_choice, static_cast<std::uint32_t>(device_.rank()));
  const double share = static_cast<double>(kept.size()) / static_cast<double>(most_kept(plan_, device_.rank(), action));
  if (!kept.empty() && random.uniform(2 * iteration) < std::min(1.0, share))
    return kept[random.below(2 * iteration + 1, kept.size())];
  return new_batch(action, iteration);
}

SharedBatch BatchFeed::new_batch(std::size_t action, std::uint64_t iteration) {
  if (plan_.options.generator == "pipelined" && snapshots_fit(action))
    return finish(start_snapshots(action, number_of_snapshots(iteration)));
  const auto first =
      std::find_if(pending_.begin(), pending_.end(), [&](const Pending& pending) { return pending.action == action; });
  Pending pending;
  if (first != pending_.end()) {
    pending = *first;
    pending_.erase(first);
  } else {
    pending = start(action, number_of_kept(action, stores_[action].begun++));
  }
  const SharedBatch batch = finish(pending);
  keep(pending);
  return batch;
}

bool BatchFeed::has_room(std::size_t action) const {
  const double limit = plan_.options.reservoir_gib * 1024 * 1024 * 1024;
  const std::uint64_t most = most_kept(plan_, device_.rank(), action);
  double bytes = static_cast<double>(kept_bytes_) + plan_.typical[action].bytes;
  for (const Pending& pending : pending_) bytes += plan_.typical[pending.action].bytes;
  return stores_[action].begun < most && bytes <= limit;
}

void BatchFeed::keep(const Pending& pending) {
  Store& store = stores_[pending.action];
  const std::uint64_t bytes = (*pending.batch)->bytes();
  const double limit = plan_.options.reservoir_gib * 1024 * 1024 * 1024;
  const std::size_t most = most_kept(plan_, device_.rank(), pending.action);
  if (store.batches.size() >= most || static_cast<double>(kept_bytes_ + bytes) > limit) return;
  kept_bytes_ += bytes;
  store.batches.push_back(*pending.batch);
}

void BatchFeed::take_in_finished() {
  for (auto pending = pending_.begin(); pending != pending_.end();) {
    if (!device_.reached(pending->ready)) {
      ++pending;
      continue;
    }
    keep(*pending);
    pending = pending_.erase(pending);
  }
}

void BatchFeed::begin_more() {
  for (std::size_t g = 0; g < generators_.size(); ++g) {
    const auto of_generator = [&](const Pending& pending) { return generator_of(pending.action) == g; };
    while (static_cast<std::size_t>(std::count_if(pending_.begin(), pending_.end(), of_generator)) < in_the_making) {
      if (!begin_one(g)) break;
    }
  }
}

void BatchFeed::fill() {
  // Each round makes one batch of each size, and keeps them in this order. So the kept batches do not depend on which
  // generator was faster.
  for (bool any = true; any;) {
    for (std::size_t action = 0; action < stores_.size(); ++action) {
      if (has_room(action)) pending_.push_back(start(action, number_of_kept(action, stores_[action].begun++)));
    }
    any = !pending_.empty();
    for (; !pending_.empty(); pending_.pop_front()) {
      finish(pending_.front());
      keep(pending_.front());
    }
  }
}

bool BatchFeed::begin_one(std::size_t generator) {
  std::size_t& turn = generators_[generator].turn;
  for (std::size_t tried = generator; tried < stores_.size(); tried += generators_.size()) {
    const std::size_t action = turn;
    turn += generators_.size();
    if (turn >= stores_.size()) turn = generator;
    if (!has_room(action)) continue;
    pending_.push_back(start(action, number_of_kept(action, stores_[action].begun++)));
    return true;
  }
  return false;
}

bool BatchFeed::snapshots_fit(std::size_t action) const {
  const std::uint64_t all = device_.memory_limit_bytes() > 0 ? device_.memory_limit_bytes() : device_.memory_bytes();
  if (all == 0) return true;
  const std::size_t rank = device_.rank();
  double owned = 0;
  for (const auto& group : plan_.groups[rank]) owned += static_cast<double>(group.size());
  const double times = owned / static_cast<double>(plan_.actions[action].of_rank[rank].vertices);
  // Memory of the inputs, and twice that in every layer for outputs and their gradients.
  const double needed = plan_.typical[action].bytes * times * (1 + 2 * static_cast<double>(plan_.layers().size()));
  return needed <= static_cast<double>(all) - static_cast<double>(device_.live_bytes());
}

std::vector<double> BatchFeed::kept() const {
  std::vector<double> counts;
  for (const Store& store : stores_) counts.push_back(static_cast<double>(store.batches.size()));
  return counts;
}

std::vector<double> BatchFeed::state() const {
  std::vector<double> counts = kept();
  for (const Store& store : stores_) counts.push_back(static_cast<double>(store.begun));
  return counts;
}

void BatchFeed::restore(const std::vector<double>& kept) {
  for (std::size_t action = 0; action < stores_.size() && action < kept.size(); ++action) {
    while (static_cast<double>(stores_[action].batches.size()) < kept[action]) {
      Pending pending = start(action, number_of_kept(action, stores_[action].begun++));
      finish(pending);
      const std::size_t before = stores_[action].batches.size();
      keep(pending);
      const bool known = action + stores_.size() < kept.size();
      const bool more = known && static_cast<double>(stores_[action].begun) < kept[action + stores_.size()];
      if (stores_[action].batches.size() == before && !more) break;  // no room for it any more
    }
  }
  // The next batch gets the number after the last one that was begun, kept or not.
  for (std::size_t action = 0; action < stores_.size() && action + stores_.size() < kept.size(); ++action)
    stores_[action].begun = static_cast<std::uint64_t>(kept[action + stores_.size()]);
}

}  // namespace strobe
