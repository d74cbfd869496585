#include "harness/measure/run_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "backends/device.hpp"
#include "core/errors.hpp"
#include "core/units.hpp"
#include "harness/request/case_slots.hpp"
#include "harness/request/json_text.hpp"
#include "harness/request/option_text.hpp"
#include "harness/request/typed_settings.hpp"
#include "harness/request/varied_values.hpp"

namespace strobe {
std::int64_t checkpoint_interval(const RunRequest& request) {
  if (request.checkpoint_every.empty()) return 0;
  const double epochs = number_from_text(request.checkpoint_every, "--checkpoint-every");
  if (epochs >= 1 && epochs <= 1e9 && epochs == std::floor(epochs)) return static_cast<std::int64_t>(epochs);
  throw InvalidRequest("--checkpoint-every",
                       "expected a whole number of epochs from 1, found " + request.checkpoint_every);
}

double time_limit_seconds(const RunRequest& request) {
  if (request.time_limit.empty()) return 0;
  const double seconds = parse_duration_seconds(request.time_limit, "--time-limit");
  if (seconds > 0) return seconds;
  throw InvalidRequest("--time-limit", "expected a time above 0, found " + request.time_limit);
}

namespace {

/// Whether a flag of one value was given several, such as "1,2", "1..4" or "snapshot,vertex".
bool lists_values(const Setting& setting) {
  const bool parameters_or_file = setting.text.find_first_of("=/") != std::string::npos;
  if (parameters_or_file || setting.origin.starts_with("--vary")) return false;
  try {
    return varied_values(setting.path, setting.text).size() > 1;
  } catch (const InvalidRequest&) {
    return false;
  }
}

/// `mistake`, followed by the --vary to type when its flag was given several values.
InvalidRequest with_vary_instead(const InvalidRequest& mistake, const std::vector<Setting>& settings) {
  for (const Setting& one : settings) {
    if (one.origin != mistake.where() || !lists_values(one)) continue;
    return {mistake.where(), fmt::format("{}{}or several values, type --vary {}={}", mistake.message(),
                                         mistake.message().ends_with('.') ? " F" : "; f", one.path, one.text)};
  }
  return mistake;
}

/// The cases of one value of each --vary.
Suite suite_of(const RunRequest& request, const std::vector<Setting>& settings) {
  const ImpossibleCases impossible = request.strict ? ImpossibleCases::refused : ImpossibleCases::kept;
  try {
    return request.suite.empty() ? suite_from_settings(settings, impossible)
                                 : load_suite(request.suite, settings, CaseRuns::here, impossible);
  } catch (const InvalidRequest& error) {
    throw error.each([&](const InvalidRequest& one) { return with_vary_instead(one, settings); });
  }
}

/// One list of settings for each combination of the values of --vary. The last --vary varies fastest.
std::vector<std::vector<Setting>> varied_settings(const RunRequest& request) {
  std::vector<std::vector<Setting>> all = {typed_settings(request.plugins, request.scalars, request.sets)};
  for (const std::string& text : request.varied) {
    const auto [path, typed] = split_assignment(text, "--vary");
    const std::vector<std::string> values = varied_values(path, typed);
    if (all.size() * values.size() > most_cases) {
      throw InvalidRequest("--vary", fmt::format("more than {} cases; give --vary fewer values", most_cases));
    }
    std::vector<std::vector<Setting>> longer;
    for (const std::vector<Setting>& settings : all) {
      for (const std::string& value : values) {
        longer.push_back(settings);
        for (Setting& setting : settings_of_value(path, value)) longer.back().push_back(std::move(setting));
      }
    }
    if (longer.empty()) throw InvalidRequest("--vary", "no value is given for " + path);
    all = std::move(longer);
  }
  return all;
}

/// Adds the cases that `suite` does not have yet.
void add_cases(Suite& suite, Suite more) {
  suite.merged += more.merged;
  for (Case& c : more.cases) {
    const std::string id = case_id(c);
    if (suite.origins.emplace(id, more.origins[id]).second) {
      if (const auto refusal = more.impossible.find(id); refusal != more.impossible.end())
        suite.impossible.insert(*refusal);
      suite.cases.push_back(std::move(c));
    } else {
      ++suite.merged;
    }
  }
}

/// Refuses draws that no case has, because all are measured.
void check_draws(const RunRequest& request, const Suite& suite) {
  const auto typed = request.scalars.find("draws");
  if (typed == request.scalars.end() || suite.cases.empty()) return;
  const bool predicted = std::any_of(suite.cases.begin(), suite.cases.end(), [](const Case& c) {
    const DeviceRegistry& known = DeviceRegistry::instance();
    return !known.contains(c.device) || known.find(c.device).value.needs_cluster();
  });
  if (!predicted)
    throw InvalidRequest(draws_flag, fmt::format("device {} measures; draws are of a predicted cluster: --device sim",
                                                 suite.cases.front().device));
}

}  // namespace

Suite cases_of(const RunRequest& request) {
  const bool has_workload = request.plugins.count("workload") != 0 ||
                            std::any_of(request.varied.begin(), request.varied.end(),
                                        [](const std::string& text) { return text.starts_with("workload="); });
  if (request.suite.empty() && !has_workload) {
    throw InvalidRequest("", "say what to run: a suite file, a name from `strobe list suites`, or --workload NAME");
  }
  Suite suite;
  for (const std::vector<Setting>& settings : varied_settings(request)) {
    Suite one = suite_of(request, settings);
    if (suite.cases.empty()) {
      suite = std::move(one);
    } else {
      add_cases(suite, std::move(one));
    }
  }
  if (suite.cases.size() > most_cases) {
    throw InvalidRequest(
        "", fmt::format("{} cases, but one run has at most {}; give --vary fewer values, or split the suite",
                        suite.cases.size(), most_cases));
  }
  filter_cases(suite, request.filter);
  check_draws(request, suite);
  refuse_if_all_impossible(suite);
  return suite;
}

namespace {

/// Makes the first folder of `path`, `path`-2, `path`-3, ... that does not exist. So runs that begin in the same second
/// have different folders, also in other processes. If it cannot make a folder, the later write reports the error.
std::string new_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  fs::create_directories(fs::path(path).parent_path(), failed);
  constexpr int most = 1000;
  for (int number = 1; number <= most && !failed; ++number) {
    const std::string name = number == 1 ? path : fmt::format("{}-{}", path, number);
    if (fs::create_directory(name, failed)) return name;
  }
  return path;
}

}  // namespace

std::string output_folder(const RunRequest& request, const Suite& suite) {
  if (!request.out.empty()) return request.out;
  if (request.resume) throw InvalidRequest("--resume", "name the run directory with --out");
  const std::time_t now = std::time(nullptr);  // calendar: part of a folder's name
  std::tm utc{};
  gmtime_r(&now, &utc);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
  return new_folder(fmt::format("runs/{}-{}", suite.name, stamp));
}

void check_cluster(const std::string& cluster, const std::string& option) {
  try {
    load_cluster(cluster);
  } catch (const InvalidRequest& error) {
    throw error.each(
        [&](const InvalidRequest& one) { return InvalidRequest(option, words_of_place(one, cluster_base(cluster))); });
  }
}

}  // namespace strobe
