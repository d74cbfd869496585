// The process gets a run directory with its plan and leaves all its results there. So every program is started in the
// same way: this one, an older one, or several processes under a launcher.
#include "harness/measure/fresh_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/system/interrupt.hpp"
#include "harness/process/python.hpp"
#include "harness/request/json_text.hpp"
#include "results/row/sample_lines.hpp"
#include "results/run/run_directory.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

constexpr const char* ranks_place = "{ranks}";

std::string this_program() {
  std::error_code failed;
  const fs::path path = fs::read_symlink("/proc/self/exe", failed);
  if (failed) throw SystemError("cannot find this program's own file: /proc/self/exe: " + failed.message());
  return path.string();
}

std::vector<std::string> words_of(const ProcessRequest& request, const Json& case_json, const std::string& folder) {
  std::vector<std::string> words;
  const std::string ranks = std::to_string(case_json.value("ranks", std::int64_t{1}));
  std::istringstream launch(request.launch);
  for (std::string word; launch >> word;) {
    if (const std::size_t at = word.find(ranks_place); at != std::string::npos)
      word.replace(at, std::string(ranks_place).size(), ranks);
    words.push_back(word);
  }
  words.push_back(request.program.empty() ? this_program() : request.program);
  for (const char* word : {"run", "--resume"}) words.emplace_back(word);
  words.push_back(folder);
  return words;
}

/// Passes the first signal on to the child. A second signal ends this program in its handler.
int wait_for(pid_t child) {
  int state = 0, handed_on = 0;
  while (waitpid(child, &state, 0) != child) {
    if (errno != EINTR) throw SystemError("cannot wait for a process that Strobe started");
    const int signal = stop_signal().load();
    if (signal != 0 && handed_on++ == 0) kill(child, signal);
  }
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

int run_words(const std::vector<std::string>& words, const std::string& log) {
  pid_t child = 0;
  if (const int failure = start_program(words, log, child); failure != 0)
    throw Unavailable(fmt::format("cannot start {}: {}", words.front(), std::strerror(failure)));
  return wait_for(child);
}

/// The last line that begins with the program's name, without that name. Else the first line that is not empty.
std::string last_words(const std::string& log) {
  std::istringstream lines(words_in(log));
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("strobe: "))
      last = line.substr(8);
    else if (last.empty() && !line.empty())
      last = line;
  }
  return last.empty() ? "it printed nothing" : last;
}

Row row_of_failure(const Json& case_json, const std::string& case_id, int status, const std::string& words) {
  CaseResult result;
  result.status = "failed";
  result.reason = fmt::format("its process ended with status {}: {}", status, words);
  return summarise(case_json, case_id, result);
}

void take_row(const std::string& folder, ProcessOutcome& outcome) {
  const Summary summary = read_summary(folder + "/summary.json");
  if (summary.rows.size() != 1) return;
  outcome.row = summary.rows.front();
  auto samples = read_samples(folder + "/samples.jsonl");
  outcome.samples = std::move(samples[outcome.row.case_id]);
  const std::string trace = folder + "/trace/" + file_name_of_case(outcome.row.case_id) + ".json";
  std::error_code ignored;
  if (fs::exists(trace, ignored)) outcome.trace = trace;
}

}  // namespace

std::string fault_of_launch(const std::string& launch) {
  std::istringstream words(launch);
  std::string first;
  if (!(words >> first)) return "is empty; give the words before the program, such as 'mpirun -n {ranks}'";
  if (launch.find_first_of("'\"\\") == std::string::npos) return "";
  return "is split at blanks and does not understand quotes or backslashes; put them into a script and name the script";
}

ProcessOutcome run_in_process(const ProcessRequest& request, const Json& case_json, const std::string& case_id,
                              const Json& outputs, const std::string& folder) {
  if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  // This object writes the plan and releases the folder, so that the process can open it.
  { const RunDirectory plan(folder, Json::array({case_json}), Json::object(), false, Json::object(), false, outputs); }
  Json plan = read_json_file(folder + "/plan.json");
  plan.erase("data");  // the process with the whole plan compares these digests with the files
  write_file_atomically(folder + "/plan.json", with_digest(plan).dump(2) + "\n");
  ProcessOutcome outcome;
  const std::string log = folder + "/logs/process.log";
  outcome.status = run_words(words_of(request, case_json, folder), log);
  if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
  take_row(folder, outcome);
  if (outcome.row.status == "interrupted" || (outcome.row.case_id.empty() && outcome.status == 128 + SIGINT))
    throw Interrupted(outcome.status > 128 ? outcome.status - 128 : SIGINT);
  if (outcome.row.case_id.empty()) outcome.row = row_of_failure(case_json, case_id, outcome.status, last_words(log));
  return outcome;
}

}  // namespace strobe
