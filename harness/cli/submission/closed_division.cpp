// Source of the two divisions: MLPerf Training rules (Mattson et al., MLSys'20): the closed one compares systems on one
// model and quality target, the open one leaves the model free.
#include "harness/cli/submission/closed_division.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "harness/request/bundled_suite.hpp"
#include "harness/request/suite.hpp"
#include "results/answer/case_difference.hpp"

namespace strobe {
namespace {

constexpr std::string_view free_fields[] = {"strategy",
                                            "ranks",
                                            "device",
                                            "draws",
                                            "comm",
                                            "cluster",
                                            "software",
                                            "numerics",
                                            "seed",
                                            "epochs",
                                            "threads",
                                            "kernels",
                                            "precision",
                                            "inputs",
                                            "transfer",
                                            "nb",
                                            "overlap",
                                            "host_threads",
                                            "timeout",
                                            "transfer_format",
                                            "rerun_last",
                                            "memory_limit_gib",
                                            "host_memory_limit_gib",
                                            "optimizer.rate"};

bool is_free(const std::string& field) {
  return field.starts_with("strategy.") ||
         std::find(std::begin(free_fields), std::end(free_fields), field) != std::end(free_fields);
}

/// A case of the closed division.
struct Benchmark {
  std::string name;  // of its suite
  Json json;         // its case
  Json data;         // SHA-256 of the files that it reads, by name
};

std::vector<Benchmark> read_benchmarks() {
  std::vector<Benchmark> all;
  for (const std::string& name : bundled_suite_names()) {
    if (!name.starts_with("board/")) continue;
    for (const Case& c : load_suite(bundled_suite(name), {}).cases)
      all.push_back({name, case_to_json(c), data_digests({c})});
  }
  return all;
}

/// The fields that are not free in which a row's case differs. A row of an older program may lack a setting.
std::vector<FieldDifference> fixed_differences(const Json& row, const Benchmark& benchmark) {
  std::vector<FieldDifference> found = differences_of(row, benchmark.json);
  std::erase_if(found, [](const FieldDifference& one) { return is_free(one.field) || one.a == "-"; });
  return found;
}

/// "" when the row is of a benchmark, else how it differs from the nearest one.
std::string fault_of(const Json& row, const Json& data, const std::vector<Benchmark>& benchmarks) {
  std::optional<std::vector<FieldDifference>> least;
  const Benchmark* nearest = nullptr;
  for (const Benchmark& one : benchmarks) {
    std::vector<FieldDifference> found = fixed_differences(row, one);
    if (least && found.size() >= least->size()) continue;
    least = std::move(found), nearest = &one;
  }
  if (!least) return "the closed division has no benchmarks in this installation";
  if (least->empty()) {
    for (const auto& [name, digest] : nearest->data.items())
      if (!data.is_object() || data.value(name, "") != digest.get<std::string>())
        return fmt::format("read other data than the bundled {}", name);
    return "";
  }
  const FieldDifference& one = least->front();
  return fmt::format(
      "is not in the closed division: {} is {} and not {} as in `strobe run {}`; enter it with "
      "--division open",
      one.field, one.a, one.b, nearest->name);
}

}  // namespace

std::vector<std::string> faults_in_closed_division(const EnteredRun& entered) {
  const std::vector<Benchmark> benchmarks = read_benchmarks();
  std::vector<std::string> faults;
  if (!entered.environment.value("plugins", Json::array()).empty())
    faults.push_back("plug-ins were loaded, which the closed division does not allow");
  for (const Row& row : entered.run.summary.rows) {
    const std::string fault = row.strategy.value("name", "") == "external"
                                  ? "was trained by another program, which belongs to --division open"
                                  : fault_of(case_json_of(row), entered.run.data, benchmarks);
    if (!fault.empty()) faults.push_back(fmt::format("case {} {}", row.case_id, fault));
  }
  return faults;
}

}  // namespace strobe
