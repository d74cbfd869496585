// The row-by-row operations of event models, without their products: time encodings, GRU cells, normalisation, on
// the 18,000 rows of a batch of 600 events with ten sampled neighbours on each of three sides, at widths 16 and 100.
#include "backends/operations/operations_memory.hpp"
#include "bench/measure.hpp"

namespace strobe::bench {
namespace {

constexpr std::int64_t event_rows = 18000;

/// Time differences from seconds to a month.
Tensor time_differences(Device& device, std::int64_t rows) {
  std::vector<float> dt(rows);
  for (std::size_t i = 0; i < dt.size(); ++i) dt[i] = static_cast<float>(i * i * 7919 % 2600000);
  return device.move_in(dt.data(), rows, 1, ElementType::f32);
}

TimeEncoding make(Device& device, std::int64_t rows, std::int64_t width, TimeEncoding) {
  return {time_differences(device, rows), varied(device, 1, width, 0), varied(device, 1, width, 0),
          device.allocate(rows, width)};
}

TimeEncodingBackward make(Device& device, std::int64_t rows, std::int64_t width, TimeEncodingBackward) {
  return {time_differences(device, rows),     varied(device, 1, width, 0),   varied(device, 1, width, 0),
          varied(device, rows, width, -0.5f), constant(device, 1, width, 0), constant(device, 1, width, 0)};
}

GruCell make(Device& device, std::int64_t rows, std::int64_t width, GruCell) {
  return {varied(device, rows, 3 * width, -0.5f), varied(device, rows, 3 * width, -0.4f),
          varied(device, rows, width, -0.5f), device.allocate(rows, width)};
}

GruCellBackward make(Device& device, std::int64_t rows, std::int64_t width, GruCellBackward) {
  return {varied(device, rows, 3 * width, -0.5f), varied(device, rows, 3 * width, -0.4f),
          varied(device, rows, width, -0.5f),     varied(device, rows, width, -0.3f),
          device.allocate(rows, 3 * width),       device.allocate(rows, 3 * width),
          device.allocate(rows, width),           false};
}

Tanh make(Device& device, std::int64_t rows, std::int64_t width, Tanh) {
  return {varied(device, rows, width, -0.5f), device.allocate(rows, width)};
}

TanhBackward make(Device& device, std::int64_t rows, std::int64_t width, TanhBackward) {
  return {varied(device, rows, width, -0.5f), varied(device, rows, width, -0.3f), device.allocate(rows, width), false};
}

TimeProjection make(Device& device, std::int64_t rows, std::int64_t width, TimeProjection) {
  return {varied(device, rows, width, -0.5f), varied(device, rows, 1, 0), varied(device, 1, width, 0),
          varied(device, 1, width, 0), device.allocate(rows, width)};
}

TimeProjectionBackward make(Device& device, std::int64_t rows, std::int64_t width, TimeProjectionBackward) {
  return {varied(device, rows, width, -0.5f), varied(device, rows, 1, 0),         varied(device, 1, width, 0),
          varied(device, 1, width, 0),        varied(device, rows, width, -0.3f), device.allocate(rows, width),
          constant(device, 1, width, 0),      constant(device, 1, width, 0),      false};
}

LayerNorm make(Device& device, std::int64_t rows, std::int64_t width, LayerNorm) {
  return {varied(device, rows, width, -0.5f), varied(device, 1, width, 0.5f), varied(device, 1, width, 0),
          device.allocate(rows, width)};
}

LayerNormBackward make(Device& device, std::int64_t rows, std::int64_t width, LayerNormBackward) {
  return {varied(device, rows, width, -0.5f), varied(device, 1, width, 0.5f), varied(device, rows, width, -0.3f),
          device.allocate(rows, width),       constant(device, 1, width, 0),  constant(device, 1, width, 0)};
}

template <class Op>
void add_benchmarks() {
  for (const std::string& variant : variants<Op>({"vector", "plain"})) {
    for (const std::int64_t width : {16, 100}) {
      const std::string name = "memory/" + std::string(Op::name) + "/units:" + std::to_string(width) + "/" + variant;
      timed(register_guarded(name.c_str(),
                             [=](benchmark::State& state) {
                               const auto device = make_device(variant);
                               measure(state, *device, make(*device, shrunk(event_rows), width, Op{}));
                             }),
            benchmark::kMillisecond);
    }
  }
}

const Registration registered{[] {
  add_benchmarks<TimeEncoding>();
  add_benchmarks<TimeEncodingBackward>();
  add_benchmarks<GruCell>();
  add_benchmarks<GruCellBackward>();
  add_benchmarks<Tanh>();
  add_benchmarks<TanhBackward>();
  add_benchmarks<TimeProjection>();
  add_benchmarks<TimeProjectionBackward>();
  add_benchmarks<LayerNorm>();
  add_benchmarks<LayerNormBackward>();
}};

}  // namespace
}  // namespace strobe::bench
