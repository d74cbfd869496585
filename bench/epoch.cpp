// One epoch of the two-layer TM-GCN (T = 64, N = 16384, f = 3, w = 5, hidden 6) as the sequence of device operations
// that its tape runs: forward dense 2 -> 6 with relu on the precomputed A~X, M-transform, graph convolution 6 -> 6 with
// relu; backward through all of them with both weight gradients, fused where the tape fuses. The gradient of the output
// is given (the loss is a sum over few vertices). `epoch/part` times each operation on its own.
#include "backends/operations/operations_fused.hpp"
#include "bench/graph.hpp"
#include "bench/measure.hpp"

namespace strobe::bench {
namespace {

constexpr std::int64_t inputs = 2, hidden = 6, window = 5;

/// How an epoch is run.
struct Form {
  std::string variant;  // of the kernels; "" = best
  bool transpose = true, pairs = true, fused = true;
};

/// The tensors of an epoch and its operations in order, fused or one by one.
struct Epoch {
  std::unique_ptr<Device> device;
  bool fused = true;
  Dense layer1;
  MTransform smooth;
  DenseMTransform layer1_smooth;
  GraphConvolution layer2;
  DenseBackward layer2_back;
  SpmmTransposed aggregate_back;
  GraphConvolutionBackward layer2_all_back;
  MTransform smooth_back;
  DenseBackward layer1_back;
  DenseMTransformBackward layer1_smooth_back;

  /// Calls visit(operation) for each in order.
  template <class Visit>
  void each(const Visit& visit) const {
    if (fused) {
      visit(layer1_smooth), visit(layer2), visit(layer2_all_back), visit(layer1_smooth_back);
      return;
    }
    visit(layer1), visit(smooth), visit(layer2);
    visit(layer2_back), visit(aggregate_back), visit(smooth_back), visit(layer1_back);
  }
};

Epoch make_epoch(const Form& form) {
  Epoch e;
  e.device = make_device(form.variant);
  e.fused = form.fused;
  Device& d = *e.device;
  const SparseMatrix a = upload(d, standard_graph(), form.transpose, form.pairs && d.narrow_bytes() > 0);
  const std::int64_t rows = a.rows, steps = a.steps;
  const Tensor x = constant(d, rows, inputs), w1 = constant(d, inputs, hidden), w2 = constant(d, hidden, hidden);
  const Tensor dw1 = constant(d, inputs, hidden), dw2 = constant(d, hidden, hidden);
  const Tensor h1 = constant(d, rows, hidden), smoothed = constant(d, rows, hidden);
  const Tensor sums = constant(d, rows, hidden), y = constant(d, rows, hidden), dy = constant(d, rows, hidden);
  // Dead tensors lend their memory to gradients, as the device's pool does for a tape.
  const Tensor &dsums = smoothed, &dsmoothed = h1, &dh1 = sums;
  e.layer1 = {x, w1, {}, h1, Activation::relu};
  e.smooth = {h1, smoothed, steps, window, false, false};
  e.layer1_smooth = {x, w1, smoothed, steps, window, Activation::relu};
  e.layer2 = {a, smoothed, w2, sums, y, Activation::relu};
  e.layer2_back = {sums, w2, y, dy, dsums, dw2, {}, Activation::relu, false};
  e.aggregate_back = {a, dsums, y, false};
  e.layer2_all_back = {a, sums, w2, y, dy, dsmoothed, dw2, dsums, Activation::relu, false};
  e.smooth_back = {y, dh1, steps, window, true, false};
  e.layer1_back = {x, w1, h1, dh1, {}, dw1, {}, Activation::relu, false};
  e.layer1_smooth_back = {x, w1, dsmoothed, dw1, steps, window, Activation::relu};
  return e;
}

void epoch(benchmark::State& state, const Form& form) {
  const Epoch e = make_epoch(form);
  Work work;
  e.each([&](const auto& op) {
    const Work one = op.work();
    work = {work.flops + one.flops, work.bytes_read + one.bytes_read, work.bytes_written + one.bytes_written};
  });
  const double seconds = repeat(state, *e.device, [&] { e.each([&](const auto& op) { e.device->run(op); }); });
  report(state, work, seconds);
}

void part(benchmark::State& state, bool fused) {
  Form form;
  form.fused = fused;
  const Epoch e = make_epoch(form);
  std::int64_t position = 0;
  e.each([&](const auto& op) {
    if (position++ != state.range(0)) return;
    state.SetLabel(std::string(op.name));
    measure(state, *e.device, op);
  });
}

const Registration registered{[] {
  const auto add = [](const std::string& name, const Form& form) {
    const auto run = [=](benchmark::State& state) { epoch(state, form); };
    timed(register_guarded(("epoch/" + name).c_str(), run), benchmark::kMillisecond);
  };
  add("best", {"", true, true, true});
  add("best_not_fused", {"", true, true, false});
  add("best_without_pairs", {"", true, false, false});
  add("best_without_transpose", {"", false, false, false});
  add("plain", {"plain", true, false, false});
  const auto parts = [](const std::string& name, bool fused, int last) {
    const auto run = [=](benchmark::State& state) { part(state, fused); };
    timed(register_guarded(name.c_str(), run), benchmark::kMillisecond)->DenseRange(0, last);
  };
  parts("epoch/part", true, 3);
  parts("epoch/part_not_fused", false, 6);
}};

}  // namespace
}  // namespace strobe::bench
