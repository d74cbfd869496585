// The quality of each partitioner on bundled data and on generated graphs: the cut of the graph merged over steps (a
// share of all its edges), the rows that a spatial pass sends (lambda - 1, a share of all cells), the balance of work,
// the time, and the peak of memory in addition to the graph. Means over three seeds, of generators and partitioners.
// Under mpirun, partitioners that run in parts use all processes. Memory is then that of the process that prints.
#include <malloc.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/communicator.hpp"
#include "bench/measure.hpp"
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/partitioners/partitioning.hpp"
#include "workloads/workload.hpp"

namespace strobe::bench {
namespace {

constexpr std::uint64_t first_seed = 1, last_seed = 3;

const std::vector<std::pair<std::string, Json>>& judged_workloads() {
  static const std::vector<std::pair<std::string, Json>> all = {
      {"ucsocial", Json::object()},
      {"chess", Json::object()},
      {"amlsim-20k", Json::object()},
      {"dynamic-sbm", {{"vertices", 5'000}, {"steps", 8}, {"communities", 16}}},
      {"power-law", {{"vertices", 5'000}, {"steps", 8}, {"edges", 15'000}}},
      {"uniform", {{"vertices", 5'000}, {"steps", 8}}},
  };
  return all;
}

/// The prepared graph; the last one asked for is kept.
const PreparedGraph& judged_graph(const std::string& workload, const Json& parameters, std::uint64_t seed) {
  static std::pair<std::string, std::uint64_t> kept_key;
  static std::unique_ptr<PreparedGraph> kept;
  if (kept == nullptr || kept_key != std::pair(workload, seed)) {
    const SnapshotGraph graph = load_workload(workload, complete_workload_parameters(workload, parameters, ""), seed);
    kept = std::make_unique<PreparedGraph>(prepare(graph, Preprocessing{}, graph.steps(), false));
    kept_key = {workload, seed};
  }
  return *kept;
}

/// A line of /proc/self/status in MiB.
double status_mib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(name + ":", 0) == 0) return std::stod(line.substr(name.size() + 1)) / 1024;
  return 0;
}

/// From its making on, the most memory of this process beyond what it had.
class PeakMemory {
 public:
  PeakMemory() {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";  // resets the peak
    before_ = status_mib("VmRSS");
  }
  double mib() const { return status_mib("VmHWM") - before_; }

 private:
  double before_ = 0;
};

/// Weight of the edges between different parts over the weight of all.
double cut_share(const PreparedGraph& graph, const std::vector<Rank>& part) {
  const VertexLists lists = merged_lists(graph, {0, graph.vertices});
  double cut = 0, all = 0;
  for (std::size_t v = 0; v < part.size(); ++v) {
    for (std::int64_t e = lists.offsets[v]; e < lists.offsets[v + 1]; ++e) {
      all += lists.weights[e];
      cut += part[v] == part[lists.neighbours[e]] ? 0 : lists.weights[e];
    }
  }
  return all == 0 ? 0 : cut / all;
}

ShareHolders launched_holders() {
  if (!CommunicatorRegistry::instance().contains("mpi")) return {};
  const auto& mpi = CommunicatorRegistry::instance().find("mpi").value;
  if (mpi.world_size() <= 1) return {};
  return {mpi.process_rank(), mpi.world_size(), [&mpi](const std::string& own) { return mpi.gather(own, 600); },
          [&mpi](const std::vector<std::string>& to) { return mpi.all_to_all(to, 600); }};
}

void judge(benchmark::State& state, const std::string& workload, const Json& parameters, const std::string& name) {
  const auto& partitioner = PartitionerRegistry::instance().find(name).value;
  const ShareHolders holders = launched_holders();
  const int parts = static_cast<int>(state.range(0));
  double cut = 0, rows = 0, imbalance = 0, peak = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (std::uint64_t seed = first_seed; seed <= last_seed; ++seed) {
      const PreparedGraph& graph = judged_graph(workload, parameters, seed);
      const PeakMemory memory;
      state.ResumeTiming();
      const std::vector<Rank> part = partitioner(graph, parts, seed, 2, nullptr, holders);
      state.PauseTiming();
      peak += memory.mib();
      cut += cut_share(graph, part);
      rows += static_cast<double>(connectivity_minus_one(graph, part, parts)) /
              static_cast<double>(graph.vertices * graph.steps);
      imbalance += work_imbalance(vertex_work(graph), part, parts);
    }
    state.ResumeTiming();
  }
  constexpr double seeds = last_seed - first_seed + 1;
  state.SetLabel("time: three calls");
  state.counters["cut"] = cut / seeds;
  state.counters["rows_per_cell"] = rows / seeds;
  state.counters["imbalance"] = imbalance / seeds;
  state.counters["peak_mib"] = peak / seeds;
}

const Registration registered{[] {
  for (const auto& [workload, parameters] : judged_workloads()) {
    for (const std::string& name : PartitionerRegistry::instance().names()) {
      register_guarded(("partition_quality/" + workload + "/" + name).c_str(),
                       [workload = workload, parameters = parameters, name](benchmark::State& state) {
                         judge(state, workload, parameters, name);
                       })
          ->ArgName("parts")
          ->Arg(2)
          ->Arg(4)
          ->Arg(8)
          ->Iterations(1)
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
}};

}  // namespace
}  // namespace strobe::bench
