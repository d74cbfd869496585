// Drawing neighbours: root queries a second of ten recent neighbours, in batches of 600 events in time order (sources,
// destinations and as many vertices anywhere), on generated events of the published sizes of Wikipedia and Flights.
// TGL's C++ sampler draws 1.6 million roots a second on Reddit with all its threads (bench/README.md).
#include "workloads/continuous/neighbour_sample.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/measure.hpp"
#include "core/random.hpp"
#include "workloads/workload.hpp"

namespace strobe::bench {
namespace {

constexpr std::int64_t batch = 600, neighbours = 10;

struct LoadedEvents {
  std::string like;
  EventGraph events;
  TimeCsr csr;
};

const LoadedEvents& events_like(const std::string& like) {
  static LoadedEvents kept;
  if (kept.like != like) {
    kept.events = *load_events("bursty_events", Json{{"like", like}}, 1);
    kept.csr = make_time_csr(kept.events);
    kept.like = like;
  }
  return kept;
}

struct BatchRoots {
  std::vector<VertexId> vertex;
  std::vector<EdgeId> before;
  std::vector<std::int64_t> number;
  std::vector<double> time;
};

std::vector<BatchRoots> batches_of(const EventGraph& events) {
  const RandomStream random(1, random_purpose::test);
  std::vector<BatchRoots> all;
  for (EdgeId first = 0; first + batch <= events.events(); first += batch) {
    BatchRoots& roots = all.emplace_back();
    for (const int end : {0, 1, 2}) {
      for (EdgeId e = first; e < first + batch; ++e) {
        const std::size_t at = e;
        const auto anywhere = static_cast<VertexId>(
            random.below(static_cast<std::uint64_t>(e), static_cast<std::uint64_t>(events.vertices)));
        roots.vertex.push_back(end == 0 ? events.source[at] : end == 1 ? events.target[at] : anywhere);
        roots.before.push_back(e);
        roots.number.push_back(3 * e + end);
        roots.time.push_back(events.time[at]);
      }
    }
  }
  return all;
}

void sample(benchmark::State& state, const std::string& like, Sampling sampling) {
  const LoadedEvents& loaded = events_like(like);
  const std::vector<BatchRoots> batches = batches_of(loaded.events);
  Workers workers(static_cast<int>(state.range(0)));
  NeighbourSample drawn;
  std::int64_t roots = 0, slots = 0;
  for (auto _ : state) {
    for (const BatchRoots& of : batches) {
      sample_neighbours(loaded.events, loaded.csr, {of.vertex, of.before, of.number, of.time}, neighbours, sampling, 1,
                        workers, drawn);
      roots += static_cast<std::int64_t>(of.vertex.size());
      slots += drawn.slots();
    }
  }
  state.counters["roots_per_s"] = benchmark::Counter(static_cast<double>(roots), benchmark::Counter::kIsRate);
  state.counters["slots_per_root"] = static_cast<double>(slots) / static_cast<double>(std::max<std::int64_t>(roots, 1));
}

const Registration registered{[] {
  if (device_name() != "cpu") return;
  for (const std::string like : {"wikipedia", "flights"}) {
    for (const auto& [name, sampling] : {std::pair{"recent", Sampling::recent}, {"uniform", Sampling::uniform}}) {
      register_guarded(("neighbour_sample/" + like + "/" + name).c_str(),
                       [=](benchmark::State& state) { sample(state, like, sampling); })
          ->ArgName("threads")
          ->Arg(1)
          ->Arg(2)
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
}};

}  // namespace
}  // namespace strobe::bench
