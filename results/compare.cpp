// Source of the method: Hoefler and Belli SC'15 (medians with intervals, never a bare difference of means); a change
// counts only when its interval excludes 1 and it exceeds the threshold. The interval is valid for epochs measured on
// one machine; across machines it would be precise and wrong, which is why host classes are compared first.
// Cost: O(cases x resamples x epochs).
#include "results/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.hpp"
#include "core/json_reader.hpp"
#include "core/units.hpp"
#include "results/run_directory.hpp"
#include "results/sample_lines.hpp"
#include "results/statistics.hpp"
#include "results/table.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

struct LoadedRun {
  std::string folder;
  Summary summary;
  std::map<std::string, std::vector<EpochSample>> samples;
  std::set<std::string> host_classes;  // of the run and of every continuation
  Json data;                           // SHA-256 of the files that were read, by name; null when plan.json has none

  const Row* find(const std::string& case_id) const {
    for (const Row& row : summary.rows) {
      if (row.case_id == case_id) return &row;
    }
    return nullptr;
  }
};

void add_host_class(const Json& environment, std::set<std::string>& classes) {
  if (environment.contains("host_class")) classes.insert(environment["host_class"].value("text", ""));
}

LoadedRun load_run(const std::string& path) {
  LoadedRun run;
  std::error_code ignored;  // reading says what is wrong with the path
  const bool is_folder = fs::is_directory(path, ignored);
  run.folder = is_folder ? path : fs::path(path).parent_path().string();
  if (run.folder.empty()) run.folder = ".";
  run.summary = read_summary(is_folder ? path + "/summary.json" : path);
  if (fs::exists(run.folder + "/samples.jsonl")) run.samples = read_samples(run.folder + "/samples.jsonl");
  if (fs::exists(run.folder + "/env.json")) {
    const std::string file = run.folder + "/env.json";
    const Json environment = read_json_object(file);
    read_json_values(file, [&] {
      add_host_class(environment, run.host_classes);
      const Json resumed = environment.value("resumed", Json::array());
      if (!resumed.is_array()) throw InvalidInput(file, 0, 0, "'resumed' is not a list");
      for (const Json& again : resumed) add_host_class(again, run.host_classes);
    });
  }
  if (fs::exists(run.folder + "/plan.json")) {
    const Json plan = read_json_object(run.folder + "/plan.json");
    if (plan.contains("data") && plan["data"].is_object()) run.data = plan["data"];
  }
  return run;
}

/// The digests of the files behind a row's workload: the file or data set itself, what is read beside it, its features.
Json data_of(const LoadedRun& run, const Json& workload) {
  Json found = Json::object();
  if (!run.data.is_object()) return found;
  const std::string name = workload.value("name", "");
  const Json features = workload.value("features", Json());
  for (const auto& [key, digest] : run.data.items())
    if (key == name || key.starts_with(name + ", ") || features == key) found[key] = digest;
  return found;
}

/// "" when both rows read the same data, else why that is not known. Throws NotComparable when they read other data.
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

std::string joined(const std::set<std::string>& texts) {
  std::string result;
  for (const std::string& text : texts) result += (result.empty() ? "" : " and ") + text;
  return result.empty() ? "unknown" : result;
}

void refuse_different_hosts(const LoadedRun& base, const LoadedRun& changed) {
  if (base.host_classes == changed.host_classes && base.host_classes.size() == 1) return;
  throw NotComparable(
      fmt::format("wall times of different or unknown machines cannot be compared: {} ran on {}; {} ran "
                  "on {} (--allow-different-host compares them all the same)",
                  base.folder, joined(base.host_classes), changed.folder, joined(changed.host_classes)));
}

void refuse_different_work(const Row& base, const Row& changed) {
  for (const auto& [name, same] :
       {std::pair{"workload", base.workload == changed.workload}, std::pair{"model", base.model == changed.model}}) {
    if (!same) throw NotComparable(fmt::format("case {}: the {} of the two runs differs", base.case_id, name));
  }
}

std::vector<double> epoch_seconds(const LoadedRun& run, const Row& row) {
  std::vector<double> seconds;
  const auto position = run.samples.find(row.case_id);
  if (position == run.samples.end()) return seconds;
  for (const EpochSample* sample : slowest_of_each_epoch(position->second, row.ranks)) {
    seconds.push_back(sample->epoch_seconds);
  }
  return seconds;
}

std::string verdict_of(double ratio, double low, double high, double threshold) {
  if (high < 1 && ratio < 1 - threshold) return "FASTER";
  if (low > 1 && ratio > 1 + threshold) return "SLOWER";
  if (low >= 1 - threshold && high <= 1 + threshold) return "SAME";
  return "UNSURE";
}

std::string status_text(const Row& row) {
  return row.reason.empty() ? row.status : fmt::format("{} ({})", row.status, row.reason);
}

