// Loads graphs through the door that every run uses. Invariant: no file is left. Each rate is that of the median call.
// Two graphs of different density separate entries from features: their times are two equations with two unknowns. The
// time to prepare has samples and planning in it.
#include "harness/calibration/load_rates.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/full_batch/full_batch_schedule.hpp"
#include "harness/training/make_plan.hpp"
#include "results/row/statistics.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

constexpr int load_calls = 3;
constexpr std::int64_t load_events_written = 1'000'000, load_vertices = 50'000, load_steps = 8,
                       planned_vertices = 20'000;

using SecondsOf = std::function<double(HostWork)>;

/// The median time of `body`.
double seconds_of_load(const char* name, const SecondsOf& seconds_of, const std::function<void()>& body) {
  std::vector<double> seconds;
  for (int call = 0; call < load_calls; ++call) {
    HostWork work;
    work.name = name;
    work.body = [&body](Workers&) { body(); };
    malloc_trim(0);  // a run takes its memory from the system as well, page by page
    seconds.push_back(seconds_of(std::move(work)));
  }
  return median(seconds);
}

/// A path of its own, removed by the destructor.
struct ScratchPath {
  ScratchPath(const std::string& folder, const char* end)
      : path(fmt::format("{}/strobe-load-{}{}", folder, ::getpid(), end)) {}
  ~ScratchPath() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    std::filesystem::remove(path + ".seal", ignored);  // of a binary file
  }
  ScratchPath(const ScratchPath&) = delete;
  ScratchPath& operator=(const ScratchPath&) = delete;

  std::string path;
};

/// Bytes of the file that are read and cut into steps in a second.
double file_rate(const std::string& path, const SecondsOf& seconds_of) {
  const Json parameters = complete_workload_parameters(path, {{"cache", "off"}}, "");
  const double seconds = seconds_of_load("read_graph", seconds_of, [&] { load_workload(path, parameters, 1); });
  return static_cast<double>(std::filesystem::file_size(path)) / seconds;
}

Json uniform_parameters(std::int64_t vertices, double density) {
  return {{"vertices", vertices}, {"steps", load_steps}, {"density", density}};
}

SnapshotGraph uniform_graph(std::int64_t vertices, double density) {
  const Json parameters = uniform_parameters(vertices, density);
  return load_workload("uniform", complete_workload_parameters("uniform", parameters, ""), 1);
}

/// Entries and features of a prepared graph, and the time from the raw graph to the plan of a case.
struct Preparing {
  double entries = 0, features = 0, seconds = 0;
};

Preparing preparing(double density, const SecondsOf& seconds_of) {
  Json workload = uniform_parameters(planned_vertices, density);
  workload["name"] = "uniform";
  const Case c = case_from_json({{"workload", workload}, {"model", "t-gcn"}, {"strategy", "sequential"}}, "");
  Preparing made;
  const double whole = seconds_of_load("plan_graph", seconds_of, [&] {
    const std::shared_ptr<const PlannedCase> plan = make_plan(c);
    const PreparedGraph& graph = *full_batch(*plan).data.graph;
    made.entries = static_cast<double>(graph.nonzeros());
    made.features = static_cast<double>(graph.vertices * graph.steps * graph.cell_width());
  });
  const double raw = seconds_of_load("make_graph", seconds_of, [&] { uniform_graph(planned_vertices, density); });
  made.seconds = std::max(whole - raw, whole / 10);  // noise may make the difference too small
  return made;
}

void separate(const Preparing& dense, const Preparing& sparse, LoadRates& rates) {
  const double determinant = dense.entries * sparse.features - sparse.entries * dense.features;
  const double entry = (dense.seconds * sparse.features - sparse.seconds * dense.features) / determinant;
  const double feature = (dense.entries * sparse.seconds - sparse.entries * dense.seconds) / determinant;
  const double most_entry = dense.seconds / dense.entries, most_feature = sparse.seconds / sparse.features;
  // Noise may make one of both negative; then each takes half of the time.
  rates.prepared_entries_per_second = 1 / (entry > 0 && feature > 0 ? entry : most_entry / 2);
  rates.prepared_features_per_second = 1 / (entry > 0 && feature > 0 ? feature : most_feature / 2);
}

}  // namespace

LoadRates measure_load_rates(const std::string& folder, const SecondsOf& seconds_of) {
  LoadRates rates;
  const ScratchPath text(folder, ".csv"), binary(folder, ".strobe");
  const Json drawn{{"events", load_events_written}, {"vertices", load_vertices}};
  const auto events = load_events("bursty_events", complete_workload_parameters("bursty_events", drawn, ""));
  write_csv(*events, text.path);
  write_binary_graph(*events, binary.path);
  rates.text_bytes_per_second = file_rate(text.path, seconds_of);
  rates.binary_bytes_per_second = file_rate(binary.path, seconds_of);
  double entries = 0;
  const double made = seconds_of_load("make_graph", seconds_of,
                                      [&] { entries = static_cast<double>(uniform_graph(load_vertices, 4).edges()); });
  rates.made_entries_per_second = entries / made;
  separate(preparing(16, seconds_of), preparing(1, seconds_of), rates);
  return rates;
}

}  // namespace strobe
