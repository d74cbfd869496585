// Suites: a JSON file that expands into cases, and the settings of the command line laid over it.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "core/fields.hpp"
#include "harness/request/case.hpp"

namespace strobe {

/// Cases that one request may expand to: each is planned before the first is run, and all are written down.
inline constexpr std::size_t most_cases = 10000;

/// One setting that is laid over every case. `path` is "ranks" or "strategy.partitioner", `text` its value as typed,
/// `origin` the option as typed ("--ranks", "--set strategy.partitioner"), which errors name.
struct Setting {
  std::string path;
  std::string text;
  std::string origin;
};

/// What becomes of combinations that do not go together (impossible.hpp).
enum class ImpossibleCases : std::uint8_t { refused, kept };

/// An expanded suite.
struct Suite {
  std::string name;
  std::string description;
  std::vector<Case> cases;  // in file order, the last key of a matrix varying fastest
  std::size_t merged = 0;   // cases that settings made equal to an earlier one, and that are left out
  /// By case id: who set the value at a JSON pointer within the case.
  std::map<std::string, std::map<std::string, std::string>> origins;
  /// By case id: cases that cannot run, which were kept, and why; `where` is the place that a user can mend.
  std::map<std::string, InvalidRequest> impossible;

  /// The place that a user can mend for an error about `pointer` ("/ranks") of a case: the option or the place in the
  /// suite file that set it.
  std::string place_of(const std::string& case_id, const std::string& pointer) const;
};

/// Expands the suite in `json`. Precedence: settings, then the case's matrix, the case, the suite's defaults, Strobe's
/// defaults. Throws InvalidRequest for unknown keys, impossible values, two equal cases and an empty matrix, naming the
/// JSON pointer or the option that is to blame; Unavailable for a backend that is not built, of cases that run here.
/// Files that the suite names are looked for in `folder` first, as far as they are there.
Suite expand_suite(const Json& json, const std::vector<Setting>& settings, CaseRuns runs = CaseRuns::here,
                   ImpossibleCases impossible = ImpossibleCases::refused, const std::string& folder = "");

/// Reads and expands a suite file, whose files may lie beside it; a suite without name takes the file's. What is wrong
/// in it is named as FILE#/POINTER.
Suite load_suite(const std::string& path, const std::vector<Setting>& settings, CaseRuns runs = CaseRuns::here,
                 ImpossibleCases impossible = ImpossibleCases::refused);

/// The one case that settings alone describe, as a suite named after its workload.
Suite suite_from_settings(const std::vector<Setting>& settings, ImpossibleCases impossible = ImpossibleCases::refused);

/// Throws the first refusal of a suite in which no case can run.
void refuse_if_all_impossible(const Suite& suite);

/// Whether a case id matches `pattern` as `filter_cases` reads it; an empty one matches all. Throws
/// InvalidRequest("--filter", ...) for a malformed one.
std::function<bool(const std::string&)> id_filter(const std::string& pattern);

/// Keeps the cases whose id matches `pattern` (ECMAScript, anywhere in the id); a leading '-' keeps those that do not.
/// Throws InvalidRequest("--filter", ...) for a malformed pattern or when nothing is left.
void filter_cases(Suite& suite, const std::string& pattern);

/// The canonical JSON of the cases, in order: the plan that a run directory keeps and whose hash identifies it.
Json plan_json(const std::vector<Case>& cases);

/// SHA-256 of every file that the cases' workloads read, by workload name, path of features, or "NAME, companion FILE"
/// for a file that the format finds beside the workload's own. Throws like load_workload.
Json data_digests(const std::vector<Case>& cases);

}  // namespace strobe
