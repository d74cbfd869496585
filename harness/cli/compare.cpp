// `strobe compare BASE NEW`: two runs side by side, with a gate for continuous integration.
#include "results/compare.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/shown_text.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/narrate.hpp"

namespace strobe {
namespace {

struct CompareRequest {
  std::string base, changed;
  std::string threshold = "5";  // percent
  bool allow_different_host = false, fail_on_regression = false, json = false;
};

/// Runs that cannot be read are a wrong request.
CompareReport compare_readable(const CompareRequest& request, const CompareOptions& options) {
  try {
    return compare_runs(request.base, request.changed, options);
  } catch (const SystemError& error) {
    throw InvalidRequest("BASE and NEW", std::string("two run directories are needed; ") + error.what());
  }
}

int compare(const CompareRequest& request) {
  if (request.base.empty() || request.changed.empty()) {
    throw InvalidRequest("", "compare needs two run directories: BASE and NEW");
  }
  const double percent = number_from_text(request.threshold, "--threshold");
  if (!std::isfinite(percent) || percent < 0) {
    throw InvalidRequest("--threshold", fmt::format("{} is not a percentage of at least 0", percent));
  }
  CompareOptions options;
  options.threshold = percent / 100;
  options.allow_different_host = request.allow_different_host;
  const CompareReport report = compare_readable(request, options);
  print_data(request.json ? compare_to_json(report).dump(2) + "\n" : shown_lines(compare_table(report)));
  return request.fail_on_regression && report.regression ? 3 : 0;
}

CommandAction define_compare(CommandOptions& options) {
  const auto request = std::make_shared<CompareRequest>();
  options.positional("BASE", request->base, "run directory to compare with");
  options.positional("NEW", request->changed, "run directory to judge");
  options.text("--threshold", request->threshold, "smallest change of the median that counts, in percent (default 5)");
  options.toggle("--allow-different-host", request->allow_different_host, "compare wall times of different machines");
  options.toggle("--fail-on-regression", request->fail_on_regression,
                 "exit with 3 when a case is slower, missing or failing");
  options.toggle("--json", request->json, "print JSON");
  options.example("Example: strobe compare runs/before runs/after --fail-on-regression");
  return [request] { return compare(*request); };
}

const Register<CommandTag> compare_registered{
    {"compare", "two runs side by side: ratio of medians and verdict per case", "", {}, define_compare, {}}};

}  // namespace
}  // namespace strobe
