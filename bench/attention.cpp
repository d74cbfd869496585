// Attention over neighbours and over the past, forward and backward: narrow (T = 64, N = 16384, f = 3, w = 5, 2 heads
// of 3) and wide (T = 32, N = 4096, f = 8, w = 5, 8 heads of 8). Over the past of packed sequences too: as many rows,
// in which sequences of 1 to 15 steps lie end to end.
#include "backends/operations/operations_attention.hpp"
#include "bench/graph.hpp"
#include "bench/measure.hpp"
#include "tests/conformance/operations/packed_bins.hpp"

namespace strobe::bench {
namespace {

struct Shape {
  std::int64_t steps, vertices, heads, depth;
  std::int64_t width() const { return heads * depth; }
  std::int64_t rows() const { return steps * vertices; }
};

Shape shape_of(bool wide) { return wide ? Shape{32, shrunk(4096), 8, 8} : Shape{64, shrunk(16384), 2, 3}; }

GraphAttention attention(Device& d, bool wide) {
  const Shape s = shape_of(wide);
  GraphAttention op;
  op.a = upload(d, wide ? wide_graph() : standard_graph(), true, false);
  op.f = constant(d, s.rows(), s.width());
  op.left = constant(d, 1, s.width(), 0.3);
  op.right = constant(d, 1, s.width(), -0.2);
  op.y = constant(d, s.rows(), s.width());
  op.z = constant(d, s.rows(), s.width());
  op.slopes = constant(d, s.rows(), s.width());
  op.row_stats = constant(d, s.rows(), 2 * s.heads);
  op.workspace = constant(d, graph_attention_workspace(s.rows(), s.rows(), s.heads, s.width(), false), 1);
  op.heads = s.heads;
  return op;
}

void neighbours(benchmark::State& state, const std::string& variant, bool wide, bool back) {
  const Shape s = shape_of(wide);
  const auto device = make_device(variant);
  Device& d = *device;
  const GraphAttention op = attention(d, wide);
  if (!back) {
    measure(state, d, op);
    return;
  }
  d.run(op);
  GraphAttentionBackward gradient;
  gradient.a = op.a, gradient.f = op.f, gradient.left = op.left, gradient.right = op.right;
  gradient.z = op.z, gradient.slopes = op.slopes, gradient.row_stats = op.row_stats, gradient.heads = op.heads;
  gradient.dy = constant(d, s.rows(), s.width());
  gradient.df = constant(d, s.rows(), s.width());
  gradient.dleft = constant(d, 1, s.width()), gradient.dright = constant(d, 1, s.width());
  gradient.workspace = constant(d, graph_attention_workspace(s.rows(), s.rows(), s.heads, s.width(), true), 1);
  measure(state, d, gradient);
}

void past(benchmark::State& state, const std::string& variant, bool wide, bool back) {
  const Shape s = shape_of(wide);
  const auto device = make_device(variant);
  Device& d = *device;
  const Tensor projected = constant(d, s.rows(), 3 * s.width()), offsets = constant(d, s.steps, 3 * s.width());
  const Tensor o = constant(d, s.rows(), s.width());
  if (!back) {
    measure(state, d, TemporalAttention{projected, offsets, o, 0, s.steps, s.heads, 0.5});
    return;
  }
  measure(state, d,
          TemporalAttentionBackward{projected, offsets, o, constant(d, s.rows(), 3 * s.width()),
                                    constant(d, s.steps, 3 * s.width()), 0, s.steps, s.heads, 0.5});
}

template <class Op>
void set_packed(Device& d, const Shape& s, Op& op) {
  const conformance::PackedBins packed = conformance::random_packing(s.steps, s.vertices, 15, 3, 0);
  const std::vector<std::int32_t> rows = packed.sequences();
  op.projected = varied(d, s.rows(), 3 * s.width(), -0.5f);
  op.steps = s.steps, op.heads = s.heads, op.scale = 0.5;
  op.sequences = d.move_in(rows.data(), s.rows(), 3, ElementType::i32);
  op.packed_pairs = packed.pairs();
}

void packed_past(benchmark::State& state, const std::string& variant, bool wide, bool back) {
  const Shape s = shape_of(wide);
  const auto device = make_device(variant);
  Device& d = *device;
  if (!back) {
    TemporalAttention op;
    set_packed(d, s, op);
    op.o = d.allocate(s.rows(), s.width());
    measure(state, d, op);
    return;
  }
  TemporalAttentionBackward op;
  set_packed(d, s, op);
  op.d_o = varied(d, s.rows(), s.width(), -0.5f);
  op.dprojected = d.allocate(s.rows(), 3 * s.width());
  measure(state, d, op);
}

const Registration registered{[] {
  const auto add = [](const std::string& name, auto run) {
    timed(register_guarded(("attention/" + name).c_str(), run), benchmark::kMillisecond);
  };
  for (const std::string& variant : variants<GraphAttention, TemporalAttention>({"plain", "vector"})) {
    for (const bool wide : {false, true}) {
      const std::string tail = std::string(wide ? "/wide/" : "/narrow/") + variant;
      for (const bool back : {false, true}) {
        const std::string direction = back ? "_backward" : "";
        add("neighbours" + direction + tail, [=](benchmark::State& state) { neighbours(state, variant, wide, back); });
        add("past" + direction + tail, [=](benchmark::State& state) { past(state, variant, wide, back); });
        add("past_packed" + direction + tail,
            [=](benchmark::State& state) { packed_past(state, variant, wide, back); });
      }
    }
  }
}};

}  // namespace
}  // namespace strobe::bench
