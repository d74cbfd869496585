// LSTM and GRU over all steps, forward and backward, on the shape of ESDG's experiments (16384 vertices, 64 steps,
// inputs 8, width 6), a wide one (4096 vertices, 32 steps, inputs and width 64), and at widths between them. Packed: as
// many rows, in which sequences of 1 to 15 steps lie end to end, half of them given a state, half handing theirs on.
#include "backends/operations/operations_recurrent.hpp"
#include "bench/measure.hpp"
#include "tests/conformance/operations/packed_bins.hpp"

namespace strobe::bench {
namespace {

struct Size {
  std::int64_t vertices, steps, inputs, hidden;
  bool packed = false;
};

const std::vector<std::pair<std::string, Size>> sizes{{"narrow", {shrunk(16384), 64, 8, 6}},
                                                      {"units:16", {shrunk(16384), 64, 16, 16}},
                                                      {"units:32", {shrunk(16384), 64, 32, 32}},
                                                      {"wide", {shrunk(4096), 32, 64, 64}},
                                                      {"narrow_packed", {shrunk(16384), 64, 8, 6, true}},
                                                      {"units:16_packed", {shrunk(16384), 64, 16, 16, true}},
                                                      {"units:32_packed", {shrunk(16384), 64, 32, 32, true}},
                                                      {"wide_packed", {shrunk(4096), 32, 64, 64, true}}};

conformance::PackedBins packing(const Size& s) { return conformance::random_packing(s.steps, s.vertices, 15, 3, 0); }

Tensor listed(Device& device, const std::vector<std::int32_t>& values) {
  return device.move_in(values.data(), static_cast<std::int64_t>(values.size()), 1, ElementType::i32);
}

template <class Op>
void set_inputs(Device& device, const Size& s, bool lstm, Op& op) {
  const std::int64_t rows = s.vertices * s.steps, h = s.hidden;
  op.steps = s.steps;
  op.x = varied(device, rows, s.inputs, -0.5f);
  op.w_x = varied(device, lstm ? s.inputs : 3 * s.inputs, lstm ? 4 * h : h, -0.5f);
  op.w_h = varied(device, lstm ? h : 3 * h, lstm ? 4 * h : h, -0.5f);
  op.bias = varied(device, lstm ? 1 : 3, lstm ? 4 * h : h, -0.5f);
  op.y = device.allocate(rows, h);
  if (keeps_gates(s.inputs + h)) op.gates = device.allocate(rows, (lstm ? 4 : 3) * h);
  if (!s.packed) return;
  const conformance::PackedBins packed = packing(s);
  op.restarts = listed(device, packed.restarts());
  op.start = varied(device, (lstm ? 2 : 1) * packed.starts, h, -0.5f);
}

template <class Forward, class Backward>
void run(benchmark::State& state, const std::string& variant, const Size& s, bool backward) {
  constexpr bool lstm = std::is_same_v<Forward, LstmSequence>;
  const auto device = make_device(variant);
  Forward forward;
  set_inputs(*device, s, lstm, forward);
  if constexpr (lstm) forward.cells = device->allocate(forward.y.rows(), s.hidden);
  device->run(forward);
  if (!backward) {
    measure(state, *device, forward);
    return;
  }
  Backward op;
  op.x = forward.x, op.w_x = forward.w_x, op.w_h = forward.w_h, op.bias = forward.bias;
  op.y = forward.y, op.gates = forward.gates, op.steps = s.steps;
  op.restarts = forward.restarts, op.start = forward.start;
  if (s.packed) op.dstart = device->allocate(op.start.rows(), s.hidden);
  if constexpr (lstm) {
    op.cells = forward.cells;
    if (s.packed) op.ends = listed(*device, packing(s).end_rows());
    if (s.packed) op.dlast = varied(*device, packing(s).ends, s.hidden, -0.5f);
  }
  op.dy = varied(*device, op.y.rows(), s.hidden, -0.5f);
  op.dx = device->allocate(op.x.rows(), op.x.columns());
  op.dw_x = varied(*device, op.w_x.rows(), op.w_x.columns(), -0.5f);
  op.dw_h = varied(*device, op.w_h.rows(), op.w_h.columns(), -0.5f);
  op.dbias = varied(*device, op.bias.rows(), op.bias.columns(), -0.5f);
  measure(state, *device, op);
}

const Registration registered{[] {
  for (const std::string& variant : variants<LstmSequence>({"rows", "vector", "plain"})) {
    for (const auto& [size_name, shape] : sizes) {
      if (variant == "rows" && shape.hidden < 16) continue;  // for states of whole registers
      for (const bool backward : {false, true}) {
        const Size size = shape;
        const std::string end = std::string(backward ? "backward/" : "forward/") + size_name + "/" + variant;
        timed(register_guarded(("lstm/" + end).c_str(),
                               [=](benchmark::State& state) {
                                 run<LstmSequence, LstmSequenceBackward>(state, variant, size, backward);
                               }),
              benchmark::kMillisecond);
        timed(register_guarded(("gru/" + end).c_str(),
                               [=](benchmark::State& state) {
                                 run<GruSequence, GruSequenceBackward>(state, variant, size, backward);
                               }),
              benchmark::kMillisecond);
      }
    }
  }
}};

}  // namespace
}  // namespace strobe::bench
