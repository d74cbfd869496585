#include "harness/hybrid_batches/batch_maker.hpp"

#include <algorithm>

#include "harness/hybrid_batches/encoding/counted_batch.hpp"

namespace strobe {
namespace {

template <class T>
std::uint64_t bytes_of(const std::vector<T>& values) {
  return values.size() * sizeof(T);
}

std::uint64_t bytes_of(const HostCsr& csr) {
  return bytes_of(csr.offsets) + bytes_of(csr.columns) + bytes_of(csr.values32) + bytes_of(csr.values64);
}

std::uint64_t bytes_of(const StepCells& cells) { return bytes_of(cells.offsets) + bytes_of(cells.vertices); }

/// Bytes that the lists of a counted layer would take.
std::uint64_t counted_bytes(const BatchLayer& layer, std::uint64_t element) {
  std::int64_t entries = layer.entries, rows = layer.cells.count();
  for (const auto& support : layer.step_entries) {
    for (const std::int64_t step : support) entries += step;
    rows += layer.cells.count();
  }
  return static_cast<std::uint64_t>(layer.columns()) * sizeof(VertexId) +
         static_cast<std::uint64_t>(rows + layer.input_rows) * sizeof(std::int64_t) +
         static_cast<std::uint64_t>(entries) * (sizeof(VertexId) + element);
}

std::uint64_t bytes_of(const BatchLayer& layer) {
  std::uint64_t sum = bytes_of(layer.cells) + bytes_of(layer.halo) + bytes_of(layer.input) + bytes_of(layer.a);
  for (const auto& support : layer.steps) {
    for (const HostCsr& csr : support) sum += bytes_of(csr);
  }
  return sum;
}

/// Weights for the mean over steps of each step's mean; they add up to 1 (DynaHB, Algorithm 2, lines 9 and 10). Steps
/// without samples have no mean.
void weigh_by_step(const Samples& all, HybridBatch& batch) {
  LocalSamples& local = batch.samples;
  if (local.index.empty()) return;
  std::vector<double> of_step(batch.layers.window.count, 0);
  const auto step = [&](std::int64_t index) {
    return static_cast<std::size_t>(all.step[index] - batch.layers.window.first);
  };
  if (local.weight.empty()) local.weight.assign(local.index.size(), 1.0);
  for (std::size_t i = 0; i < local.index.size(); ++i) of_step[step(local.index[i])] += local.weight[i];
  const double steps = std::count_if(of_step.begin(), of_step.end(), [](double w) { return w > 0; });
  for (std::size_t i = 0; i < local.index.size(); ++i) {
    const double all_of_step = of_step[step(local.index[i])];
    local.weight[i] = all_of_step > 0 ? local.weight[i] / all_of_step / steps : 0;
  }
  batch.total_weight = steps > 0 ? 1 : 0;
}

std::uint64_t bytes_of(const HostRows& rows) { return bytes_of(rows.values32) + bytes_of(rows.values64); }

}  // namespace

std::uint64_t HybridBatch::bytes() const {
  std::uint64_t sum = bytes_of(features.features) + bytes_of(features.product);
  for (const BatchLayer& layer : layers.layers)
    sum += layers.counted_only ? counted_bytes(layer, element_bytes) : bytes_of(layer);
  for (const auto& counted : layers.counted) sum += bytes_of(counted);
  for (const auto& list : samples.rows) sum += bytes_of(list);
  return sum + bytes_of(samples.label) + bytes_of(samples.value) + bytes_of(samples.weight);
}

LayerSource layer_source(const HybridPlan& plan) {
  return {plan.graph(), plan.full->data.supports, plan.layers(), plan.full->model.fp64, plan.degrees};
}

BatchMaker::BatchMaker(const HybridPlan& plan, bool values)
    : plan_(plan), values_(values), scratch_(plan.graph().vertices), encoder_(layer_source(plan)) {}

SharedBatch BatchMaker::make(Rank rank, std::size_t action, std::uint64_t number) {
  constexpr std::uint64_t attempts = 8;
  const BatchSize& size = plan_.actions[action].of_rank[rank];
  if (!plan_.graph().has_structure()) return make_counted({0, size.steps}, size.vertices, action);
  const BalancedGroups& groups = plan_.groups[rank];
  DrawnTargets targets;
  for (std::uint64_t attempt = 0; attempt < attempts; ++attempt) {
    targets = draw_targets(groups, size, plan_.trained_steps(), plan_.seed(), rank, number, attempt,
                           plan_.graph().presence.get());
    const Run steps{targets.window.first, targets.window.count};
    if (!samples_of(plan_.samples, targets.vertices, steps).empty()) break;
  }
  return make(targets, action);
}

SharedBatch BatchMaker::make(const DrawnTargets& targets, std::size_t action) {
  if (!plan_.graph().has_structure())
    return make_counted(targets.window, static_cast<std::int64_t>(targets.vertices.size()), action);
  auto batch = std::make_shared<HybridBatch>();
  batch->action = action;
  const Run steps{targets.window.first, targets.window.count};
  const Samples& all = plan_.full->data.samples->train;
  const std::vector<std::int64_t> chosen = samples_of(plan_.samples, targets.vertices, steps);
  const BatchCells cells{targets.vertices, steps, other_vertices(all, chosen, targets.vertices, steps)};
  const Frontier frontier = batch_frontier(plan_.source, cells, scratch_);
  batch->layers = encoder_.encode(targets.window, needed_cells(frontier, plan_.layers().size()), targets.vertices,
                                  scratch_.places());
  if (values_) batch->features = gather_features(layer_source(plan_), batch->layers);
  add_samples(chosen, *batch);
  return batch;
}

SharedBatch BatchMaker::make_counted(const BatchWindow& window, std::int64_t targets, std::size_t action) const {
  auto batch = std::make_shared<HybridBatch>();
  batch->action = action;
  batch->element_bytes = plan_.full->model.fp64 ? sizeof(double) : sizeof(float);
  batch->layers = count_batch(plan_.source, layer_source(plan_), window, targets);
  // Training samples are spread evenly over the cells; the batch gets its cells' share.
  const DataPlan& data = plan_.full->data;
  std::int64_t samples = 0;
  for (const StepSamples& step : data.shape->samples.train.steps) samples += step.count();
  const double share =
      static_cast<double>(targets * window.count) / static_cast<double>(plan_.graph().vertices * plan_.trained_steps());
  batch->samples.rows.resize(data.shape->samples.train.arity);
  batch->samples.counted = static_cast<std::int64_t>(share * static_cast<double>(samples));
  batch->samples.counted_values = data.shape->samples.train.arity == 1;
  batch->total_weight = static_cast<double>(batch->samples.counted);
  return batch;
}

void BatchMaker::add_samples(const std::vector<std::int64_t>& chosen, HybridBatch& batch) const {
  const Samples& all = plan_.full->data.samples->train;
  const StepCells& cells = batch.layers.layers.back().cells;
  const std::size_t arity = all.arity;
  LocalSamples& local = batch.samples;
  local.rows.resize(arity + all.coded());
  local.index = chosen;
  for (const std::int64_t index : chosen) {
    const std::size_t i = index;
    const std::int64_t t = all.step[i] - batch.layers.window.first;
    const auto begin = cells.vertices.begin() + cells.begin(t), end = cells.vertices.begin() + cells.end(t);
    for (std::size_t k = 0; k < arity; ++k) {
      const auto found = std::lower_bound(begin, end, all.vertices[i * arity + k]);
      local.rows[k].push_back(found - cells.vertices.begin());
    }
    for (std::size_t k = 0; k < all.coded(); ++k) local.rows[arity + k].push_back(all.codes[i * all.coded() + k]);
    local.label.push_back(all.label[i]);
    if (!all.value.empty()) local.value.push_back(all.value[i]);
    if (!all.weight.empty()) local.weight.push_back(all.weight[i]);
    batch.total_weight += all.weight.empty() ? 1.0 : all.weight[i];
  }
  if (plan_.options.loss == "per_step") weigh_by_step(all, batch);
}

}  // namespace strobe
