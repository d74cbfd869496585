#include "models/events/pieces.hpp"

#include <cmath>

#include "backends/operations/operations_statistics.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_attention.hpp"
#include "models/ops/ops_block.hpp"
#include "models/ops/ops_memory.hpp"

namespace strobe {
namespace {

/// Dropout of x [R, F] keyed by the roots' numbers.
Var drop(Tape& tape, const Var& x, const Tensor& numbers, double rate, const Pass& pass, std::uint32_t level) {
  if (rate == 0 || !pass.training) return x;
  Device& device = tape.device();
  Dropout op{x->value, numbers,           device.allocate(x->value.rows(), x->value.columns()),
             rate,     pass.seed + level, static_cast<std::uint32_t>(pass.epoch),
             false};
  device.run(op);
  return tape.record(op.y, {x}, [&tape, op, x](const Variable& y) {
    const GradientTarget target = tape.target(x);
    tape.device().run(Dropout{y.gradient, op.ids, target.tensor, op.rate, op.seed, op.key, target.accumulate});
  });
}

Tensor zeros(Device& device, std::int64_t rows, std::int64_t columns) {
  const Tensor zero = device.allocate(rows, columns);
  device.run(Fill{zero, 0.0});
  return zero;
}

}  // namespace

ParameterShape linear(const std::string& name, std::int64_t inputs, std::int64_t outputs, std::int64_t fan_in) {
  return {name, inputs, outputs, 1.0 / std::sqrt(static_cast<double>(fan_in > 0 ? fan_in : inputs))};
}

ParameterShape linear_bias(const std::string& name, std::int64_t inputs, std::int64_t outputs) {
  return {name, 1, outputs, 1.0 / std::sqrt(static_cast<double>(inputs))};
}

std::vector<ParameterShape> time_encoder(const std::string& prefix, std::int64_t width) {
  ParameterShape frequency{prefix + ".frequency", 1, width};
  for (std::int64_t i = 0; i < width; ++i) {
    const double exponent = width > 1 ? -9.0 * static_cast<double>(i) / static_cast<double>(width - 1) : 0.0;
    frequency.start.push_back(std::pow(10.0, exponent));
  }
  return {frequency, {prefix + ".phase", 1, width}};
}

Var encode_time(Tape& tape, const Parameters& parameters, const std::string& prefix, const Tensor& dt, bool fixed) {
  const auto part = [&](const char* name) {
    const Var& trained = parameters.at(prefix + name);
    return fixed ? Tape::constant(trained->value) : trained;
  };
  return time_encoding(tape, dt, part(".frequency"), part(".phase"));
}

std::vector<ParameterShape> feature_layer(const EventWidths& widths, std::int64_t width,
                                          const StaticMemoryRequest& static_memory) {
  const bool table = static_memory.kind == StaticMemoryRequest::Kind::table;
  const std::int64_t columns = widths.vertex + (table ? static_memory.width : 0);
  std::vector<ParameterShape> shapes;
  if (table) shapes.push_back(linear("static.table", widths.vertices, static_memory.width, static_memory.width));
  if (columns == 0) return shapes;
  shapes.push_back(linear("features.weight", columns, width));
  shapes.push_back(linear_bias("features.bias", columns, width));
  return shapes;
}

Var vertex_input(Tape& tape, const Parameters& parameters, const EmbedInput& input, std::int64_t width,
                 const StaticMemoryRequest& static_memory) {
  std::vector<Var> known;
  if (input.features.defined()) known.push_back(Tape::constant(input.features));
  if (static_memory.kind == StaticMemoryRequest::Kind::table)
    known.push_back(gather_rows(tape, parameters.at("static.table"), {input.vertex_numbers}, input.vertices));
  if (known.empty()) return input.memory ? input.memory : Tape::constant(zeros(tape.device(), input.vertices, width));
  const Var columns = known.size() == 1 ? known.front() : concat_columns(tape, known);
  const Var features =
      dense(tape, columns, parameters.at("features.weight"), parameters.at("features.bias"), Activation::none);
  return input.memory ? sum_of(tape, input.memory, features) : features;
}

StaticMemoryRequest::Kind static_memory_kind(const std::string& name) {
  if (name == "none") return StaticMemoryRequest::Kind::none;
  if (name == "pretrained") return StaticMemoryRequest::Kind::pretrained;
  if (name == "table") return StaticMemoryRequest::Kind::table;
  throw Error("no static memory is called '" + name + "'");
}

AttentionScale attention_scale(const std::string& name) {
  if (name == "neighbours") return AttentionScale::neighbours;
  if (name == "head") return AttentionScale::head;
  if (name == "leaky") return AttentionScale::leaky;
  throw Error("no scale of attention is called '" + name + "'");
}

void check_heads(const std::string& option, std::int64_t width, std::int64_t heads) {
  if (width % heads == 0) return;
  throw InvalidRequest("/model/heads", "an embedding of " + std::to_string(width) + " columns (" + option +
                                           ") has no " + std::to_string(heads) +
                                           " equal heads; take heads that divide it");
}

std::string AttentionLayer::merge_part(const char* part) const {
  // "merge.weight", "merge.bias", "merge.gain"; or "layer1.merge", "layer1.merge_bias", "layer1.gain".
  if (merge == prefix)
    return prefix + (std::string(part) == "weight" ? ".merge"
                     : std::string(part) == "bias" ? ".merge_bias"
                                                   : std::string(".") + part);
  return merge + "." + part;
}

std::vector<ParameterShape> AttentionLayer::parameters(std::int64_t edge_width) const {
  const std::int64_t keyed = input + edge_width + time;  // inputs of a linear layer of keys
  std::vector<ParameterShape> shapes;
  if (time > 0) shapes = time_encoder(prefix, time);
  shapes.push_back(linear(prefix + ".query", input + time, output));
  shapes.push_back(linear_bias(prefix + ".query_bias", input + time, output));
  shapes.push_back(linear(prefix + ".vertex", input, 2 * output, keyed));
  if (edge_width > 0) shapes.push_back(linear(prefix + ".edge", edge_width, 2 * output, keyed));
  if (time > 0) shapes.push_back(linear(prefix + ".time", time, 2 * output, keyed));
  shapes.push_back(linear_bias(prefix + ".bias", keyed, 2 * output));
  if (merge.empty()) return shapes;
  shapes.push_back(linear(merge_part("weight"), output + input, output));
  shapes.push_back(linear_bias(merge_part("bias"), output + input, output));
  shapes.push_back({merge_part("gain"), 1, output, 0, 1});
  shapes.push_back({merge_part("shift"), 1, output});
  return shapes;
}

Var AttentionLayer::query(Tape& tape, const Parameters& parameters, const Var& roots) const {
  if (time == 0)
    return dense(tape, roots, parameters.at(prefix + ".query"), parameters.at(prefix + ".query_bias"),
                 Activation::none);
  // The encoding of no time is the same for all roots: its share of the product is made once, and is a bias.
  const Var now = encode_time(tape, parameters, prefix, zeros(tape.device(), 1, 1), fixed_time);
  const Var& weight = parameters.at(prefix + ".query");
  const Var bias =
      dense(tape, now, slice_rows(tape, weight, input, time), parameters.at(prefix + ".query_bias"), Activation::none);
  return dense(tape, roots, slice_rows(tape, weight, 0, input), bias, Activation::none);
}

Var AttentionLayer::codes(Tape& tape, const Parameters& parameters, const NeighbourLevel& at) const {
  const Var since = encode_time(tape, parameters, prefix, at.dt, fixed_time);
  return at.edge.defined() ? concat_columns(tape, {since, Tape::constant(at.edge)}) : since;
}

Var AttentionLayer::attended_without_codes(Tape& tape, const Parameters& parameters, const Var& h, const Var& roots,
                                           const NeighbourLevel& at, const NeighbourDropout& dropped) const {
  const Var vertex =
      dense(tape, h, parameters.at(prefix + ".vertex"), parameters.at(prefix + ".bias"), Activation::none);
  const Var code = Tape::constant(zeros(tape.device(), at.slots.rows.rows(), 1));
  const Var code_query = Tape::constant(zeros(tape.device(), at.roots, heads));
  return neighbour_attention(tape, query(tape, parameters, roots), vertex, code, code_query, at.slots, heads, scale,
                             dropped)
      .y;
}

Var AttentionLayer::attended(Tape& tape, const Parameters& parameters, const Var& h, const Var& roots,
                             const NeighbourLevel& at, const NeighbourDropout& dropped) const {
  if (time == 0) return attended_without_codes(tape, parameters, h, roots, at, dropped);
  // There are many more slots than roots, so their codes never meet a weight: keys of codes are (code W_k), and q .
  // (code W_k) = (q W_k^T) . code. Values are (code W_v), and their weighted sum is the weighted sum of codes times
  // W_v. The bias is added once per vertex, to the values that its slots read.
  const Var& of_time = parameters.at(prefix + ".time");
  const Var weight = at.edge.defined() ? concat_rows(tape, {of_time, parameters.at(prefix + ".edge")}) : of_time;
  const Var turned = transpose_blocks(tape, weight, 1);  // [2 F, C]
  const Var of_keys = slice_rows(tape, turned, 0, output);
  const Var of_values = transpose_blocks(tape, slice_rows(tape, turned, output, output), heads);  // [H C, F / H]
  const Var vertex =
      dense(tape, h, parameters.at(prefix + ".vertex"), parameters.at(prefix + ".bias"), Activation::none);
  const Var q = query(tape, parameters, roots);
  const Var code_query = block_dense(tape, q, of_keys, nullptr, heads, Activation::none);
  const AttendedRoots sums =
      neighbour_attention(tape, q, vertex, codes(tape, parameters, at), code_query, at.slots, heads, scale, dropped);
  return sum_of(tape, sums.y, block_dense(tape, sums.mixed, of_values, nullptr, heads, Activation::none));
}

Var AttentionLayer::merged(Tape& tape, const Parameters& parameters, const Var& seen, const Var& roots,
                           const NeighbourLevel& at, const Pass& pass) const {
  const Var joined = concat_columns(tape, {seen, roots});
  const Var mixed =
      dense(tape, joined, parameters.at(merge_part("weight")), parameters.at(merge_part("bias")), Activation::relu);
  return layer_norm(tape, drop(tape, mixed, at.numbers, dropout, pass, level), parameters.at(merge_part("gain")),
                    parameters.at(merge_part("shift")));
}

Var AttentionLayer::embed(Tape& tape, const Parameters& parameters, const Var& h, const NeighbourLevel& at,
                          const Pass& pass) const {
  const Var roots =
      at.root_rows.defined() ? gather_rows(tape, h, {at.root_rows}, at.roots) : slice_rows(tape, h, 0, at.roots);
  NeighbourDropout dropped;
  if (pass.training && dropout > 0)
    dropped = {dropout, pass.seed + level, static_cast<std::uint32_t>(pass.epoch), at.numbers};
  const Var seen = attended(tape, parameters, h, roots, at, dropped);
  return merge.empty() ? seen : merged(tape, parameters, seen, roots, at, pass);
}

}  // namespace strobe
