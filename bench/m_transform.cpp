// M-transform and fading sum of 64 steps x 16384 vertices x 6 features, by window, direction and variant.
#include "backends/operations/operations_fading.hpp"
#include "bench/measure.hpp"

namespace strobe::bench {
namespace {

void m_transform(benchmark::State& state, const std::string& variant, bool backward) {
  const auto device = make_device(variant);
  const std::int64_t steps = 64, rows = steps * shrunk(16384);
  const Tensor x = constant(*device, rows, 6), y = constant(*device, rows, 6);
  measure(state, *device, MTransform{x, y, steps, state.range(0), backward, false});
}

void fading_sum(benchmark::State& state, const std::string& variant, bool backward) {
  const auto device = make_device(variant);
  const std::int64_t steps = 64, rows = steps * shrunk(16384);
  const Tensor x = constant(*device, rows, 6), y = constant(*device, rows, 6);
  measure(state, *device, FadingSum{x, y, steps, state.range(0), backward, false});
}

const Registration registered{[] {
  for (const std::string& variant : variants<FadingSum>({"plain", "vector"})) {
    for (const bool backward : {false, true}) {
      const std::string name = std::string("fading/") + (backward ? "backward/" : "forward/") + variant;
      const auto run = [=](benchmark::State& state) { fading_sum(state, variant, backward); };
      timed(register_guarded(name.c_str(), run), benchmark::kMillisecond)->ArgName("window")->Arg(5)->Arg(20)->Arg(60);
    }
  }
  for (const std::string& variant : variants<MTransform>({"plain", "vector"})) {
    for (const bool backward : {false, true}) {
      const std::string name = std::string("m_transform/") + (backward ? "backward/" : "forward/") + variant;
      const auto run = [=](benchmark::State& state) { m_transform(state, variant, backward); };
      timed(register_guarded(name.c_str(), run), benchmark::kMillisecond)->ArgName("window")->Arg(5)->Arg(20);
    }
  }
}};

}  // namespace
}  // namespace strobe::bench
