// Sparse products forward (y = A x) and backward (x = A^T y, by the transpose or by scattering), by width and variant.
// Wide features run on fewer steps of the same graph, so that every case fits a small machine. And one hop of both
// walks of one step, as recurrences that go step by step take it: both products as one operation, or one after the
// other.
#include <map>

#include "backends/operations/operations_pair.hpp"
#include "bench/graph.hpp"
#include "bench/measure.hpp"

namespace strobe::bench {
namespace {

const HostMatrix& graph_for(std::int64_t width) {
  if (width <= 16) return standard_graph();
  static const HostMatrix small = make_graph(GraphSize{8, shrunk(16384), 3, 5});
  return small;
}

enum class Direction { forward, transpose, scatter };

void spmm(benchmark::State& state, const std::string& variant, Direction direction) {
  const std::int64_t width = state.range(0);
  const auto device = make_device(variant);
  const SparseMatrix a = upload(*device, graph_for(width), direction == Direction::transpose,
                                (variant == "paired" || variant == "length_sorted") && direction != Direction::scatter);
  const Tensor from = constant(*device, a.columns, width), to = constant(*device, a.rows, width);
  if (direction == Direction::forward) {
    measure(state, *device, Spmm{a, from, to, false});
  } else {
    measure(state, *device, SpmmTransposed{a, from, to, false});
  }
  state.counters["nonzeros"] = static_cast<double>(a.nonzeros);
}

/// Both directions of a step from inputs of their own, or back to one gradient.
void one_hop(benchmark::State& state, bool pair, bool back) {
  const auto device = make_device("");
  const HostMatrix &graph = standard_graph(), out = one_step(graph, 0, false), in = one_step(graph, 0, true);
  const bool forms = device->narrow_bytes() > 0;
  const SparseMatrix a = upload(*device, out, true, forms), b = upload(*device, in, true, forms);
  const Tensor x = constant(*device, a.rows, state.range(0)), z = constant(*device, a.rows, state.range(0));
  const Tensor y = constant(*device, a.rows, state.range(0)), u = constant(*device, a.rows, state.range(0));
  const SpmmPair forward{{a, x, y}, {b, z, u}};
  const SpmmTransposedPair backward{{a, y, x}, {b, u, x, true}};
  device->time_each_operation(false);
  const auto hop = [&] {
    if (pair && back) device->run(backward);
    if (pair && !back) device->run(forward);
    if (!pair && back) device->run(backward.first), device->run(backward.second);
    if (!pair && !back) device->run(forward.first), device->run(forward.second);
  };
  const double seconds = repeat(state, *device, hop, runs_at_once(*device));
  report(state, back ? backward.work() : forward.work(), seconds);
}

const Registration hops{[] {
  for (const bool pair : {true, false}) {
    for (const bool back : {false, true}) {
      const std::string name = std::string("one_hop/") + (back ? "backward/" : "forward/") + (pair ? "pair" : "apart");
      const auto run = [=](benchmark::State& state) { one_hop(state, pair, back); };
      timed(register_guarded(name.c_str(), run), benchmark::kMillisecond)->ArgName("width")->Arg(6)->Arg(64);
    }
  }
}};

const Registration registered{[] {
  const std::map<std::string, Direction> directions{{"forward", Direction::forward},
                                                    {"backward_transpose", Direction::transpose},
                                                    {"backward_scatter", Direction::scatter}};
  for (const std::string& variant : variants<Spmm, SpmmTransposed>({"plain", "vector"})) {
    for (const auto& [name, direction] : directions) {
      const auto run = [variant, direction = direction](benchmark::State& state) { spmm(state, variant, direction); };
      timed(register_guarded(("spmm/" + name + "/" + variant).c_str(), run), benchmark::kMillisecond)
          ->ArgName("width")
          ->Arg(2)
          ->Arg(6)
          ->Arg(16)
          ->Arg(64)
          ->Arg(128);
    }
  }
  for (const Direction direction : {Direction::forward, Direction::transpose}) {
    const std::string name = direction == Direction::forward ? "forward" : "backward_transpose";
    for (const std::string variant : {"paired", "length_sorted"}) {
      if (device_name() != "cpu") continue;
      const auto run = [direction, variant](benchmark::State& state) { spmm(state, variant, direction); };
      auto* const entry =
          timed(register_guarded(("spmm/" + name + "/" + variant).c_str(), run), benchmark::kMillisecond);
      entry->ArgName("width")->Arg(2)->Arg(6);
      if (variant == "length_sorted") entry->Arg(16)->Arg(32);
    }
  }
}};

}  // namespace
}  // namespace strobe::bench
