#include "harness/hybrid_batches/encoding/layered_batch.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/system/ask_ahead.hpp"

namespace strobe {
namespace {

std::span<const VertexId> step_of(const StepCells& cells, std::int64_t t) {
  return {cells.vertices.data() + cells.begin(t), static_cast<std::size_t>(cells.count(t))};
}

/// Cells that are in either, step by step.
StepCells united(const StepCells& a, const StepCells& b) {
  StepCells all;
  for (std::int64_t t = 0; t < a.steps(); ++t) {
    const auto left = step_of(a, t), right = step_of(b, t);
    std::set_union(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(all.vertices));
    all.close_step();
  }
  return all;
}

/// Appends the rows in `outer` of the cells of `inner`, which must be in `outer` at the same steps.
void append_rows(const StepCells& outer, const StepCells& inner, std::vector<std::int64_t>& rows) {
  for (std::int64_t t = 0; t < inner.steps(); ++t) {
    std::int64_t at = outer.begin(t);
    for (const VertexId v : step_of(inner, t)) {
      while (at < outer.end(t) && outer.vertex(at) < v) ++at;
      if (at == outer.end(t) || outer.vertex(at) != v) throw Error("a layer reads a cell that the one before lacks");
      rows.push_back(at);
    }
  }
}

bool same(const StepCells& a, const StepCells& b) { return a.offsets == b.offsets && a.vertices == b.vertices; }

}  // namespace

bool is_rectangle(const LayerShape& layer) { return walks_timelines(layer) || layer.step_by_step; }
bool chooses_rows(const LayerShape& layer) { return layer.sums.constants_per_rank > 0; }
bool reads_own_rows_alone(const LayerShape& layer) { return !layer.reads_neighbours && !is_rectangle(layer); }

std::vector<StepCells> needed_cells(const Frontier& frontier, std::size_t layers) {
  std::vector<StepCells> needed(layers);
  PlaceSet places;
  places.make_room(frontier.field.size());
  for (const StepFrontier& step : frontier.steps) {
    // A layer needs what the next one needs, and more.
    std::size_t done = 0;
    for (std::size_t l = layers; l-- > 0;) {
      const auto count = static_cast<std::size_t>(step.inner[l]);
      for (; done < count; ++done) places.add(step.rows[done]);
      std::vector<VertexId>& vertices = needed[l].vertices;
      vertices.reserve(vertices.size() + count);
      places.each([&](std::int32_t place) { vertices.push_back(frontier.field[place]); });
      needed[l].close_step();
    }
    places.clear();
  }
  return needed;
}

LayeredBatch BatchEncoder::encode(const BatchWindow& window, const std::vector<StepCells>& needed,
                                  std::span<const VertexId> targets, const VertexPlaces& field) {
  field_ = &field;
  numbered_.assign(field.list().size(), {});
  places_.make_room(field.list().size());
  now_ = 0;
  LayeredBatch batch;
  batch.window = window;
  counted_ = !source_.degrees.empty() ? rows_read(needed) : nullptr;
  first_ = window.first;
  batch.targets = static_cast<std::int64_t>(targets.size());
  const StepCells wanted = existing(window, targets);
  batch.target_offsets = wanted.offsets;
  const std::size_t count = source_.layers.size();
  batch.layers.resize(count);
  for (std::size_t l = count; l-- > 0;) {
    StepCells& cells = batch.layers[l].cells;
    cells = l + 1 < count ? united(needed[l], batch.layers[l + 1].cells) : needed[l];
    if (is_rectangle(source_.layers[l])) cells = existing(window, distinct_vertices(cells));
  }
  for (std::size_t l = 0; l < count; ++l) {
    BatchLayer& layer = batch.layers[l];
    const BatchLayer* const before = l > 0 ? &batch.layers[l - 1] : nullptr;
    if (before != nullptr && reads_own_rows_alone(source_.layers[l])) layer.cells = before->cells;
    for (std::int64_t t = 0; t < window.count; ++t) layer.halo.close_step();
    if (source_.layers[l].reads_neighbours) add_matrix(window, needed[l], before, layer);
    if (chooses_rows(source_.layers[l]) && !source_.layers[l].reads_neighbours)
      add_connections(window, needed[l], layer);
    if (source_.layers[l].step_by_step) add_supports(window, needed[l], layer);
    if (before != nullptr) read_rows(*before, layer);
    append_rows(layer.cells, wanted, batch.counted.emplace_back());
    batch.computed_cells += layer.cells.count();
    batch.needed_cells += needed[l].count();
  }
  return batch;
}

const StepCells* BatchEncoder::rows_read(const std::vector<StepCells>& needed) const {
  for (std::size_t l = 0; l < needed.size(); ++l)
    if (source_.layers[l].reads_neighbours) return &needed[l];
  return nullptr;
}

void BatchEncoder::append_value(const PreparedGraph& graph, Step step, std::size_t entry, HostCsr& csr) const {
  double scale = 1;
  if (counted_ != nullptr) {
    // Rows that are read are complete, so their degree is the graph's. Other rows are not in the batch, so as columns
    // they have degree 1.
    const VertexId column = graph.columns[entry];
    const std::span<const VertexId> read = step_of(*counted_, step - first_);
    if (!std::binary_search(read.begin(), read.end(), column))
      scale = std::sqrt(source_.degrees[step * graph.vertices + column]);
  }
  if (source_.fp64) {
    csr.values64.push_back(graph.values64[entry] * scale);
  } else {
    csr.values32.push_back(static_cast<float>(graph.values32[entry] * scale));
  }
}

std::vector<VertexId> BatchEncoder::distinct_vertices(const StepCells& cells) {
  for (const VertexId v : cells.vertices) places_.add(field_->of(v));
  std::vector<VertexId> vertices;
  vertices.reserve(field_->list().size());
  places_.each([&](std::int32_t place) { vertices.push_back(field_->list()[place]); });
  places_.clear();
  return vertices;
}

StepCells BatchEncoder::existing(const BatchWindow& window, std::span<const VertexId> vertices) const {
  const Presence* const presence = source_.graph.presence.get();
  StepCells cells;
  cells.vertices.reserve(vertices.size() * static_cast<std::size_t>(window.count));
  for (std::int64_t t = 0; t < window.count; ++t) {
    const auto step = static_cast<Step>(window.first + t);
    if (presence == nullptr) {
      cells.vertices.insert(cells.vertices.end(), vertices.begin(), vertices.end());
    } else {
      std::copy_if(vertices.begin(), vertices.end(), std::back_inserter(cells.vertices),
                   [&](VertexId v) { return presence->exists(v, step); });
    }
    cells.close_step();
  }
  return cells;
}

void BatchEncoder::read_rows(const BatchLayer& before, BatchLayer& layer) {
  if (layer.halo.count() == 0 && same(layer.cells, before.cells)) return;
  layer.input.reserve(layer.columns());
  append_rows(before.cells, layer.cells, layer.input);
  append_rows(before.cells, layer.halo, layer.input);
}

void BatchEncoder::number(std::span<const VertexId> vertices, std::int64_t first) {
  for (const VertexId v : vertices) {
    Numbered& vertex = numbered_[field_->of(v)];
    vertex.stamp = now_;
    vertex.row = static_cast<std::int32_t>(first++);
  }
}

void BatchEncoder::ask_for(const PreparedGraph& graph, Step step, std::span<const VertexId> rows, std::size_t i) {
  constexpr std::size_t ahead = 8;
  const std::int64_t* const offsets = graph.row_offsets.data() + step * graph.vertices;
  if (i + 2 * ahead < rows.size()) ask_ahead(offsets + rows[i + 2 * ahead]);
  if (i + ahead < rows.size()) ask_ahead(graph.columns.data() + offsets[rows[i + ahead]]);
}

void BatchEncoder::find_columns(const PreparedGraph& graph, Step step, std::span<const VertexId> rows) {
  const std::int64_t* const offsets = graph.row_offsets.data() + step * graph.vertices;
  const VertexId* const columns = graph.columns.data();
  std::size_t count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ask_for(graph, step, rows, i);
    const VertexId v = rows[i];
    const std::size_t end = count + static_cast<std::size_t>(offsets[v + 1] - offsets[v]);
    if (end > columns_.size()) columns_.resize(2 * end);
    for (const VertexId* u = columns + offsets[v]; count < end; ++u) columns_[count++] = field_->of(*u);
  }
  found_ = {columns_.data(), count};
}

