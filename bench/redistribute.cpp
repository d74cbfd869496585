// Whole redistributions among ranks that are threads of this process: packing, the all-to-all of the communicator
// `local`, unpacking, from snapshots to vertices and back. Each alternates, on the same threads, with a memcpy of
// the same bytes: every rank copies as many rows as the redistribution gives it, from the tensors of the ranks that
// hold them, one contiguous piece per rank. `of_memcpy` is the median of the rounds' ratios of the two times.
#include <algorithm>
#include <cstring>

#include "backends/communicator.hpp"
#include "bench/measure.hpp"
#include "harness/full_batch/exchange/exchange.hpp"

namespace strobe::bench {
namespace {

constexpr std::int64_t steps = 64, vertices = 16384, width = 6;
constexpr int warm_rounds = 5, rounds = 41;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// Seconds of each round, between barriers, as rank 0 saw them.
struct Timings {
  std::vector<double> exchange, copy;
};

/// One rank's part of the comparison.
class Rounds {
 public:
  Rounds(Device& device, Communicator& communicator, const ExchangePlan& plan, std::vector<Tensor>& inputs)
      : device_(device),
        communicator_(communicator),
        counts_(plan.of(device.rank())),
        inputs_(inputs),
        exchange_(device, plan, Traffic::redistribute) {
    inputs[device.rank()] = constant(device, counts_.input_rows, width);
  }

  /// The times of all rounds; meaningful on rank 0.
  Timings run() {
    Timings timings;
    for (int round = 0; round < warm_rounds + rounds; ++round) {
      const double exchanged = timed_between_barriers([&] { redistribute_once(); });
      const double copied = timed_between_barriers([&] { copy_once(); });
      device_.spans().clear();
      if (round < warm_rounds) continue;
      timings.exchange.push_back(exchanged);
      timings.copy.push_back(copied);
    }
    return timings;
  }

 private:
  template <class Body>
  double timed_between_barriers(const Body& body) {
    communicator_.barrier();
    const double begin = device_.now();
    body();
    communicator_.barrier();
    return device_.now() - begin;
  }

  void redistribute_once() {
    Tape tape(device_, false);
    benchmark::DoNotOptimize(exchange_.apply(tape, communicator_, Tape::constant(input(device_.rank()))));
  }

  void copy_once() {
    const Tensor result = device_.allocate(counts_.output_rows, width, ElementType::f32);
    std::byte* to = result.raw();
    for (Rank peer = 0; peer < communicator_.size(); ++peer) {
      const std::int64_t rows = peer == device_.rank() ? counts_.kept_rows : counts_.receive.rows_of(peer);
      const auto bytes = static_cast<std::size_t>(rows) * result.row_bytes();
      // Copies as many of the peer's rows as this rank has; each rank's range follows those of the ranks before it.
      const std::int64_t first = (input(peer).rows() - rows) * device_.rank() / std::max(1, communicator_.size() - 1);
      std::memcpy(to, input(peer).raw() + static_cast<std::size_t>(first) * result.row_bytes(), bytes);
      to += bytes;
    }
    benchmark::ClobberMemory();
  }

  const Tensor& input(Rank rank) const { return inputs_[rank]; }

  Device& device_;
  Communicator& communicator_;
  const RankExchange& counts_;
  std::vector<Tensor>& inputs_;
  Exchange exchange_;
};

Timings compare(const ExchangePlan& plan, int ranks) {
  LaunchRequest request;
  request.ranks = ranks;
  request.device.precision = ElementType::f32;
  request.device.threads = 1;
  request.make_device = DeviceRegistry::instance().find("cpu").value;
  Timings timings;
  std::vector<Tensor> inputs(ranks);
  CommunicatorRegistry::instance().find("local").value.launch(request, [&](Device& device, Communicator& communicator) {
    Timings own = Rounds(device, communicator, plan, inputs).run();
    if (device.rank() == 0) timings = std::move(own);
    communicator.barrier();
    inputs[device.rank()] = {};
  });
  return timings;
}

void redistribute_both(benchmark::State& state, bool to_vertices) {
  const int ranks = static_cast<int>(state.range(0));
  const Placement by_step = by_time(vertices, contiguous_owners(steps, ranks), ranks);
  const Placement by_owner = by_vertex(contiguous_owners(vertices, ranks), steps, ranks);
  const ExchangePlan plan = to_vertices ? redistribute(by_step, by_owner, {}) : redistribute(by_owner, by_step, {});
  Timings timings;
  for (auto _ : state) {
    timings = compare(plan, ranks);
    state.SetIterationTime(median(timings.exchange));
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < timings.copy.size(); ++i) ratios.push_back(timings.copy[i] / timings.exchange[i]);
  const double bytes = plan.total_rows() * width * 4;
  state.counters["sent_GB_per_s"] = bytes * 1e-9 / median(timings.exchange);
  state.counters["memcpy_us"] = median(timings.copy) * 1e6;
  state.counters["of_memcpy"] = median(ratios);
}

const Registration registered{[] {
  for (const bool to_vertices : {true, false}) {
    const std::string name = std::string("redistribute/") + (to_vertices ? "to_vertices" : "to_snapshots");
    register_guarded(name.c_str(), [=](benchmark::State& state) { redistribute_both(state, to_vertices); })
        ->ArgName("ranks")
        ->Arg(2)
        ->Arg(4)
        ->Arg(8)
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
}};

}  // namespace
}  // namespace strobe::bench
