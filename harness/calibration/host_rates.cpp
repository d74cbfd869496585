// Measures the host through a rank of device cpu. Its host stream runs the work as for every program, with one worker
// or one per core. Peak rates are the best of several calls, operation times the median. Every call of a gather draws
// new rows before the timing, so that the caches do not hold them yet. Invariant: samples are of one worker, and no
// time includes preparation. Cost: fixed sizes.
#include "harness/calibration/host_rates.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "backends/device.hpp"
#include "backends/host/gather_rows.hpp"
#include "core/errors.hpp"
#include "core/random.hpp"
#include "core/system/machine_limits.hpp"
#include "core/system/parallel.hpp"
#include "harness/calibration/disk_rate.hpp"
#include "harness/request/case.hpp"
#include "results/row/statistics.hpp"

namespace strobe {
namespace {

constexpr std::int64_t kib = 1024, mib = 1024 * kib;
constexpr std::int64_t table_bytes[] = {64 * kib, mib, 16 * mib, 256 * mib};
constexpr std::int64_t row_widths[] = {16, 256, 4 * kib};  // bytes of a row
constexpr std::int64_t gathered_bytes[] = {16 * kib, 256 * kib, 2 * mib, 16 * mib};
constexpr std::int64_t copied_bytes[] = {16 * kib, 64 * kib, 256 * kib, mib, 4 * mib, 16 * mib, 64 * mib};
constexpr std::int64_t far_bytes = 256 * mib, disk_file_bytes = 128 * mib;
constexpr int sample_calls = 5;
constexpr double least_ceiling_seconds =
    0.5;  // an idle processor needs some tenths of a second to reach its clock rate

using Bytes = std::vector<std::byte>;

/// A rank of device cpu whose host has this number of workers.
class MeasuredHost {
 public:
  explicit MeasuredHost(int workers) {
    DeviceRequest request;
    request.host_threads = workers;
    device_ = DeviceRegistry::instance().find(host_device, "/device").value(request);
  }

  /// Runs the work and returns the duration of its span.
  double seconds(HostWork work) {
    device_->await(device_->run_on_host(std::move(work)));
    device_->synchronize();
    const std::vector<Span>& spans = device_->spans().spans();
    const auto span =
        std::find_if(spans.rbegin(), spans.rend(), [](const Span& s) { return s.stream == Stream::host; });
    if (span == spans.rend()) throw Error("work of the host left no span");
    const double taken = span->end_seconds - span->begin_seconds;
    device_->spans().clear();
    return taken;
  }

  /// The shortest of several calls.
  double best_seconds(const HostWork& work) {
    double best = std::numeric_limits<double>::infinity(), all = 0;
    for (int i = 0; i < sample_calls || all < least_ceiling_seconds; ++i) {
      const double taken = seconds(work);
      best = std::min(best, taken);
      all += taken > 0 ? taken : least_ceiling_seconds;  // also ends if the clock does not advance
    }
    return best;
  }

 private:
  std::unique_ptr<Device> device_;
};

OperationTiming host_sample(const HostWork& work, const std::vector<double>& seconds) {
  OperationTiming sample;
  sample.operation = std::string(work.name);
  sample.configuration = "host";
  sample.work = work.work;
  sample.seconds = median(seconds);
  sample.calls = static_cast<int>(seconds.size());
  return sample;
}

OperationTiming gather_sample(MeasuredHost& host, const Bytes& table, std::int64_t of_table, std::int64_t width,
                              std::int64_t bytes, Bytes& to) {
  const std::int64_t count = bytes / width, rows = of_table / width;
  std::vector<std::int64_t> named(count);
  const HostGather op{table.data(), rows, width, named.data(), count, to.data()};
  const HostWork work = host_work(op);
  std::vector<double> seconds;
  for (std::uint32_t call = 0; call <= sample_calls; ++call) {
    const RandomStream random(static_cast<std::uint64_t>(bytes + width), random_purpose::test, call);
    for (std::int64_t i = 0; i < count; ++i)
      named[i] =
          static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(rows)));
    const double taken = host.seconds(work);
    if (call > 0) seconds.push_back(taken);  // the first one warms up
  }
  return host_sample(work, seconds);
}

