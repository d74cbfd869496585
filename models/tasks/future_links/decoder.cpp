#include "models/tasks/future_links/decoder.hpp"

#include <cmath>

#include "models/ops/ops.hpp"
#include "models/ops/ops_events.hpp"
#include "models/tasks/future_links/pair_history.hpp"

namespace strobe {

std::vector<ParameterShape> link_decoder_parameters(std::int64_t width, bool codes) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(width));  // of PyTorch's linear layers
  std::vector<ParameterShape> shapes = {
      {"decoder.source", width, width, bound},      {"decoder.source_bias", 1, width, bound},
      {"decoder.destination", width, width, bound}, {"decoder.destination_bias", 1, width, bound},
      {"decoder.output", width, 1, bound},          {"decoder.output_bias", 1, 1, bound}};
  if (!codes) return shapes;
  for (ParameterShape& table : pair_code_parameters(width)) shapes.push_back(std::move(table));
  return shapes;
}

Var link_scores(Tape& tape, const Parameters& parameters, const Var& sources, const Var& candidates,
                std::span<const Tensor> codes) {
  const Var source =
      dense(tape, sources, parameters.at("decoder.source"), parameters.at("decoder.source_bias"), Activation::none);
  const Var destination = dense(tape, candidates, parameters.at("decoder.destination"),
                                parameters.at("decoder.destination_bias"), Activation::none);
  return pair_scores(tape, source, with_pair_codes(tape, parameters, destination, codes),
                     parameters.at("decoder.output"), parameters.at("decoder.output_bias"));
}

Var link_scores(Tape& tape, const Parameters& parameters, const Var& embeddings, const std::vector<Tensor>& lists,
                std::int64_t count) {
  const Var source = gathered_dense(tape, embeddings, {lists[0]}, count, parameters.at("decoder.source"),
                                    parameters.at("decoder.source_bias"));
  const Var destination = gathered_dense(tape, embeddings, {lists[1]}, count, parameters.at("decoder.destination"),
                                         parameters.at("decoder.destination_bias"));
  return pair_scores(tape, source, with_pair_codes(tape, parameters, destination, std::span(lists).subspan(2)),
                     parameters.at("decoder.output"), parameters.at("decoder.output_bias"));
}

}  // namespace strobe
