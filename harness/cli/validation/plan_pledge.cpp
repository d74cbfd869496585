// Invariant: a pledge is written once, and never replaced.
#include "harness/cli/validation/plan_pledge.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/output_path.hpp"
#include "harness/validation/pledge.hpp"
#include "results/run/environment.hpp"
#include "results/run/files.hpp"

namespace strobe {
namespace {

/// The plan's predictions.
std::vector<PledgedPoint> points_to_pledge(const PlanReport& report) {
  std::vector<PledgedPoint> points;
  for (const PlanOutcome& outcome : report.outcomes) {
    const PlanPoint& point = outcome.point;
    PledgedPoint pledged{point.id, point.cluster, calibrated_with(point.request, point.cluster), {}};
    if (outcome.row != nullptr && outcome.row->status == "ok")
      pledged.row = *outcome.row;
    else if (outcome.status == "out_of_memory")
      pledged.row = row_of_median(case_to_json(point.request), point.id, outcome.status, outcome.reason,
                                  std::numeric_limits<double>::quiet_NaN(), "the point does not fit its device");
    else
      continue;
    points.push_back(std::move(pledged));
  }
  return points;
}

}  // namespace

void add_pledge_option(CommandOptions& options, std::string& path) {
  options.text(
      "--pledge", path,
      "write the predictions of all points into this new file, with date and SHA-256, before anybody measures; "
      "strobe validate --pledge judges it",
      "FILE");
}

void check_pledge_path(const std::string& path) {
  if (path.empty()) return;
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::symlink_status(path, ignored)))
    throw InvalidRequest("--pledge", path + " exists, and a pledge is never replaced; name a new file");
  check_output_file("--pledge", path);
}

void pledge_plan(const PlanReport& report, const std::string& path) {
  if (path.empty()) return;
  Pledge pledge{"", version_text(), report.request, {}, points_to_pledge(report)};
  if (pledge.points.empty()) {
    narrate("nothing is pledged: no point has a prediction");
    return;
  }
  pledge.clusters = clusters_of(pledge.points);
  pledge.date = environment().at("date_utc").get<std::string>();
  const std::string text = pledge_text(pledge);
  check_pledge_path(path);
  write_file_atomically(path, text);
  narrate(fmt::format("pledged {} in {}, SHA-256 {}; commit the file before you measure",
                      counted(pledge.points.size(), "point"), path, read_pledge(path).sha256));
}

}  // namespace strobe
