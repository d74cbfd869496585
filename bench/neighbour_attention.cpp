// Attention of 1,800 roots over ten sampled neighbours each out of 5,000 vertices, forward and backward, with two
// heads: narrow (F = 16) and wide (F = 100), codes as wide; what flows back into the vertices from their slots; and the
// scores of 600 events of two candidates.
#include "backends/operations/operations_events.hpp"
#include "bench/measure.hpp"
#include "core/random.hpp"

namespace strobe::bench {
namespace {

constexpr std::int64_t slots_each = 10;

std::int64_t roots() { return shrunk(1800); }
std::int64_t vertices() { return shrunk(5000); }

/// The inputs of a forward and a backward pass.
template <class Op>
Op attention_over_slots(Device& d, std::int64_t width, AttentionScale scale) {
  const RandomStream random(7, random_purpose::test);
  const std::int64_t slots = roots() * slots_each;
  std::vector<std::int64_t> rows, offsets;
  for (std::int64_t s = 0; s < slots; ++s) {
    rows.push_back(
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(s), static_cast<std::uint64_t>(vertices()))));
  }
  for (std::int64_t r = 0; r <= roots(); ++r) offsets.push_back(r * slots_each);
  Op op;
  op.q = varied(d, roots(), width, -0.5f);
  op.vertex = varied(d, vertices(), 2 * width, -0.4f);
  op.code = varied(d, slots, width, -0.6f);
  op.code_query = varied(d, roots(), 2 * width, -0.7f);
  op.rows = d.move_in(rows.data(), slots, 1, ElementType::i64);
  op.offsets = d.move_in(offsets.data(), roots() + 1, 1, ElementType::i64);
  op.coefficients = constant(d, slots, 2, 0.1);
  op.heads = 2;
  op.scale = scale;
  return op;
}

void forward(benchmark::State& state, const std::string& variant, std::int64_t width, AttentionScale scale) {
  const auto device = make_device(variant);
  auto op = attention_over_slots<NeighbourAttention>(*device, width, scale);
  op.y = constant(*device, roots(), width);
  op.mixed = constant(*device, roots(), 2 * width);
  measure(state, *device, op);
}

void backward(benchmark::State& state, const std::string& variant, std::int64_t width, AttentionScale scale) {
  const auto device = make_device(variant);
  auto op = attention_over_slots<NeighbourAttentionBackward>(*device, width, scale);
  op.dy = varied(*device, roots(), width, -0.3f);
  op.dmixed = varied(*device, roots(), 2 * width, -0.2f);
  op.dq = constant(*device, roots(), width);
  op.dseen = constant(*device, roots() * slots_each, 2 * width);
  op.dcode = constant(*device, roots() * slots_each, width);
  op.dcode_query = constant(*device, roots(), 2 * width);
  measure(state, *device, op);
}

/// dseen added to the vertices that the slots look at.
void into_vertices(benchmark::State& state, const std::string& variant, std::int64_t width) {
  const auto device = make_device(variant);
  const auto op = attention_over_slots<NeighbourAttention>(*device, width, AttentionScale::head);
  const Tensor sums = constant(*device, vertices(), 2 * width);
  const Tensor dseen = varied(*device, op.rows.rows(), 2 * width, -0.6f);
  measure(state, *device, CopyRows{dseen, sums, {}, op.rows, dseen.rows(), 0, 0, 2 * width, true});
}

void scores(benchmark::State& state, const std::string& variant, std::int64_t width, bool back) {
  const auto device = make_device(variant);
  Device& d = *device;
  const std::int64_t events = shrunk(600), candidates = 2;
  const Tensor a = varied(d, events, width, -0.5f), b = varied(d, events * candidates, width, -0.4f),
               w = varied(d, width, 1, -0.6f), y = constant(d, events, candidates);
  if (!back) {
    measure(state, d, PairScores{a, b, w, constant(d, 1, 1), y});
    return;
  }
  measure(state, d,
          PairScoresBackward{a, b, w, y, constant(d, events, width), constant(d, events * candidates, width),
                             constant(d, width, 1), constant(d, 1, 1)});
}

const Registration registered{[] {
  const auto add = [](const std::string& name, auto run) {
    timed(register_guarded(("neighbour_attention/" + name).c_str(), run), benchmark::kMicrosecond);
  };
  const std::vector<std::pair<std::string, AttentionScale>> scales = {{"", AttentionScale::head},
                                                                      {"_leaky", AttentionScale::leaky}};
  for (const bool wide : {false, true}) {
    const std::int64_t width = wide ? 100 : 16;
    const std::string shape = wide ? "/wide/" : "/narrow/";
    for (const std::string& variant : variants<NeighbourAttention, NeighbourAttentionBackward>({"plain", "vector"})) {
      for (const auto& [scaled, scale] : scales) {
        add("forward" + scaled + shape + variant,
            [=, scale = scale](benchmark::State& state) { forward(state, variant, width, scale); });
        add("backward" + scaled + shape + variant,
            [=, scale = scale](benchmark::State& state) { backward(state, variant, width, scale); });
      }
    }
    for (const std::string& variant : variants<CopyRows>({"plain", "parallel"}))
      add("into_vertices" + shape + variant, [=](benchmark::State& state) { into_vertices(state, variant, width); });
    for (const std::string& variant : variants<PairScores, PairScoresBackward>({"plain", "vector"})) {
      add("scores" + shape + variant, [=](benchmark::State& state) { scores(state, variant, width, false); });
      add("scores_backward" + shape + variant, [=](benchmark::State& state) { scores(state, variant, width, true); });
    }
  }
}};

}  // namespace
}  // namespace strobe::bench