void BatchEncoder::order(std::vector<std::int32_t>& places) {
  if (places_.is_sparse(places.size())) return std::sort(places.begin(), places.end());
  for (const std::int32_t place : places) places_.add(place);
  auto to = places.begin();
  places_.each([&](std::int32_t place) { *to++ = place; });
  places_.clear();
}

std::vector<VertexId> BatchEncoder::only_read(std::span<const VertexId> before) {
  const bool all = before.data() == nullptr;
  for (const VertexId v : before) numbered_[field_->of(v)].there = now_;
  std::vector<std::int32_t> found;
  for (const std::int32_t place : found_) {
    if (place < 0 && all) throw Error("a row of a batch reads a vertex that is not in its field");
    if (place < 0) continue;
    Numbered& vertex = numbered_[place];
    if (vertex.stamp == now_ || (!all && vertex.there != now_)) continue;
    vertex.stamp = now_;
    found.push_back(place);
  }
  order(found);
  for (std::int32_t& place : found) place = field_->list()[place];
  return found;
}

void BatchEncoder::append_entries(const PreparedGraph& graph, Step step, std::span<const VertexId> cells,
                                  std::span<const VertexId> needed, HostCsr& csr) {
  const std::int64_t* const offsets = graph.row_offsets.data() + step * graph.vertices;
  const bool plain = counted_ == nullptr && !source_.fp64;
  const std::size_t begin = csr.columns.size(), most = begin + found_.size();
  csr.columns.resize(most);
  if (plain) csr.values32.resize(most);
  std::int32_t* const to = csr.columns.data() + begin;
  float* const values = csr.values32.data() + begin;
  std::size_t next = 0, count = 0;
  auto column = found_.begin();
  for (const VertexId v : cells) {
    if (next < needed.size() && needed[next] == v) {
      ask_for(graph, step, needed, next++);
      for (std::int64_t e = offsets[v]; e < offsets[v + 1]; ++e) {
        const std::int32_t place = *column++;
        if (place < 0 || numbered_[place].stamp != now_) continue;  // missing in an approximate frontier
        if (plain) {
          values[count] = graph.values32[e];
        } else {
          append_value(graph, step, static_cast<std::size_t>(e), csr);
        }
        to[count++] = numbered_[place].row;
      }
    }
    csr.offsets.push_back(static_cast<std::int64_t>(begin + count));
  }
  csr.columns.resize(begin + count);
  if (plain) csr.values32.resize(begin + count);
}

