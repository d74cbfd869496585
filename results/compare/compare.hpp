// Compares two run directories: per case the ratio of epoch times with its confidence interval, and a verdict. Cases
// that cannot be compared are refused, never silently passed.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/answer/answer.hpp"
#include "results/row/row.hpp"
#include "results/row/statistics.hpp"
#include "results/run/loaded_run.hpp"

namespace strobe {

struct CompareOptions : AnswerOptions {
  double planted_factor = 1;          // multiplies the new run's times: a change that is known, to see it found
  int min_verdicts = 1;               // cases that must have a verdict before the gate passes; `all_verdicts`: each
};

/// Every case that both runs measured must have a verdict.
inline constexpr int all_verdicts = -1;

/// One case of either run. `ratio` is new over base; below 1 is faster. NaN where absent.
struct Comparison {
  std::string case_id;
  std::string verdict;  // FASTER | SLOWER | SAME | UNSURE | MISSING | NEW, or a status as FAILED
  bool fails = false;   // the gate: it is SLOWER or MISSING, or did not end ok in the new run
  double base_seconds = std::numeric_limits<double>::quiet_NaN();
  double new_seconds = base_seconds;
  double ratio = base_seconds;
  double ci95_low = base_seconds, ci95_high = base_seconds;  // of the ratio, over rounds
  double ci99_low = base_seconds, ci99_high = base_seconds;  // of the ratio; the verdict rests on it
  int base_rounds = 0, new_rounds = 0;                       // processes that measured the sides; 0: not known
  std::string note;                                          // why it is UNSURE, or other differences
};

/// The result of a gate on two runs. Undecided: nothing is worse, but too few cases have a verdict.
enum class GateOutcome : std::uint8_t { passed, failed, undecided };

struct CompareReport {
  std::vector<Comparison> cases;                                           // in the order of base, then the new ones
  double geometric_mean_ratio = std::numeric_limits<double>::quiet_NaN();  // over cases with a ratio
  MachineState base_machine, new_machine;  // the machine's activity while either run was measured
  GateOutcome outcome = GateOutcome::undecided;
  std::string outcome_text;  // one sentence: the outcome and why
};

/// Compares the runs in two folders (or their summary.json files). Verdicts:
///   FASTER / SLOWER  the 99 % interval excludes 1 and the ratio is further than `threshold` from 1
///   SAME             that interval lies within 1 +- threshold
///   UNSURE           anything else: one process a side, too wide an interval, no samples
///   MISSING / NEW    the case is in the base run only / has no time there, or is in the new run only
///   FAILED, TIMEOUT, ...  the status in capitals of a case that did not end ok in the new run
/// The interval is that of `ratio_of_rounds`: processes are the unit, so a side that one process measured has none.
/// Rounds of one session are compared pair by pair. Virtual times are deterministic: their ratio is exact and needs no
/// interval. Throws NotComparable when the machines' host classes differ (wall times only, unless allowed) or no case
/// is in both runs. Also throws it when cases of one id name different workloads or models, or read files of different
/// content by the digests of plan.json. Where a plan has no digests, a note says that this is not known. Throws
/// InvalidInput and SystemError like `read_summary`.
CompareReport compare_runs(const std::string& base, const std::string& changed, const CompareOptions& options = {});

/// The comparison of two rows, which may be of different cases.
Comparison compare_rows(const LoadedRun& base, const Row& before, const LoadedRun& changed, const Row& after,
                        const CompareOptions& options);

/// The report as JSON, and as a text table that ends with the outcome.
Json compare_to_json(const CompareReport& report);
std::string compare_table(const CompareReport& report);

/// Measures on runs of one program and plan how often this machine reports a difference where there is none.
struct SelfCheck {
  std::map<std::string, int> verdicts;  // by verdict; FASTER and SLOWER are false
  int judged = 0;
  std::vector<double> widths;  // half widths of the 99 % intervals, in percent, in ascending order
  int found_planted = 0;       // cases whose planted 10 % was called SLOWER
};
inline constexpr double planted_factor = 1.1;
SelfCheck self_check(const std::string& base, const std::string& changed, CompareOptions options);
Json self_check_to_json(const SelfCheck& check);
std::string self_check_text(const SelfCheck& check);

}  // namespace strobe
