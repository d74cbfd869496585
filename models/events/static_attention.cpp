#include "models/events/static_attention.hpp"

#include "models/events/pieces.hpp"
#include "models/ops/ops.hpp"

namespace strobe {
namespace {

AttentionLayer layer_of(const StaticMemoryWish& wish) {
  AttentionLayer layer;
  layer.prefix = "attention";
  layer.merge = wish.merges ? "merge" : "";
  layer.input = layer.output = wish.width;
  layer.heads = wish.heads;
  layer.scale = wish.scale;
  return layer;
}

}  // namespace

std::vector<ParameterShape> static_attention_parameters(const StaticMemoryWish& wish, std::int64_t vertices) {
  std::vector<ParameterShape> shapes{linear("static.table", vertices, wish.width, wish.width)};
  for (ParameterShape& shape : layer_of(wish).parameters(0)) shapes.push_back(std::move(shape));
  return shapes;
}

Var static_attention(Tape& tape, const Parameters& parameters, const StaticMemoryWish& wish, const Tensor& vertices,
                     const NeighbourLevel& level) {
  const Var h = gather_rows(tape, parameters.at("static.table"), {vertices}, vertices.rows());
  return layer_of(wish).embed(tape, parameters, h, level, Pass{});
}

}  // namespace strobe
