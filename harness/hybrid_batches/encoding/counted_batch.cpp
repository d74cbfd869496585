// The same walk as in batch_frontier, on sizes of sets instead of sets.
#include "harness/hybrid_batches/encoding/counted_batch.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace strobe {
namespace {

using Sizes = std::vector<double>;  // of a set at each step of the window

class CountedFrontier {
 public:
  CountedFrontier(const BatchSource& source, const BatchWindow& window, double targets)
      : source_(source),
        window_(window),
        targets_(targets),
        vertices_(static_cast<double>(source.inputs->vertices)),
        computed_(source.layers.size(), Sizes(static_cast<std::size_t>(window.count))),
        inner_(computed_),
        read_(computed_),
        multiplied_(source.layers.size(), std::vector<Sizes>(source.supports.size(), read_.front())) {
    for (std::int64_t t = window.count; t-- > 0;) reach(static_cast<std::size_t>(t));
  }

  double vertices() const { return vertices_; }
  const Sizes& inner(std::size_t layer) const { return inner_[layer]; }
  /// In a layer that goes step by step, the cells whose row of a support has all of its columns in the set.
  const Sizes& multiplied(std::size_t layer, std::size_t support) const { return multiplied_[layer][support]; }
  /// The inner cells and the columns of their rows of A~.
  const Sizes& read(std::size_t layer) const { return read_[layer]; }
  /// Mean entries of a row of matrix `m` (0: A~, 1 + s: support s) at step t of the window.
  double degree(std::size_t m, std::size_t t) const {
    const PreparedGraph& graph = m == 0 ? *source_.inputs : *source_.supports[m - 1];
    return static_cast<double>(graph.step_nonzeros(static_cast<Step>(window_.first + static_cast<std::int64_t>(t)))) /
           vertices_;
  }
  /// Expected size of the union of two sets that share `shared` vertices and are otherwise independent.
  double united(double a, double b, double shared) const {
    return vertices_ <= shared ? std::max(a, b) : a + (b - shared) * (vertices_ - a) / (vertices_ - shared);
  }
  /// Expected vertices of a layer's rows at any step. Sets that continue through states contain those of later steps.
  double at_any_step(std::size_t layer, const Sizes& sizes) const {
    if (source_.frontier == FrontierKind::exact && source_.layers[layer].earlier == LayerReads::all_earlier)
      return *std::max_element(sizes.begin(), sizes.end());
    const Sizes& each = source_.layers[layer].products.empty() ? computed_[layer] : inner_[layer];
    double all = targets_;
    for (const double size : each) all = united(all, size, targets_);
    return std::max(all, *std::max_element(sizes.begin(), sizes.end()));
  }

 private:
  /// Expected size of the set with the columns of its first `rows` rows. The columns of its first `done` rows are in it
  /// already.
  double with_columns(double size, double rows, double& done, std::size_t m, std::size_t t) const {
    const double others = m == 0 ? std::max(0.0, degree(m, t) - 1) : degree(m, t);
    const double fresh = std::max(0.0, rows - std::exchange(done, std::max(done, rows)));
    return size + (vertices_ - size) * (1 - std::exp(-fresh * others / vertices_));
  }

  void reach(std::size_t t) {
    double size = targets_;
    std::vector<double> done(1 + source_.supports.size(), 0.0);
    for (std::size_t l = source_.layers.size(); l-- > 0;) {
      const LayerReads& layer = source_.layers[l];
      computed_[l][t] = size;
      if (source_.frontier == FrontierKind::exact && layer.earlier > 0) size = united(size, read_later(l, t), targets_);
      for (std::size_t i = layer.products.size(); i-- > 0;) {
        const double rows = size;
        for (const int support : layer.products[i])
          size = with_columns(size, rows, done[1 + static_cast<std::size_t>(support)],
                              1 + static_cast<std::size_t>(support), t);
      }
      inner_[l][t] = size;
      for (std::size_t s = 0; s < source_.supports.size(); ++s) multiplied_[l][s][t] = done[1 + s];
      if (layer.neighbours) size = with_columns(size, size, done[0], 0, t);
      read_[l][t] = size;
    }
  }

  /// Expected vertices that later steps read. A state reads those of the next step. A window reads those of the steps
  /// that it spans, and the largest of these sets counts for all.
  double read_later(std::size_t l, std::size_t t) const {
    const LayerReads& layer = source_.layers[l];
    const bool whole = layer.earlier == LayerReads::all_earlier;
    double most = targets_;
    const std::size_t last = whole ? t + 1 : t + static_cast<std::size_t>(layer.earlier);
    for (std::size_t s = t + 1; s <= last && s < static_cast<std::size_t>(window_.count); ++s) {
      if (layer.reset_every > 0 && s % static_cast<std::size_t>(layer.reset_every) == 0) break;
      most = std::max(most, whole ? inner_[l][s] : computed_[l][s]);
    }
    return most;
  }

