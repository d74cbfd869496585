// One epoch of the two-layer TM-GCN (T = 64, N = 16384, f = 3, w = 5, hidden 6) as the sequence of device operations
// that its tape runs: forward dense 2 -> 6 with relu on the precomputed A~X, M-transform, graph convolution 6 -> 6 with
// relu; backward through all of them with both weight gradients. The gradient of the output is given (the loss is a
// sum over few vertices). `epoch/part` times each operation on its own.
#include "bench/graph.hpp"
#include "bench/measure.hpp"

namespace strobe::bench {
namespace {

constexpr std::int64_t inputs = 2, hidden = 6, window = 5;

/// The tensors of an epoch and its operations in order.
struct Epoch {
  std::unique_ptr<Device> device;
  Dense layer1;
  MTransform smooth;
  GraphConvolution layer2;
  DenseBackward layer2_back;
  SpmmTransposed aggregate_back;
  MTransform smooth_back;
  DenseBackward layer1_back;

  /// Calls visit(operation) for each in order.
  template <class Visit>
  void each(const Visit& visit) const {
    visit(layer1), visit(smooth), visit(layer2);
    visit(layer2_back), visit(aggregate_back), visit(smooth_back), visit(layer1_back);
  }
};

Epoch make_epoch(const std::string& variant, bool with_transpose, bool with_pairs) {
  Epoch e;
  e.device = make_device(variant);
  Device& d = *e.device;
  const SparseMatrix a = upload(d, standard_graph(), with_transpose, with_pairs);
  const std::int64_t rows = a.rows, steps = a.steps;
  const Tensor x = constant(d, rows, inputs), w1 = constant(d, inputs, hidden), w2 = constant(d, hidden, hidden);
  const Tensor dw1 = constant(d, inputs, hidden), dw2 = constant(d, hidden, hidden);
  const Tensor h1 = constant(d, rows, hidden), smoothed = constant(d, rows, hidden);
  const Tensor sums = constant(d, rows, hidden), y = constant(d, rows, hidden), dy = constant(d, rows, hidden);
  // Dead tensors lend their memory to gradients, as the device's pool does for a tape.
  const Tensor &dsums = smoothed, &dsmoothed = y, &dh1 = sums;
  e.layer1 = {x, w1, {}, h1, Activation::relu};
  e.smooth = {h1, smoothed, steps, window, false, false};
  e.layer2 = {a, smoothed, w2, sums, y, Activation::relu};
  e.layer2_back = {sums, w2, y, dy, dsums, dw2, {}, Activation::relu, false};
  e.aggregate_back = {a, dsums, dsmoothed, false};
  e.smooth_back = {dsmoothed, dh1, steps, window, true, false};
  e.layer1_back = {x, w1, h1, dh1, {}, dw1, {}, Activation::relu, false};
  return e;
}

void epoch(benchmark::State& state, const std::string& variant, bool with_transpose, bool with_pairs) {
  const Epoch e = make_epoch(variant, with_transpose, with_pairs);
  Work work;
  e.each([&](const auto& op) {
    const Work one = op.work();
    work = {work.flops + one.flops, work.bytes_read + one.bytes_read, work.bytes_written + one.bytes_written};
  });
  const double seconds = repeat(state, *e.device, [&] { e.each([&](const auto& op) { e.device->run(op); }); });
  report(state, work, seconds);
}

void part(benchmark::State& state) {
  const Epoch e = make_epoch("", true, true);
  std::int64_t position = 0;
  e.each([&](const auto& op) {
    if (position++ != state.range(0)) return;
    state.SetLabel(std::string(op.name));
    measure(state, *e.device, op);
  });
}

const bool registered = [] {
  const auto add = [](const std::string& name, const std::string& variant, bool with_transpose, bool with_pairs) {
    const auto run = [=](benchmark::State& state) { epoch(state, variant, with_transpose, with_pairs); };
    timed(benchmark::RegisterBenchmark(("epoch/" + name).c_str(), run), benchmark::kMillisecond);
  };
  add("best", "", true, true);
  add("best_without_pairs", "", true, false);
  add("best_without_transpose", "", false, false);
  add("plain", "plain", true, false);
  timed(benchmark::RegisterBenchmark("epoch/part", part), benchmark::kMillisecond)->DenseRange(0, 6);
  return true;
}();

}  // namespace
}  // namespace strobe::bench
