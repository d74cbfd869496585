#include "harness/placement/chunks/traffic_weights.hpp"

#include <algorithm>

namespace strobe {
namespace {

std::int64_t spatial_columns(const std::vector<LayerShape>& layers, std::size_t l) {
  std::int64_t columns = sends_rows(layers, l) ? layers[l].input_width : 0;
  for (const StepProduct& product : layers[l].products) columns += product.width;
  return columns;
}

std::int64_t spatial_stages(const LayerShape& layer) {
  return static_cast<std::int64_t>(layer.products.size()) + (layer.reads_neighbours ? 1 : 0);
}

/// LSTMs have a hidden and a cell state, GRUs one; a stage may stack several.
std::int64_t recurrences(const StateShape& state) { return std::max<std::int64_t>(1, state.rows_per_vertex / 2); }

void add_listed(TrafficWeights& weights, const TemporalTerm& term) {
  if (term.reach < 1 || term.weight < 1) return;
  for (TemporalTerm& known : weights.listed) {
    if (known.reach != term.reach || known.reset_every != term.reset_every) continue;
    known.weight += term.weight;
    return;
  }
  weights.listed.push_back(term);
}

void add_temporal(TrafficWeights& weights, const LayerShape& layer, bool columns) {
  const StateShape& state = layer.recurrent_state;
  if (layer.need == TemporalNeed::recurrent) {
    add_listed(weights, {1, columns ? state.rows_per_vertex * state.width : recurrences(state), layer.reset_every});
  } else if (layer.need == TemporalNeed::window) {
    add_listed(weights, {layer.window - 1, columns ? layer.spatial_width : 1, 0});
  } else if (layer.need == TemporalNeed::all) {
    weights.whole_sequence += columns ? layer.spatial_width : 1;
  }
}

}  // namespace

TrafficWeights traffic_weights(const std::vector<LayerShape>& layers, bool first_product_done,
                               const std::string& kind) {
  TrafficWeights weights;
  const bool columns = kind != "profiled";
  for (std::size_t l = 0; l < layers.size(); ++l) {
    weights.spatial += columns ? spatial_columns(layers, l) : spatial_stages(layers[l]);
    add_temporal(weights, layers[l], columns);
  }
  if (!columns && first_product_done) ++weights.spatial;
  std::sort(weights.listed.begin(), weights.listed.end(), [](const TemporalTerm& a, const TemporalTerm& b) {
    return a.reach != b.reach ? a.reach < b.reach : a.reset_every < b.reset_every;
  });
  if (kind != "unit") return weights;
  weights.spatial = std::min<std::int64_t>(weights.spatial, 1);
  weights.whole_sequence = std::min<std::int64_t>(weights.whole_sequence, 1);
  for (TemporalTerm& term : weights.listed) term.weight = 1;
  return weights;
}

}  // namespace strobe
