// Suites: a JSON file that expands into cases, and the command line's settings on top of it.
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

/// Maximum number of cases in one request. Each is planned before the first is run, and all are written to the plan.
inline constexpr std::size_t most_cases = 10000;

/// One setting that is applied to every case. `path` is "ranks" or "strategy.partitioner", `text` the typed value.
/// `origin` is the option ("--ranks", "--set strategy.partitioner"), for error messages.
struct Setting {
  std::string path;
  std::string text;
  std::string origin;
};

/// The origin of a setting that passes over measured cases. Who expands all cases of a command refuses it if it reaches
/// none.
inline constexpr const char* draws_flag = "--draws";

/// The treatment of impossible combinations (impossible.hpp).
enum class ImpossibleCases : std::uint8_t { refused, kept };

/// An expanded suite.
struct Suite {
  std::string name;
  std::string description;
  std::vector<Case> cases;         // in file order, the last key of a matrix varying fastest
  bool learning_required = false;  // a target of `until` that a rule reaches is refused
  std::size_t merged = 0;          // cases left out because settings made them equal to an earlier one
  /// By case id: the place that set the value at a JSON pointer within the case.
  std::map<std::string, std::map<std::string, std::string>> origins;
  /// By case id: the kept cases that cannot run, and the reason. `where` is the place that the user can correct.
  std::map<std::string, InvalidRequest> impossible;

  /// The place that the user can correct for an error about `pointer` ("/ranks") of a case. It is the option, or the
  /// place in the suite file, that set the value.
  std::string place_of(const std::string& case_id, const std::string& pointer) const;
};

/// Expands the suite in `json`. Precedence: settings, then the case's matrix, the case, the suite's defaults, Strobe's
/// defaults. Files that the suite names are first looked for in `folder`.
///
/// Throws InvalidRequest for unknown keys, impossible values, two equal cases and an empty matrix, naming the JSON
/// pointer or the option. One exception holds the mistakes of all cases. For cases that run here, throws Unavailable
/// when a backend is not built.
Suite expand_suite(const Json& json, const std::vector<Setting>& settings, CaseRuns runs = CaseRuns::here,
                   ImpossibleCases impossible = ImpossibleCases::refused, const std::string& folder = "");

/// Reads and expands a suite file, whose files may lie in the same folder. A suite without a name gets the file's name.
/// Errors in it name FILE#/POINTER.
Suite load_suite(const std::string& path, const std::vector<Setting>& settings, CaseRuns runs = CaseRuns::here,
                 ImpossibleCases impossible = ImpossibleCases::refused);

/// The one case that settings alone describe, as a suite named after its workload.
Suite suite_from_settings(const std::vector<Setting>& settings, ImpossibleCases impossible = ImpossibleCases::refused);

/// Throws the first refusal of a suite in which no case can run.
void refuse_if_all_impossible(const Suite& suite);

/// Returns a function that says whether a case id matches `pattern`, as in `filter_cases`. An empty pattern matches
/// all. Throws InvalidRequest("--filter", ...) for a malformed one.
std::function<bool(const std::string&)> id_filter(const std::string& pattern);

/// Keeps the cases whose id matches `pattern` (ECMAScript, anywhere in the id); with a leading '-', those that do not
/// match. Throws InvalidRequest("--filter", ...) for a malformed pattern or when nothing is left.
void filter_cases(Suite& suite, const std::string& pattern);

/// The canonical JSON of the cases, in order. A run directory keeps this plan, and its hash identifies it.
Json plan_json(const std::vector<Case>& cases);

/// SHA-256 of every file that the cases' workloads and models read, and of files of owners. Keys are the workload's
/// name, the path of features, "NAME, companion FILE" for a file that the format finds next to it, or the path of a
/// model or of owners. Throws like load_workload.
Json data_digests(const std::vector<Case>& cases);

}  // namespace strobe
