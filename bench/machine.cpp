// Measures read bandwidth, copy bandwidth and peak multiply-add rate: the best of several passes, as a limit should be.
#include "bench/machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "backends/cpu/kernels/lanes.hpp"
#include "core/system/machine_limits.hpp"
#include "core/system/parallel.hpp"

namespace strobe::bench {
namespace {

using Wide = cpu::Lanes<float, cpu::most_lanes<float>>;  // one register: a larger vector would be kept in memory
constexpr int passes = 5;

template <class Body>
double best_seconds(const Body& body) {
  double best = 1e30;
  for (int pass = 0; pass < passes; ++pass) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

/// Keeps the compiler from dropping a result.
void keep(const Wide& value) { asm volatile("" : : "m"(value) : "memory"); }

double read_rate(Workers& workers) {
  const std::size_t count = (std::size_t{1} << 30) / sizeof(Wide);
  const std::vector<Wide> memory(count, Wide{} + 1.0f);
  const std::size_t tasks = 64, part = count / tasks;
  const double seconds = best_seconds([&] {
    workers.run(static_cast<std::int64_t>(tasks), [&](std::int64_t task) {
      const Wide* values = memory.data() + static_cast<std::size_t>(task) * part;
      Wide a{}, b{}, c{}, d{};
      for (std::size_t i = 0; i + 4 <= part; i += 4) {
        a += values[i];
        b += values[i + 1];
        c += values[i + 2];
        d += values[i + 3];
      }
      keep(a + b + c + d);
    });
  });
  return static_cast<double>(count * sizeof(Wide)) / seconds;
}

double copy_rate() {
  const std::size_t bytes = std::size_t{64} << 20;
  const std::vector<char> from(bytes, 1);
  std::vector<char> to(bytes, 2);
  return static_cast<double>(bytes) / best_seconds([&] {
           std::memcpy(to.data(), from.data(), bytes);
           asm volatile("" : : "r"(to.data()) : "memory");
         });
}

double multiply_add_rate(Workers& workers) {
  constexpr int chains = 12, rounds = 4000000;
  const double seconds = best_seconds([&] {
    workers.run(workers.threads(), [&](std::int64_t) {
      Wide sum[chains] = {};
      Wide factor = Wide{} + 0.999f, term = Wide{} + 0.5f;
      asm volatile("" : "+m"(factor), "+m"(term));
      for (int i = 0; i < rounds; ++i) {
        for (Wide& s : sum) s = s * factor + term;
      }
      for (const Wide& s : sum) keep(s);
    });
  });
  const double lanes = sizeof(Wide) / sizeof(float);
  return 2.0 * lanes * chains * static_cast<double>(rounds) * workers.threads() / seconds;
}

/// Best seconds of one run of `op` by the device's own clock.
template <class Op>
double best_run(Device& device, const Op& op) {
  double best = 1e30;
  for (int pass = 0; pass < passes; ++pass) {
    const double begin = device.now();
    device.run(op);
    best = std::min(best, device.now() - begin);
  }
  device.spans().clear();
  return best;
}

/// The two ceilings of a device with memory of its own.
void measure_device(Machine& m) {
  DeviceRequest request;
  const std::unique_ptr<Device> device = DeviceRegistry::instance().find(device_name()).value(request);
  const std::int64_t rows = shrunk(std::int64_t{1} << 26), width = 4, side = shrunk(8192);
  CopyRows copy;
  copy.from = device->allocate(rows, width);
  copy.to = device->allocate(rows, width);
  copy.count = rows;
  copy.width = width;
  device->run(Fill{copy.from, 1.0});
  m.read_bytes_per_second = copy.work().bytes() / best_run(*device, copy);
  Dense product;
  product.x = device->allocate(side, side);
  product.w = device->allocate(side, side);
  product.y = device->allocate(side, side);
  for (const Tensor& factor : {product.x, product.w}) device->run(Fill{factor, 0.01});
  m.flops_per_second = product.work().flops / best_run(*device, product);
}

std::int64_t shrink_divisor() {
  static const std::int64_t divisor = [] {
    const char* const wanted = std::getenv("STROBE_BENCH_SHRINK");
    return wanted == nullptr ? std::int64_t{1} : std::max<std::int64_t>(1, std::atoll(wanted));
  }();
  return divisor;
}

}  // namespace

std::int64_t shrunk(std::int64_t vertices) { return std::max<std::int64_t>(1, vertices / shrink_divisor()); }
bool is_shrunk() { return shrink_divisor() > 1; }

std::string device_name() {
  const char* const wanted = std::getenv("STROBE_BENCH_DEVICE");
  return wanted == nullptr || *wanted == '\0' ? "cpu" : wanted;
}

const Machine& machine() {
  static const Machine measured = [] {
    Machine m;
    m.threads = usable_cores();
    Workers workers(m.threads);
    m.copy_bytes_per_second = copy_rate();
    if (device_name() == "cpu") {
      m.read_bytes_per_second = read_rate(workers);
      m.flops_per_second = multiply_add_rate(workers);
    } else {
      measure_device(m);
    }
    return m;
  }();
  return measured;
}

std::unique_ptr<Device> make_device(const std::string& variant, ElementType precision) {
  DeviceRequest request;
  request.precision = precision;
  request.threads = machine().threads;
  request.kernel_variant = variant;
  return DeviceRegistry::instance().find(device_name(), "STROBE_BENCH_DEVICE").value(request);
}

}  // namespace strobe::bench
