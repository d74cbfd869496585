// Invariant: this process checks exactly the work that the processes of the rounds will do. It frees its plans before
// the rounds run, so that they take no memory.
#include "harness/measure/run_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/errors.hpp"
#include "core/shown_text.hpp"
#include "harness/measure/kept_request.hpp"
#include "harness/measure/rounds.hpp"
#include "harness/measure/run_checks.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/node_data.hpp"
#include "harness/process/output_path.hpp"
#include "harness/process/signals.hpp"
#include "harness/request/option_text.hpp"
#include "harness/request/output_files.hpp"
#include "results/answer/conclusion.hpp"
#include "results/row/table.hpp"
#include "results/run/environment.hpp"

namespace strobe {
namespace {

void refuse_files_of_one_training(const RunRequest& request) {
  for (const AskedFile& file : asked_files(request.outputs))
    throw InvalidRequest(file.flag,
                         "writes the file of one training run, but --rounds trains several times; leave --rounds out");
}

void check_processes(const RunRequest& request, const World& world) {
  if (world.size > 1) {
    throw InvalidRequest("--rounds",
                         fmt::format("each round needs new processes, but {} were launched for the whole run "
                                     "(according to {}); start one process and give --launch \"mpirun -n {{ranks}}\"",
                                     world.size, world.launcher));
  }
  if (request.launch.empty()) return;
  if (const std::string fault = fault_of_launch(request.launch); !fault.empty())
    throw InvalidRequest("--launch", fault);
}

/// With --launch, only the launched processes can plan a case. The first one reports mistakes.
void check_cases(const RunRequest& request, Suite& suite) {
  if (!request.launch.empty()) return;
  const Ranks alone;
  KeptPlans plans(node_store_of(alone, least_host_limit(suite.cases)), ranks_of_node(alone));
  check_all(request, suite, alone, plans, false);
}

RunDirectory open_directory(RunRequest& request, const Suite& suite) {
  const std::string folder = output_folder(request, suite);
  refuse_foreign_folder("--out", folder, {request.suite});
  make_output_folder("--out", folder);
  if (request.session.empty()) request.session = new_session(folder);
  try {
    return {folder,
            plan_json(suite.cases),
            environment(),
            request.resume,
            data_digests(suite.cases),
            request.retry_failed,
            kept_outputs(request)};
  } catch (const SystemError& error) {  // nothing is measured yet, so the user can choose another folder
    throw InvalidRequest("--out", error.what());
  }
}

/// Impossible combinations get their rows at once; the other cases run in turn.
RoundSide side_of(const Suite& suite, RunDirectory& directory) {
  RoundSide side;
  side.directory = &directory;
  for (const Case& c : suite.cases) {
    const std::string id = case_id(c);
    const auto refusal = suite.impossible.find(id);
    if (refusal == suite.impossible.end())
      side.cases.push_back({case_to_json(c), id, {}, {}, false});
    else if (!directory.finished(id))
      directory.add_row(summarise(case_to_json(c), id, skipped_case(c, refusal->second.message())));
  }
  return side;
}

constexpr int fewest_rounds_of_interval = 5;  // below, one slow process decides the interval
constexpr int most_rounds_of_interval = 101;  // then the machine is too noisy for the interval that was asked for

/// Whether --until-interval asks for more rounds. Says how wide the widest interval is, and why it cannot be narrower.
bool wants_more_rounds(const RunRequest& request, const std::string& folder, int rounds) {
  if (request.until_interval.empty()) return false;
  const double wanted = share_from_text(request.until_interval, "--until-interval");
  const WidestInterval widest = widest_interval(folder);
  if (widest.of.empty()) {
    narrate("no two cases can be compared, so there is no interval to narrow");
    return false;
  }
  if (widest.share <= wanted) return false;
  const bool goes_on = rounds + 2 <= most_rounds_of_interval;
  narrate(fmt::format(
      "after {} rounds the interval of {} relative to {} reaches {:.2g} % to either side{}", rounds, widest.of,
      widest.than, 100 * widest.share,
      goes_on ? "" : "; the machine is too noisy for a narrower one; use a quieter machine or longer epochs"));
  return goes_on;
}

}  // namespace

std::string table_on_terminal(const RunDirectory& directory) {
  TableOptions requests;
  requests.width = terminal_width();
  const std::string conclusion = conclusion_of(directory.path());
  return rows_table(directory.rows(), requests) +
         (conclusion.empty() ? "" : "\n" + wrapped_lines(conclusion, requests.width));
}

bool asks_for_rounds(const RunRequest& request) {
  const int rounds = number_of_rounds(request.rounds);
  const bool until_interval = !request.until_interval.empty();
  if (until_interval) share_from_text(request.until_interval, "--until-interval");
  if (rounds == 1 && !until_interval && !request.launch.empty()) throw InvalidRequest("--launch", "needs --rounds");
  return rounds > 1 || until_interval;
}

int run_in_rounds(RunRequest& request, Suite& suite, const World& world) {
  check_processes(request, world);
  refuse_files_of_one_training(request);
  check_cases(request, suite);
  install_signal_handlers();
  RunDirectory directory = open_directory(request, suite);
  RoundPlan plan{number_of_rounds(request.rounds), request.session};
  if (!request.until_interval.empty()) plan.rounds = std::max(plan.rounds, fewest_rounds_of_interval);
  narrate(fmt::format("{} in {} rounds into {}", counted(suite.cases.size(), "case"), plan.rounds, directory.path()));
  std::vector<RoundSide> sides{side_of(suite, directory)};
  sides.front().process.launch = request.launch;
  sides.front().outputs = kept_outputs(request);
  for (const char* key : {"rounds", "launch", "session"}) sides.front().outputs.erase(key);
  take_left_rounds(sides.front());
  for (const RoundCase& c : sides.front().cases)  // an earlier run may have asked for more
    for (const RoundRecord& record : c.records) plan.rounds = std::max(plan.rounds, record.round + 1);
  bool all_ok = run_rounds(sides, plan);
  while (all_ok && wants_more_rounds(request, directory.path(), plan.rounds)) {
    plan.rounds += 2;
    all_ok = run_rounds(sides, plan);
  }
  print_data(request.json ? read_text_file(directory.file("summary.json")) : shown_lines(table_on_terminal(directory)));
  return all_ok ? 0 : 1;
}

}  // namespace strobe