Comparison compare_rows(const LoadedRun& base, const Row& before, const LoadedRun& changed, const Row& after,
                        const CompareOptions& options) {
  Comparison result;
  result.case_id = before.case_id;
  result.verdict = "UNSURE";
  if (before.status != "ok" || after.status != "ok" || !before.epoch_seconds || !after.epoch_seconds) {
    result.note = fmt::format("status {} before, {} now", status_text(before), status_text(after));
    return result;
  }
  result.base_seconds = before.epoch_seconds->median;
  result.new_seconds = after.epoch_seconds->median;
  result.ratio = result.new_seconds / result.base_seconds;
  if (before.time_source == "virtual" && after.time_source == "virtual") {
    result.ci95_low = result.ci95_high = result.ratio;
  } else {
    const std::vector<double> x = epoch_seconds(base, before), y = epoch_seconds(changed, after);
    const auto interval = ratio_of_medians_interval(x, y, 1, options.resamples);
    if (!interval) {
      result.note = fmt::format("an interval needs {} measured epochs in samples.jsonl; there are {} and {}",
                                fewest_for_median_interval, x.size(), y.size());
      return result;
    }
    result.ci95_low = interval->low;
    result.ci95_high = interval->high;
  }
  result.verdict = verdict_of(result.ratio, result.ci95_low, result.ci95_high, options.threshold);
  if (result.verdict == "UNSURE") result.note = "the interval is too wide for a verdict";
  return result;
}

void close_report(CompareReport& report) {
  double logs = 0;
  int count = 0;
  for (const Comparison& item : report.cases) {
    if (std::isfinite(item.ratio) && item.ratio > 0) {
      logs += std::log(item.ratio);
      ++count;
    }
    if (item.verdict == "SLOWER" || item.verdict == "MISSING") report.regression = true;
  }
  if (count > 0) report.geometric_mean_ratio = std::exp(logs / count);
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

CompareReport compare_runs(const std::string& base_path, const std::string& changed_path,
                           const CompareOptions& options) {
  if (!(options.threshold >= 0))
    throw InvalidRequest("--threshold", "the threshold must be a number that is not negative");
  const LoadedRun base = load_run(base_path), changed = load_run(changed_path);
  CompareReport report;
  bool any_match = false;
  for (const Row& before : base.summary.rows) {
    const Row* after = changed.find(before.case_id);
    if (after == nullptr) {
      Comparison missing;
      missing.case_id = before.case_id;
      missing.verdict = "MISSING";
      report.cases.push_back(missing);
      continue;
    }
    any_match = true;
    refuse_different_work(before, *after);
    const bool wall = before.time_source == "wall" || after->time_source == "wall";
    if (wall && !options.allow_different_host) refuse_different_hosts(base, changed);
    const std::string unknown_data = compare_data(base, before, changed);
    report.cases.push_back(compare_rows(base, before, changed, *after, options));
    std::string& note = report.cases.back().note;
    if (!unknown_data.empty()) note += (note.empty() ? "" : "; ") + unknown_data;
    if (before.status == "ok" && after->status != "ok") report.regression = true;
  }
  for (const Row& after : changed.summary.rows) {
    if (base.find(after.case_id) != nullptr) continue;
    Comparison added;
    added.case_id = after.case_id;
    added.verdict = "NEW";
    report.cases.push_back(added);
  }
  if (!any_match) throw NotComparable(fmt::format("{} and {} have no case in common", base_path, changed_path));
  close_report(report);
  return report;
}

Json compare_to_json(const CompareReport& report) {
  Json cases = Json::array();
  for (const Comparison& item : report.cases) {
    cases.push_back({{"case_id", item.case_id},
                     {"verdict", item.verdict},
                     {"base_seconds", number_or_null(item.base_seconds)},
                     {"new_seconds", number_or_null(item.new_seconds)},
                     {"ratio", number_or_null(item.ratio)},
                     {"ci95_low", number_or_null(item.ci95_low)},
                     {"ci95_high", number_or_null(item.ci95_high)},
                     {"note", item.note}});
  }
  return {{"cases", cases},
          {"geometric_mean_ratio", number_or_null(report.geometric_mean_ratio)},
          {"regression", report.regression}};
}

std::string compare_table(const CompareReport& report) {
  TextTable table({{"case", false},
                   {"verdict", false},
                   {"base", true},
                   {"new", true},
                   {"new/base", true},
                   {"95 % interval", false},
                   {"note", false}});
  for (const Comparison& item : report.cases) {
    const bool has_ratio = std::isfinite(item.ratio), has_interval = std::isfinite(item.ci95_low);
    table.add({item.case_id, item.verdict, has_ratio ? format_seconds(item.base_seconds) : "-",
               has_ratio ? format_seconds(item.new_seconds) : "-", has_ratio ? fmt::format("{:.3f}", item.ratio) : "-",
               has_interval ? fmt::format("{:.3f} .. {:.3f}", item.ci95_low, item.ci95_high) : "-", item.note});
  }
  std::string text = table.text();
  if (std::isfinite(report.geometric_mean_ratio)) {
    text += fmt::format("geometric mean of new/base: {:.3f}\n", report.geometric_mean_ratio);
  }
  return text;
}

}  // namespace strobe