void measure_gathers(MeasuredHost& host, Bytes& to, std::vector<OperationTiming>& samples) {
  const Bytes table(static_cast<std::size_t>(table_bytes[std::size(table_bytes) - 1]), std::byte{1});
  for (const std::int64_t of_table : table_bytes) {
    for (const std::int64_t width : row_widths) {
      for (const std::int64_t bytes : gathered_bytes)
        samples.push_back(gather_sample(host, table, of_table, width, bytes, to));
    }
  }
}

void measure_copies(MeasuredHost& host, const Bytes& from, Bytes& to, std::vector<OperationTiming>& samples) {
  for (const std::int64_t bytes : copied_bytes) {
    const HostWork work = host_work(HostCopy{from.data(), to.data(), bytes});
    std::vector<double> seconds;
    for (int call = 0; call <= sample_calls; ++call) {
      const double taken = host.seconds(work);
      if (call > 0) seconds.push_back(taken);
    }
    samples.push_back(host_sample(work, seconds));
  }
}

/// Dependent loads: each names the next, on a random cycle through all lines of the memory.
double access_seconds(MeasuredHost& host) {
  constexpr std::size_t line = 64 / sizeof(std::uint64_t), lines = static_cast<std::size_t>(far_bytes) / 64;
  constexpr std::int64_t steps = 1 << 20;
  std::vector<std::uint32_t> order(lines);
  std::iota(order.begin(), order.end(), 0u);
  const RandomStream random(1, random_purpose::test);
  for (std::size_t i = lines - 1; i > 0; --i) std::swap(order[i], order[random.below(i, i)]);
  std::vector<std::uint64_t> memory(lines * line);
  for (std::size_t i = 0; i < lines; ++i) memory[order[i] * line] = order[(i + 1) % lines] * line;
  std::uint64_t at = 0;
  HostWork chase;
  chase.name = "chase_through_memory";
  chase.work = {0, 8.0 * steps, 0};
  chase.body = [&memory, &at](Workers&) {
    for (std::int64_t i = 0; i < steps; ++i) at = memory[at];
  };
  return host.best_seconds(chase) / steps;
}

/// Eight independent chains of arithmetic.
double operations_per_second(MeasuredHost& host) {
  constexpr std::int64_t rounds = 1 << 24;
  constexpr int chains = 8;
  std::uint64_t result = 0;
  HostWork arithmetic;
  arithmetic.name = "multiply_and_add";
  arithmetic.work = {2.0 * chains * rounds, 0, 0};
  arithmetic.body = [&result](Workers&) {
    std::uint64_t x[chains] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (std::int64_t i = 0; i < rounds; ++i) {
      for (std::uint64_t& value : x) value = value * 6364136223846793005u + 1442695040888963407u;
    }
    for (const std::uint64_t value : x) result ^= value;
  };
  return arithmetic.work.flops / host.best_seconds(arithmetic);
}

double copy_rate(MeasuredHost& host, const Bytes& from, Bytes& to) {
  const HostCopy op{from.data(), to.data(), static_cast<std::int64_t>(std::min(from.size(), to.size()))};
  return op.work().bytes() / host.best_seconds(host_work(op));
}

}  // namespace

HostMeasurement measure_host(const std::string& folder) {
  HostMeasurement measured;
  HostRates& rates = measured.rates;
  rates.cores = usable_cores();
  MeasuredHost one(1), all(rates.cores);
  rates.core_operations_per_second = operations_per_second(one);
  rates.random_access_seconds = access_seconds(one);
  // This uses a separate host stream, because a host stream runs nothing after work that failed.
  const DiskRate disk =
      disk_rate(folder, disk_file_bytes, [](HostWork work) { return MeasuredHost(1).seconds(std::move(work)); });
  rates.disk_bytes_per_second = disk.bytes_per_second;
  rates.no_disk = disk.absent;
  rates.load = measure_load_rates(folder, [](HostWork work) { return MeasuredHost(1).seconds(std::move(work)); });
  const Bytes from(128 * mib, std::byte{1});
  Bytes to(128 * mib, std::byte{0});
  rates.core_bytes_per_second = copy_rate(one, from, to);
  rates.memory_bytes_per_second = std::max(copy_rate(all, from, to), rates.core_bytes_per_second);
  measure_copies(one, from, to, measured.operations);
  measure_gathers(one, to, measured.operations);
  return measured;
}

}  // namespace strobe