  const BatchSource& source_;
  BatchWindow window_;
  double targets_, vertices_;
  std::vector<Sizes> computed_, inner_, read_;  // [layers], the first two as in StepFrontier
  std::vector<std::vector<Sizes>> multiplied_;  // [layers][supports]
};

std::int64_t rounded(double size) { return static_cast<std::int64_t>(size + 0.5); }

StepCells cells_of(const Sizes& sizes) {
  StepCells cells;
  for (const double size : sizes) cells.offsets.push_back(cells.count() + rounded(size));
  return cells;
}

std::int64_t entries_of(const CountedFrontier& frontier, std::size_t layer, std::size_t m) {
  double entries = 0;
  for (std::size_t t = 0; t < frontier.inner(layer).size(); ++t)
    entries += frontier.inner(layer)[t] * frontier.degree(m, t);
  return rounded(entries);
}

/// Expected columns that are not own cells. They can only be cells of the previous layer, if there is one.
StepCells halo_of(const CountedFrontier& frontier, std::size_t l, const StepCells& own, const BatchLayer* before) {
  Sizes sizes;
  for (std::size_t t = 0; t < frontier.inner(l).size(); ++t) {
    const double mine = own.count(static_cast<std::int64_t>(t));
    // A cell that only fills a timeline up is read as often as any vertex.
    double others = std::max(0.0, frontier.united(frontier.read(l)[t], mine, frontier.inner(l)[t]) - mine);
    if (before != nullptr)
      others = std::clamp(static_cast<double>(before->cells.count(static_cast<std::int64_t>(t))) - mine, 0.0, others);
    sizes.push_back(others);
  }
  return cells_of(sizes);
}

/// Cells of each layer: those it needs and those that the next layer takes. A layer of whole timelines has the vertices
/// of any step at every step.
std::vector<Sizes> cells_of_layers(const CountedFrontier& frontier, const std::vector<LayerShape>& layers) {
  std::vector<Sizes> all(layers.size());
  for (std::size_t l = layers.size(); l-- > 0;) {
    Sizes sizes = frontier.inner(l);
    for (std::size_t t = 0; t < sizes.size() && l + 1 < layers.size(); ++t)
      sizes[t] = frontier.united(sizes[t], all[l + 1][t], frontier.inner(l + 1)[t]);
    if (is_rectangle(layers[l])) sizes.assign(sizes.size(), frontier.at_any_step(l, sizes));
    all[l] = std::move(sizes);
  }
  return all;
}

void count_supports(const CountedFrontier& frontier, std::size_t l, std::size_t supports, BatchLayer& layer) {
  for (std::size_t s = 0; s < supports; ++s) {
    std::vector<HostCsr>& steps = layer.steps.emplace_back();
    std::vector<std::int64_t>& entries = layer.step_entries.emplace_back();
    for (std::int64_t t = 0; t < layer.cells.steps(); ++t) {
      steps.emplace_back().step_rows = {0, layer.cells.count(t)};
      const std::size_t step = t;
      // Rows at the rim have only those entries whose column happens to be a cell.
      const double whole = frontier.multiplied(l, s)[step], rim = std::max(0.0, frontier.inner(l)[step] - whole);
      const double there = static_cast<double>(layer.cells.count(t)) / frontier.vertices();
      entries.push_back(rounded((whole + rim * there) * frontier.degree(1 + s, step)));
    }
  }
}

}  // namespace

LayeredBatch count_batch(const BatchSource& source, const LayerSource& layers, const BatchWindow& window,
                         std::int64_t targets) {
  const CountedFrontier frontier(source, window, static_cast<double>(targets));
  const std::vector<Sizes> cells = cells_of_layers(frontier, layers.layers);
  LayeredBatch batch;
  batch.counted_only = true;
  batch.window = window;
  batch.targets = targets;
  for (std::int64_t t = 1; t <= window.count; ++t) batch.target_offsets.push_back(t * targets);
  batch.layers.resize(layers.layers.size());
  batch.counted.resize(layers.layers.size());
  for (std::size_t l = 0; l < batch.layers.size(); ++l) {
    BatchLayer& layer = batch.layers[l];
    const LayerShape& shape = layers.layers[l];
    const BatchLayer* const before = l > 0 ? &batch.layers[l - 1] : nullptr;
    layer.cells = before != nullptr && reads_own_rows_alone(shape) ? before->cells : cells_of(cells[l]);
    layer.halo = cells_of(Sizes(static_cast<std::size_t>(window.count)));
    if (shape.reads_neighbours) layer.halo = halo_of(frontier, l, layer.cells, before);
    layer.a.has_entries = shape.reads_neighbours || chooses_rows(shape);
    layer.a.step_rows = layer.cells.offsets;
    if (layer.a.has_entries) layer.entries = entries_of(frontier, l, 0);
    if (shape.step_by_step) count_supports(frontier, l, source.supports.size(), layer);
    if (before != nullptr && (layer.halo.count() > 0 || layer.cells.offsets != before->cells.offsets))
      layer.input_rows = layer.columns();
    batch.computed_cells += layer.cells.count();
    batch.needed_cells += cells_of(frontier.inner(l)).count();
  }
  return batch;
}

}  // namespace strobe
