// Cost: one pass over each file.
#include "results/run/loaded_run.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/json_reader.hpp"
#include "results/row/rounds.hpp"
#include "results/row/sample_lines.hpp"
#include "results/run/run_directory.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

void add_host_class(const Json& environment, std::set<std::string>& classes) {
  if (environment.contains("host_class")) classes.insert(environment["host_class"].value("text", ""));
}

/// The digests of the files of a row's workload: the file or data set itself, its companions, its features.
Json data_of(const LoadedRun& run, const Json& workload) {
  Json found = Json::object();
  if (!run.data.is_object()) return found;
  const std::string name = workload.value("name", "");
  const Json features = workload.value("features", Json());
  for (const auto& [key, digest] : run.data.items())
    if (key == name || key.starts_with(name + ", ") || features == key) found[key] = digest;
  return found;
}

std::string joined(const std::set<std::string>& texts) {
  std::string result;
  for (const std::string& text : texts) result += (result.empty() ? "" : " and ") + text;
  return result.empty() ? "unknown" : result;
}

}  // namespace

Summary summary_of_run(const std::string& run) {
  std::error_code ignored;
  if (fs::is_directory(run, ignored)) return read_summary(run + "/summary.json");
  try {
    return read_summary(run);
  } catch (const InvalidInput&) {
    if (fs::path(run).extension() == ".json") throw;
    throw InvalidInput(
        run, 0, 0, "neither a run directory nor its summary.json; for a graph type: strobe inspect --workload " + run);
  }
}

const Row* LoadedRun::find(const std::string& case_id) const {
  for (const Row& row : summary.rows) {
    if (row.case_id == case_id) return &row;
  }
  return nullptr;
}

std::map<int, std::vector<double>> LoadedRun::seconds_of(const Row& row) const {
  const auto found = samples.find(row.case_id);
  if (found == samples.end()) return {};
  if (row.rounds) return seconds_by_round(found->second, row);
  std::map<int, std::vector<double>> one;
  for (const EpochSample* sample : slowest_of_each_epoch(found->second, row.ranks))
    one[0].push_back(sample->epoch_seconds);
  return one;
}

LoadedRun load_run(const std::string& path) {
  LoadedRun run;
  std::error_code ignored;  // reading reports the fault of the path
  const bool is_folder = fs::is_directory(path, ignored);
  run.folder = is_folder ? path : fs::path(path).parent_path().string();
  if (run.folder.empty()) run.folder = ".";
  run.summary = summary_of_run(path);
  if (fs::exists(run.folder + "/samples.jsonl")) run.samples = read_samples(run.folder + "/samples.jsonl");
  if (fs::exists(run.folder + "/env.json")) {
    const std::string file = run.folder + "/env.json";
    const Json environment = read_object_with_digest(file);
    read_json_values(file, [&] {
      add_host_class(environment, run.host_classes);
      const Json resumed = environment.value("resumed", Json::array());
      if (!resumed.is_array()) throw InvalidInput(file, 0, 0, "'resumed' is not a list");
      for (const Json& again : resumed) add_host_class(again, run.host_classes);
    });
  }
  if (fs::exists(run.folder + "/plan.json")) {
    const Json plan = read_object_with_digest(run.folder + "/plan.json");
    if (plan.contains("data") && plan["data"].is_object()) run.data = plan["data"];
  }
  return run;
}

void check_rows(const std::string& run) {
  std::error_code ignored;
  const std::string path = fs::is_directory(run, ignored) ? run + "/summary.json" : run;
  if (fs::is_regular_file(path, ignored)) summary_of_run(run);
}

std::string compare_data(const LoadedRun& base, const Row& before, const LoadedRun& changed) {
  const Json there = data_of(base, before.workload), here = data_of(changed, before.workload);
  if (!base.data.is_object() || !changed.data.is_object()) {
    const bool reads_files = !there.empty() || !here.empty() || before.workload.contains("window_events");
    return reads_files ? "a plan.json lacks the digests of the data, so it is not known whether both read the same"
                       : "";
  }
  const JsonDifference difference = first_difference(there, here, "");
  if (!difference.differs) return "";
  throw NotComparable(fmt::format("case {}: the workload {} is other data: SHA-256 of {} is {} in {}, and {} in {}",
                                  before.case_id, before.workload.value("name", ""), key_of_pointer(difference.pointer),
                                  difference.a, base.folder, difference.b, changed.folder));
}

void refuse_different_hosts(const LoadedRun& base, const LoadedRun& changed) {
  if (base.host_classes == changed.host_classes && base.host_classes.size() == 1) return;
  throw NotComparable(
      fmt::format("wall times of different or unknown machines cannot be compared: {} ran on {}; {} ran "
                  "on {} (--allow-different-host compares them all the same)",
                  base.folder, joined(base.host_classes), changed.folder, joined(changed.host_classes)));
}

}  // namespace strobe
