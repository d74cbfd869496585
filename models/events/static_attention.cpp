#include "models/events/static_attention.hpp"

#include "models/events/pieces.hpp"

namespace strobe {
namespace {

AttentionLayer layer_of(const StaticMemoryRequest& request) {
  AttentionLayer layer;
  layer.prefix = "attention";
  layer.merge = request.merges ? "merge" : "";
  layer.input = layer.output = request.width;
  layer.heads = request.heads;
  layer.scale = request.scale;
  return layer;
}

}  // namespace

std::vector<ParameterShape> static_attention_parameters(const StaticMemoryRequest& request, std::int64_t vertices) {
  std::vector<ParameterShape> shapes{linear("static.table", vertices, request.width, request.width)};
  for (ParameterShape& shape : layer_of(request).parameters(0)) shapes.push_back(std::move(shape));
  return shapes;
}

Var static_attention(Tape& tape, const Parameters& parameters, const StaticMemoryRequest& request, const Var& rows,
                     const NeighbourLevel& level) {
  return layer_of(request).embed(tape, parameters, rows, level, Pass{});
}

}  // namespace strobe
