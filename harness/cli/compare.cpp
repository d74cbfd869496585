// `strobe compare`: compares two runs, with a gate for continuous integration; or configurations; or a machine with
// itself.
#include "results/compare/compare.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/shown_text.hpp"
#include "harness/cli/command.hpp"
#include "harness/measure/rerun.hpp"
#include "harness/process/narrate.hpp"
#include "harness/request/option_text.hpp"
#include "results/answer/answer.hpp"

namespace strobe {
namespace {

struct CompareRequest {
  RerunRequest measured;        // BASE, NEW and how to measure them again
  std::string threshold = "5";  // percent
  std::string by, min_verdicts;
  std::vector<std::string> more;  // runs, with --by
  bool allow_different_host = false, fail_on_regression = false, json = false, rerun = false, self_check = false;
};

/// Reports runs that cannot be read as a wrong request.
template <class Work>
auto reading_runs(const Work& work) {
  try {
    return work();
  } catch (const SystemError& error) {
    throw InvalidRequest("BASE and NEW", std::string("run directories are needed; ") + error.what());
  }
}

void print_report(const CompareRequest& request, const Json& json, const std::string& text) {
  print_data(request.json ? json.dump(2) + "\n" : shown_lines(text));
}

/// Exit statuses of a failed gate, and of a gate or self-check with too few verdicts.
constexpr int regression_status = 3, undecided_status = 7;

int gate_status(GateOutcome outcome) {
  if (outcome == GateOutcome::passed) return 0;
  return outcome == GateOutcome::failed ? regression_status : undecided_status;
}

int compare_two(const CompareRequest& request, const std::string& base, const std::string& changed,
                const CompareOptions& options) {
  const CompareReport report = reading_runs([&] { return compare_runs(base, changed, options); });
  print_report(request, compare_to_json(report), compare_table(report));
  return request.fail_on_regression ? gate_status(report.outcome) : 0;
}

int check_machine(const CompareRequest& request, const CompareOptions& options) {
  if (!request.measured.changed.empty() || !request.by.empty() || request.rerun || request.fail_on_regression) {
    throw InvalidRequest("--self-check",
                         "runs one plan twice: give one run directory or none, and neither --rerun, --by nor a gate");
  }
  RerunRequest twice = request.measured;
  twice.changed = twice.base;
  twice.changed_program = twice.base_program;
  const auto [base, changed] = rerun(twice);
  const SelfCheck check = self_check(base, changed, options);
  const CompareReport report = compare_runs(base, changed, options);
  print_report(request, {{"self_check", self_check_to_json(check)}, {"report", compare_to_json(report)}},
               compare_table(report) + self_check_text(check));
  return check.judged == 0 ? undecided_status : 0;
}

int compare_configurations(const CompareRequest& request, const CompareOptions& options) {
  if (request.rerun || request.fail_on_regression)
    throw InvalidRequest("--by", "compares cases of finished runs; leave out --rerun and --fail-on-regression");
  std::vector<std::string> runs{request.measured.base};
  if (!request.measured.changed.empty()) runs.push_back(request.measured.changed);
  runs.insert(runs.end(), request.more.begin(), request.more.end());
  const Answers answers = reading_runs([&] {
    std::vector<LoadedRun> loaded;
    for (const std::string& run : runs) loaded.push_back(load_run(run));
    return answer(loaded, request.by, options);
  });
  print_report(request, answers_to_json(answers), answers_text(answers));
  return 0;
}

void refuse_options_of_processes(const RerunRequest& measured) {
  for (const auto& [flag, value] : {std::pair{"--rounds", &measured.rounds},
                                    {"--base-program", &measured.base_program},
                                    {"--new-program", &measured.changed_program},
                                    {"--filter", &measured.filter},
                                    {"--out", &measured.out},
                                    {"--launch", &measured.launch}})
    if (!value->empty()) throw InvalidRequest(flag, "goes with --rerun or --self-check, which measure");
}

/// Refuses the number without a gate, where it has no effect.
int min_verdicts_of(const CompareRequest& request) {
  if (request.min_verdicts.empty()) return CompareOptions().min_verdicts;
  if (!request.fail_on_regression)
    throw InvalidRequest("--min-verdicts", "goes with --fail-on-regression, the gate that it is for");
  if (request.min_verdicts == "all") return all_verdicts;
  char* end = nullptr;
  const double number = std::strtod(request.min_verdicts.c_str(), &end);
  if (*end != '\0' || !(number >= 1 && number <= 1e9 && number == std::floor(number)))
    throw InvalidRequest("--min-verdicts", fmt::format("'{}' is neither a whole number of cases from 1 to 1000000000 "
                                                       "nor 'all'",
                                                       request.min_verdicts));
  return static_cast<int>(number);
}

CompareOptions options_of(const CompareRequest& request) {
  // "3%" is 3 percent, and so is 0.03; numbers from 1 on were percent before there was a sign for it.
  const bool has_sign = request.threshold.ends_with('%');
  const std::string number = request.threshold.substr(0, request.threshold.size() - (has_sign ? 1 : 0));
  const double typed = number_from_text(number, "--threshold");
  const double percent = !has_sign && typed < 1 ? 100 * typed : typed;
  if (!std::isfinite(percent) || percent < 0) {
    throw InvalidRequest("--threshold", fmt::format("{} is not a percentage of at least 0", percent));
  }
  CompareOptions options;
  options.threshold = percent / 100;
  options.allow_different_host = request.allow_different_host;
  options.min_verdicts = min_verdicts_of(request);
  return options;
}

int compare(const CompareRequest& request) {
  const CompareOptions options = options_of(request);
  const RerunRequest& measured = request.measured;
  if (!request.more.empty() && request.by.empty())
    throw InvalidRequest("",
                         fmt::format("two runs are compared, BASE and NEW; '{}' goes with --by", request.more.front()));
  if (request.self_check) return check_machine(request, options);
  if (measured.base.empty() || (measured.changed.empty() && !request.rerun && request.by.empty()))
    throw InvalidRequest("", "compare needs two run directories: BASE and NEW (--by KEY and --rerun do with one)");
  if (!request.rerun) refuse_options_of_processes(measured);
  if (!request.by.empty()) return compare_configurations(request, options);
  if (!request.rerun) return compare_two(request, measured.base, measured.changed, options);
  RerunRequest both = measured;
  if (both.changed.empty()) both.changed = both.base;
  const auto [base, changed] = rerun(both);
  return compare_two(request, base, changed, options);
}

void define_measuring(CommandOptions& options, CompareRequest& request) {
  RerunRequest& measured = request.measured;
  options.toggle("--rerun", request.rerun,
                 "measure the plans of BASE and NEW again, their processes in turn (A B, B A, ...), then compare; "
                 "without NEW, BASE's plan twice");
  options.text("--base-program", measured.base_program, "with --rerun: the strobe that runs BASE (default: this one)",
               "PROGRAM");
  options.text("--new-program", measured.changed_program,
               "with --rerun: the strobe that runs NEW, such as one built from another revision", "PROGRAM");
  options.toggle("--self-check", request.self_check,
                 "measure one plan twice (BASE's, or a bundled suite's): how often this machine shows a difference "
                 "where there is none, and whether it would show 10 %");
  options.text("--rounds", measured.rounds, "processes of each case a side (default 5)", "N");
  options.text("--launch", measured.launch, "words before each process, such as \"mpirun -n {ranks}\"", "WORDS");
  options.text("--filter", measured.filter,
               "with --rerun or --self-check: keep the cases whose id matches this expression; -EXPR drops them",
               "EXPR");
  options.text("--out", measured.out,
               "with --rerun or --self-check: folder for the new measurements (default runs/compare-UTCTIME)", "DIR");
}

CommandAction define_compare(CommandOptions& options) {
  const auto request = std::make_shared<CompareRequest>();
  RerunRequest& measured = request->measured;
  options.positional("BASE", measured.base, "run directory to compare with");
  options.positional("NEW", measured.changed, "run directory to judge");
  options.positionals("MORE", request->more, "with --by: further run directories");
  options.text("--threshold", request->threshold,
               "smallest change of the median that counts, such as 3% or 0.03 (default 5%)", "X");
  options.text(
      "--by", request->by,
      "compare the cases that differ in this field alone, such as strategy or model.hidden: which is fastest, and why",
      "KEY");
  define_measuring(options, *request);
  options.toggle("--allow-different-host", request->allow_different_host, "compare wall times of different machines");
  options.toggle("--fail-on-regression", request->fail_on_regression,
                 "exit with 3 when a case is slower, missing or failing, with 7 when too few cases have a verdict");
  options.text("--min-verdicts", request->min_verdicts,
               "with --fail-on-regression: number of cases that must have a verdict (default 1), or all of both runs",
               "N|all");
  options.toggle("--json", request->json, "print JSON");
  options.example(
      "Examples: strobe compare runs/before runs/after --fail-on-regression\n"
      "          strobe compare runs/before --rerun --new-program build-new/strobe --rounds 5 --fail-on-regression\n"
      "          strobe compare runs/all --by strategy\n"
      "          strobe compare --self-check");
  return [request] { return compare(*request); };
}

const Register<CommandTag> compare_registered{
    {"compare",
     "two runs side by side: ratio and verdict per case; or configurations, or this machine with itself",
     "",
     {},
     define_compare,
     {}}};

}  // namespace
}  // namespace strobe
