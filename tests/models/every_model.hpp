// Every registered model, and what its options change.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "models/snapshots/model.hpp"

namespace strobe {

/// Options that change a model's mathematics. Left out: backpropagation=detached, whose gradients are not those of its
/// outputs (tests/golden compares it with PyTorch's detach); gate=none and state=reset at every step, which leave
/// parameters without a gradient; rates of dropout that leave a query nothing, on the kink of the dense layer's relu.
inline const std::vector<std::pair<std::string, Json>>& model_options() {
  static const std::vector<std::pair<std::string, Json>> all{
      {"tm-gcn", {{"network", "linear"}}},
      {"tm-gcn", {{"network", "selu"}}},
      {"tm-gcn", {{"network", "selu"}, {"precompute", false}}},
      {"tm-gcn", {{"m", "inverse_distance"}}},
      {"tm-gcn", {{"m", "inverse_distance"}, {"pairs", 2}, {"last_activation", "none"}}},
      {"tm-gcn", {{"pairs", 2}}},
      {"cd-gcn", {{"concat", "input"}}},
      {"cd-gcn", {{"concat", "input"}, {"precompute", false}}},
      {"cd-gcn", {{"layers", 1}, {"precompute", false}}},
      {"evolve-gcn-o", {{"cell", "gru"}}},
      {"evolve-gcn-o", {{"last_activation", "none"}}},
      {"evolve-gcn-h", {{"cell", "lstm"}, {"mask", "none"}}},
      {"evolve-gcn-h", {{"precompute", false}}},
      {"evolve-gcn-h", {{"mask", "linked"}}},
      {"t-gcn", {{"conv", "xh"}}},
      {"t-gcn", {{"gcn_layers", 1}}},
      {"t-gcn", {{"gates", "shared"}}},
      {"dysat", {{"scale", "sqrt_T"}}},
      {"dysat", {{"logits", "weighted"}}},
      {"dysat", {{"structural_dropout", 0.3}}},
      {"dysat", {{"temporal_dropout", 0.2}, {"temporal_heads", 3}}},
      {"dysat", {{"structural_dropout", 0.2}, {"temporal_dropout", 0.2}, {"logits", "weighted"}}},
      {"mpnn-lstm", {{"output", "h2"}}},
      {"mpnn-lstm", {{"state", "reset"}, {"window", 2}, {"batch_norm", false}}},
      {"mpnn-lstm", {{"dropout", 0.3}}},
      {"mpnn-lstm", {{"precompute", false}}},
      {"dcrnn", {{"terms", "chebyshev"}, {"hops", 3}}},
      {"dcrnn", {{"directions", "in"}, {"layers", 2}}},
      {"dcrnn", {{"hops", 0}, {"gate_bias", 1}}},
      {"dcrnn", {{"terms", "carried"}, {"supports", "transposed"}, {"hops", 3}}},
      {"dcrnn", {{"state", "none"}}},
      {"dcrnn", {{"precompute", false}}}};
  return all;
}

struct NamedModel {
  std::unique_ptr<Model> model;
  std::string name;
};

inline std::vector<NamedModel> every_model() {
  std::vector<NamedModel> models;
  for (const auto& [name, entry] : ModelRegistry::instance().entries()) {
    if (entry.value.family == "snapshots") models.push_back({entry.value(Json::object()), name});
  }
  for (const auto& [name, json] : model_options())
    models.push_back({ModelRegistry::instance().find(name).value(json), name + json.dump()});
  return models;
}

}  // namespace strobe
