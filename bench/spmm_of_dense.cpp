// Sparse products of a dense layer's output that is computed again for every entry, two features in, by width and
// variant, compared with the two operations that store it (`stored`: dense and the product; backward the transposed
// product and the dense gradient): forward and backward, on ESDG's shape.
#include "backends/operations/operations_fused.hpp"
#include "bench/graph.hpp"
#include "bench/measure.hpp"

namespace strobe::bench {
namespace {

constexpr std::int64_t features = 2;

/// The tensors of y = A relu(x w + bias) and their gradients.
struct Layer {
  std::unique_ptr<Device> device;
  SparseMatrix a;
  Tensor x, w, bias, h, y, dy, dw, dbias;

  Layer(const std::string& variant, std::int64_t width)
      : device(make_device(variant == "stored" ? "" : variant)),
        a(upload(*device, standard_graph(), variant == "stored",
                 device->narrow_bytes() > 0 && variant != "plain" && variant != "vector")),
        x(constant(*device, a.columns, features)),
        w(constant(*device, features, width)),
        bias(constant(*device, 1, width)),
        h(constant(*device, a.columns, width)),
        y(constant(*device, a.rows, width)),
        dy(constant(*device, a.rows, width)),
        dw(constant(*device, features, width)),
        dbias(constant(*device, 1, width)) {}

  SpmmOfDense forward() const { return {a, x, w, bias, {}, y, Activation::relu}; }
  SpmmOfDenseBackward backward() const { return {a, x, w, bias, {}, dy, dw, dbias, Activation::relu, true}; }

  void stored_forward() const {
    device->run(Dense{x, w, bias, h, Activation::relu});
    device->run(Spmm{a, h, y});
  }
  void stored_backward() const {
    device->run(SpmmTransposed{a, dy, y});
    DenseBackward op;
    op.x = x, op.w = w, op.y = h, op.dy = y, op.dw = dw, op.dbias = dbias;
    op.activation = Activation::relu;
    device->run(op);
  }
};

void of_dense(benchmark::State& state, const std::string& variant, bool backward) {
  const Layer layer(variant, state.range(0));
  if (variant != "stored") {
    backward ? measure(state, *layer.device, layer.backward()) : measure(state, *layer.device, layer.forward());
    return;
  }
  const double seconds =
      repeat(state, *layer.device, [&] { backward ? layer.stored_backward() : layer.stored_forward(); });
  report(state, backward ? layer.backward().work() : layer.forward().work(), seconds);
}

const Registration registered{[] {
  std::vector<std::string> forms = variants<SpmmOfDense>({"plain", "vector", "length_sorted", "paired"});
  forms.push_back("stored");
  for (const std::string& variant : forms) {
    for (const bool backward : {false, true}) {
      const auto run = [=](benchmark::State& state) { of_dense(state, variant, backward); };
      const std::string name = std::string("spmm_of_dense/") + (backward ? "backward/" : "forward/") + variant;
      timed(register_guarded(name.c_str(), run), benchmark::kMillisecond)->ArgName("width")->Arg(6)->Arg(18);
    }
  }
}};

}  // namespace
}  // namespace strobe::bench