void BatchEncoder::make_room(std::int64_t rows, BatchLayer& layer) const {
  const PreparedGraph& graph = source_.graph;
  const double of_row = static_cast<double>(graph.nonzeros()) / static_cast<double>(graph.row_offsets.size());
  const auto entries = static_cast<std::size_t>(1.1 * of_row * static_cast<double>(rows));
  layer.a.columns.reserve(entries);
  if (source_.fp64) {
    layer.a.values64.reserve(entries);
  } else {
    layer.a.values32.reserve(entries);
  }
  layer.a.offsets.reserve(static_cast<std::size_t>(layer.cells.count()) + 1);
}

void BatchEncoder::add_matrix(const BatchWindow& window, const StepCells& needed, const BatchLayer* before,
                              BatchLayer& layer) {
  layer.a.has_entries = true;
  layer.a.step_rows = layer.cells.offsets;
  make_room(needed.count(), layer);
  StepCells halo;
  for (std::int64_t t = 0; t < window.count; ++t) {
    const Step step = static_cast<Step>(window.first + t);
    ++now_;
    number(step_of(layer.cells, t), layer.cells.begin(t));
    const std::span<const VertexId> all = before != nullptr ? step_of(before->cells, t) : std::span<const VertexId>();
    find_columns(source_.graph, step, step_of(needed, t));
    const std::vector<VertexId> read = only_read(all);
    number(read, layer.cells.count() + halo.count());
    halo.vertices.insert(halo.vertices.end(), read.begin(), read.end());
    halo.close_step();
    append_entries(source_.graph, step, step_of(layer.cells, t), step_of(needed, t), layer.a);
  }
  layer.halo = std::move(halo);
}

void BatchEncoder::add_connections(const BatchWindow& window, const StepCells& needed, BatchLayer& layer) const {
  layer.a.has_entries = true;
  layer.a.step_rows = layer.cells.offsets;
  const auto elsewhere = static_cast<std::int32_t>(layer.cells.count());
  const PreparedGraph& graph = source_.graph;
  for (std::int64_t t = 0; t < window.count; ++t) {
    const std::span<const VertexId> some = step_of(needed, t);
    std::size_t next = 0;
    for (std::int64_t row = layer.cells.begin(t); row < layer.cells.end(t); ++row) {
      const VertexId v = layer.cells.vertex(row);
      const bool real = next < some.size() && some[next] == v;
      next += real ? 1 : 0;
      const std::size_t of_graph = (window.first + t) * graph.vertices + v;
      for (std::int64_t e = graph.row_offsets[of_graph]; real && e < graph.row_offsets[of_graph + 1]; ++e) {
        const bool itself = graph.columns[e] == v;
        layer.a.columns.push_back(itself ? static_cast<std::int32_t>(row) : elsewhere);
        append_value(graph, static_cast<Step>(window.first + t), static_cast<std::size_t>(e), layer.a);
      }
      layer.a.offsets.push_back(static_cast<std::int64_t>(layer.a.columns.size()));
    }
  }
}

void BatchEncoder::add_supports(const BatchWindow& window, const StepCells& needed, BatchLayer& layer) {
  for (const auto& graph : source_.supports) {
    std::vector<HostCsr>& steps = layer.steps.emplace_back();
    for (std::int64_t t = 0; t < window.count; ++t) {
      HostCsr& csr = steps.emplace_back();
      csr.has_entries = true;
      csr.step_rows = {0, layer.cells.count(t)};
      ++now_;
      number(step_of(layer.cells, t), 0);
      find_columns(*graph, static_cast<Step>(window.first + t), step_of(needed, t));
      append_entries(*graph, static_cast<Step>(window.first + t), step_of(layer.cells, t), step_of(needed, t), csr);
    }
  }
}

}  // namespace strobe
