// Cases of the host stream and of transfers ahead. Plain loops compute the expected values. Sizes and values differ
// from step to step, so that a mixed-up step shows.
#include "tests/conformance/collectives/host_work.hpp"

#include <fmt/format.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "backends/host/host_work.hpp"
#include "core/system/parallel.hpp"

namespace strobe::conformance {
namespace {

void require_that(bool holds, const std::string& message) {
  if (!holds) throw ConformanceFailure(message);
}

HostWork named(std::string_view name, std::function<void(Workers&)> body, std::vector<DeviceEvent> after = {}) {
  HostWork work;
  work.name = name;
  work.work = {10, 1 << 20, 1 << 10};
  work.body = std::move(body);
  work.after = std::move(after);
  return work;
}

void work_runs_in_the_order_given(Device& device) {
  std::vector<int> order;
  DeviceEvent last;
  for (int i = 0; i < 50; ++i) last = device.run_on_host(named("step", [&order, i](Workers&) { order.push_back(i); }));
  device.await(last);
  std::vector<int> wanted(50);
  std::iota(wanted.begin(), wanted.end(), 0);
  require_that(order == wanted, "work was carried out in another order than it was given");
  require_that(device.reached(last), "an event that was waited for has not come");
}

void workers_share_the_work(Device& device) {
  std::vector<double> squares(1000);
  std::atomic<int> calls{0};
  device.await(device.run_on_host(named("squares", [&](Workers& workers) {
    workers.run(1000, [&](std::int64_t i) {
      squares[i] = static_cast<double>(i * i);
      ++calls;
    });
  })));
  for (std::size_t i = 0; i < squares.size(); ++i) {
    require_that(squares[i] == static_cast<double>(i * i), fmt::format("element {} was not computed", i));
  }
  require_that(calls == 1000, "elements were computed more than once");
}

void work_leaves_spans(Device& device) {
  device.synchronize();
  device.spans().clear();
  device.run_on_host(named("first", nullptr));
  device.run_on_host(named("second", [](Workers&) {}));
  device.synchronize();
  std::vector<Span> found;
  for (const Span& span : device.spans().spans()) {
    if (span.stream == Stream::host && !span.blocking) found.push_back(span);
  }
  require_that(found.size() == 2 && found[0].name == "first" && found[1].name == "second", "spans are missing");
  for (const Span& span : found) {
    require_that(span.phase == Phase::host && span.work.flops == 10 && span.work.bytes_read == 1 << 20,
                 "a span has another phase or work");
    require_that(span.end_seconds >= span.begin_seconds && span.end_seconds > 0, "a span has no times");
  }
  require_that(found[1].begin_seconds >= found[0].end_seconds, "work of one host stream overlaps");
}

void channels_run_concurrently(Device& device) {
  constexpr int channels = 3, pieces = 20;
  std::vector<std::vector<int>> order(channels);
  std::vector<DeviceEvent> last;
  for (int i = 0; i < pieces; ++i) {
    for (int channel = 0; channel < channels; ++channel) {
      HostWork work = named("step", [&mine = order[channel], i](Workers&) { mine.push_back(i); });
      work.channel = channel, work.channels = channels;
      // Each third piece waits for what the channel before was given just now, in a ring that never closes.
      if (channel > 0 && i % 3 == 0) work.after = {last.back()};
      last.push_back(device.run_on_host(std::move(work)));
    }
  }
  for (const DeviceEvent& event : last) device.await(event);
  std::vector<int> wanted(pieces);
  std::iota(wanted.begin(), wanted.end(), 0);
  for (const std::vector<int>& of_channel : order)
    require_that(of_channel == wanted, "work of a channel was carried out in another order than it was given");
}

void a_channel_that_fails_leaves_the_others(Device& device) {
  HostWork fails = named("fails", [](Workers&) { throw InvalidRequest("/host", "no such row"); });
  fails.channel = 1, fails.channels = 2;
  const DeviceEvent failed = device.run_on_host(std::move(fails));
  bool done = false;
  device.await(device.run_on_host(named("goes on", [&done](Workers&) { done = true; })));
  require_that(done, "work of one channel was held up by the failure of another");
  try {
    device.await(failed);
  } catch (const InvalidRequest&) {
    return;
  }
  throw ConformanceFailure("work of a channel failed and was waited for without a word");
}

constexpr int batches = 7, depth = 2;
constexpr std::int64_t batch_elements = 165;

/// The memory of one batch; two batches are under way together.
struct BatchSlot {
  HostMemory in, out;
  Tensor values, sums;
  DeviceEvent filled, used, read;
};

/// The host fills, and the device takes over.
void begin_batch(Device& device, BatchSlot& slot, int batch) {
  const DeviceEvent made = device.run_on_host(named("fill",
                                                    [memory = slot.in, batch](Workers&) {
                                                      for (std::int64_t i = 0; i < batch_elements; ++i)
                                                        memory.data<double>()[i] = static_cast<double>(i % 11 + batch);
                                                    },
                                                    {slot.filled}));
  slot.filled = device.start_stream_in(slot.in, slot.values, {made, slot.used});
}

/// The device doubles and adds one, and the host adds up.
void end_batch(Device& device, BatchSlot& slot, double& total) {
  device.wait(Stream::compute, slot.filled);
  device.run(Fill{slot.sums, 1});
  device.run(AddScaled{slot.values, slot.sums, 2});
  slot.used = device.record(Stream::compute);
  const DeviceEvent copied = device.start_move_out(slot.sums, slot.out, {slot.read});
  device.wait(Stream::compute, copied);
  slot.read = device.run_on_host(named("total",
                                       [&total, memory = slot.out](Workers&) {
                                         total = std::accumulate(memory.data<double>(),
                                                                 memory.data<double>() + batch_elements, 0.0);
                                       },
                                       {copied}));
}

/// Three stages for each batch; two batches are under way together.
void pipelines_give_the_right_values(Device& device) {
  BatchSlot slots[depth];
  for (BatchSlot& slot : slots) {
    slot.values = device.allocate(batch_elements, 1, ElementType::f64);
    slot.sums = device.allocate(batch_elements, 1, ElementType::f64);
    slot.in = device.allocate_host(slot.values.bytes());
    slot.out = device.allocate_host(slot.values.bytes());
    slot.used = device.record(Stream::compute);
  }
  std::vector<double> totals(batches);
  for (int batch = 0; batch < batches + depth; ++batch) {
    BatchSlot& slot = slots[batch % depth];
    if (batch >= depth) end_batch(device, slot, totals[batch - depth]);
    if (batch < batches) begin_batch(device, slot, batch);
  }
  device.synchronize();
  for (int batch = 0; batch < batches; ++batch) {
    double wanted = 0;
    for (std::int64_t i = 0; i < batch_elements; ++i) wanted += 1 + 2 * static_cast<double>(i % 11 + batch);
    require_that(totals[batch] == wanted,
                 fmt::format("the sum of batch {} is {}, not {}", batch, totals[batch], wanted));
  }
}

void transfers_leave_spans_with_their_bytes(Device& device) {
  const Tensor tensor = device.allocate(100, 4, ElementType::f32);
  const HostMemory memory = device.allocate_host(tensor.bytes());
  std::fill_n(memory.data<float>(), 400, 3.0f);
  device.synchronize();
  device.spans().clear();
  const DeviceEvent in = device.start_stream_in(memory, tensor, {device.record(Stream::compute)});
  device.wait(Stream::compute, in);
  const DeviceEvent out = device.start_move_out(tensor, memory);
  device.await(out);
  device.synchronize();
  std::uint64_t to_device = 0, to_host = 0;
  for (const Span& span : device.spans().spans()) {
    require_that(span.end_seconds >= span.begin_seconds, "a span ends before it begins");
    if (span.phase != Phase::transfer) continue;
    (span.stream == Stream::copy ? to_device : to_host) += span.transfer_bytes;
  }
  require_that(to_device == 1600 && to_host == 1600,
               fmt::format("{} bytes to the device and {} back, not 1600", to_device, to_host));
  require_that(memory.data<float>()[399] == 3.0f, "the values did not come back");
}

void host_waits_join_the_next_work(Device& device) {
  std::atomic<bool> first{false};
  bool seen = false;
  const DeviceEvent before = device.run_on_host(named("before", [&first](Workers&) { first = true; }));
  device.wait(Stream::host, before);
  device.await(device.run_on_host(named("behind", [&](Workers&) { seen = first; })));
  require_that(seen, "work began before what the host stream waits for");
}

void failures_reach_whoever_waits(Device& device) {
  const DeviceEvent failed =
      device.run_on_host(named("fails", [](Workers&) { throw InvalidRequest("/host", "no such row"); }));
  const DeviceEvent behind = device.run_on_host(named("behind", [](Workers&) {}));
  for (const DeviceEvent& event : {failed, behind}) {
    try {
      device.await(event);
    } catch (const InvalidRequest&) {
      continue;
    }
    throw ConformanceFailure("work that failed was waited for without a word");
  }
}

void wrong_sizes_are_refused(Device& device) {
  const Tensor tensor = device.allocate(10, 1, ElementType::f64);
  const HostMemory memory = device.allocate_host(72);
  for (const bool in : {true, false}) {
    try {
      in ? device.start_stream_in(memory, tensor) : device.start_move_out(tensor, memory);
    } catch (const Error&) {
      continue;
    }
    throw ConformanceFailure("a transfer between memories of different sizes was begun");
  }
}

void nothing_moves_where_there_is_nothing(Device& device) {
  const Tensor tensor = device.allocate(0, 3, ElementType::f32);
  const HostMemory memory = device.allocate_host(0);
  device.wait(Stream::compute, device.start_stream_in(memory, tensor));
  device.await(device.start_move_out(tensor, memory));
  device.synchronize();
}

void calls_of_one_order_follow_each_other(Device& device) {
  std::vector<int> calls;
  std::atomic<int> made{0};
  const int order = 0;
  const DeviceEvent late = device.run_on_host(named("late", [](Workers&) {}));
  device.when(&order, {late}, [&](double, std::exception_ptr) { calls.push_back(1), ++made; });
  device.when(&order, {}, [&](double, std::exception_ptr) { calls.push_back(2), ++made; });
  device.await(late);
  while (made < 2) std::this_thread::yield();
  require_that(calls == std::vector{1, 2}, "a call overtook the one before it");
}

constexpr DeviceCase cases_of_the_host[] = {
    {"work runs in the order given", work_runs_in_the_order_given},
    {"workers share the work", workers_share_the_work},
    {"work leaves spans", work_leaves_spans},
    {"pipelines give the right values", pipelines_give_the_right_values},
    {"transfers leave spans with their bytes", transfers_leave_spans_with_their_bytes},
    {"host waits join the next work", host_waits_join_the_next_work},
    {"failures reach whoever waits", failures_reach_whoever_waits},
    {"channels run in parallel", channels_run_concurrently},
    {"a channel that fails leaves the others", a_channel_that_fails_leaves_the_others},
    {"wrong sizes are refused", wrong_sizes_are_refused},
    {"nothing moves where there is nothing", nothing_moves_where_there_is_nothing},
    {"calls of one order follow each other", calls_of_one_order_follow_each_other},
};

}  // namespace

void check_overlap(Device& device) {
  const Tensor tensor = device.allocate(1000, 1, ElementType::f64);
  device.synchronize();
  device.spans().clear();
  std::atomic<bool> begun{false}, computed{false};
  device.run_on_host(named("beside", [&](Workers&) {
    begun = true;
    while (!computed) std::this_thread::yield();
  }));
  while (!begun) std::this_thread::yield();
  device.run(Fill{tensor, 1});
  device.await(device.record(Stream::compute));
  computed = true;
  device.synchronize();
  const Span *work = nullptr, *fill = nullptr;
  for (const Span& span : device.spans().spans()) (span.name == "beside" ? work : fill) = &span;
  require_that(work != nullptr && fill != nullptr && fill->name == Fill::name, "spans are missing");
  require_that(work->begin_seconds <= fill->begin_seconds && work->end_seconds >= fill->end_seconds,
               "work that ran in parallel does not overlap in the trace");
}

std::span<const DeviceCase> host_cases() { return cases_of_the_host; }

}  // namespace strobe::conformance
