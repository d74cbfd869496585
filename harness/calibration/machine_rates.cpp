// Uses the device's own operations, so that devices cpu and cuda are measured in the same way. A dense layer of 2048 x
// 1024 x 1024 gives the arithmetic rate, a copy of 256 MiB the memory rate, and one of 64 MiB the transfer rate. The
// best call counts, because these are peak rates.
#include "harness/calibration/machine_rates.hpp"

#include <algorithm>
#include <limits>

#include "harness/run/launch_request.hpp"

namespace strobe {
namespace {

constexpr int least_calls = 5;
constexpr double least_seconds = 0.5;  // an idle processor needs some tenths of a second to reach its clock rate

/// Shortest time of `op` over several calls, seconds.
template <class Op>
double best_seconds(Device& device, const Op& op) {
  double best = std::numeric_limits<double>::infinity(), all = 0;
  for (int i = 0; i < least_calls || all < least_seconds; ++i) {
    device.run(op);
    device.synchronize();
    const Span& span = device.spans().spans().back();
    const double seconds = span.end_seconds - span.begin_seconds;
    best = std::min(best, seconds);
    all += seconds > 0 ? seconds : least_seconds;  // also ends if the clock does not advance
  }
  return best;
}

double flops_per_second(Device& device, ElementType type) {
  constexpr std::int64_t rows = 2048, inner = 1024, width = 1024;
  const Tensor x = device.allocate(rows, inner, type), w = device.allocate(inner, width, type);
  Dense op;
  op.x = x;
  op.w = w;
  op.y = device.allocate(rows, width, type);
  device.run(Fill{x, 0.5});
  device.run(Fill{w, 0.25});
  return op.work().flops / best_seconds(device, op);
}

double bytes_per_second(Device& device) {
  constexpr std::int64_t rows = std::int64_t{1} << 20, width = 32;  // 128 MiB read, 128 MiB written
  const Tensor from = device.allocate(rows, width, ElementType::f32),
               to = device.allocate(rows, width, ElementType::f32);
  device.run(Fill{from, 1.0});
  const CopyRows op{from, to, {}, {}, rows, 0, 0, width, false};
  return 2.0 * static_cast<double>(from.bytes()) / best_seconds(device, op);
}

/// Shortest time to move `bytes` to the device from pinned memory, as an epoch moves its inputs again. The first copy
/// of an input also passes through that memory on the host. On an H100's host, that first copy has a seventh of the
/// rate.
double transfer_seconds(Device& device, std::uint64_t bytes) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 4 * least_calls; ++i) {
    device.move_in_again(bytes);
    device.synchronize();
    const Span& span = device.spans().spans().back();
    best = std::min(best, span.end_seconds - span.begin_seconds);
  }
  return best;
}

void measure_transfers(Device& device, MachineRates& rates) {
  constexpr std::uint64_t bytes = std::uint64_t{64} << 20;
  rates.memory_bytes = device.memory_bytes();
  rates.host_to_device_latency_seconds = transfer_seconds(device, 8);
  rates.host_to_device_bytes_per_second = static_cast<double>(bytes) / transfer_seconds(device, bytes);
}

}  // namespace

MachineRates machine_rates(const Case& any, std::int64_t ranks) {
  Case plain = any;
  plain.ranks = ranks;
  plain.threads = 0;
  plain.kernels.clear();
  plain.memory_limit_gib = 0;
  const auto& comm = CommunicatorRegistry::instance().find(plain.comm, "/comm").value;
  MachineRates rates;
  comm.launch(launch_request(plain), [&](Device& device, Communicator& c) {
    if (c.rank() != 0) return;
    rates = {flops_per_second(device, ElementType::f32),
             flops_per_second(device, ElementType::f64),
             bytes_per_second(device),
             device.has_own_memory(),
             device.wants_transpose(),
             device.narrow_bytes()};
    if (rates.own_memory) measure_transfers(device, rates);
  });
  return rates;
}

}  // namespace strobe
