// `strobe report`: writes one HTML page about runs with scripts/report_page.py.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "core/system/program_files.hpp"
#include "harness/cli/command.hpp"
#include "harness/measure/run_request.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/output_path.hpp"
#include "harness/process/python.hpp"
#include "results/answer/conclusion.hpp"
#include "results/row/facts.hpp"
#include "results/run/files.hpp"
#include "results/run/loaded_run.hpp"

namespace strobe {
namespace {

struct ReportRequest {
  std::vector<std::string> runs;
  std::string out, title, cluster;
};

/// The peaks that the report compares measured operations with; "" without a cluster.
std::string peaks_of(const ReportRequest& request) {
  if (request.cluster.empty()) return "";
  check_cluster(request.cluster, "--cluster");
  const auto cluster = load_cluster(request.cluster);
  return fmt::format("{},{},{}", cluster->gpu.flops_fp32_per_second, cluster->gpu.flops_fp64_per_second,
                     cluster->gpu.memory_bytes_per_second);
}

int report(const ReportRequest& request) {
  if (request.runs.empty()) throw InvalidRequest("RUN", "name at least one run directory");
  for (const std::string& run : request.runs) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(run, ignored))
      throw InvalidRequest("RUN", fmt::format("there is no run directory '{}'", run));
    check_rows(run);
  }
  const std::string out = request.out.empty() ? request.runs.front() + "/report.html" : request.out;
  check_output_file("--out", out);
  const std::string peaks = peaks_of(request);
  const std::string python = find_python("matplotlib jinja2");
  if (python.empty())
    throw Unavailable(
        "a report needs Python with matplotlib and Jinja2 (apt: python3-matplotlib python3-jinja2; $STROBE_PYTHON "
        "chooses the interpreter)");
  const ScratchFolder scratch;
  std::vector<std::string> words = {python, program_folder(STROBE_FIGURE_DIR) + "/../report_page.py"};
  for (const std::string& run : request.runs) words.push_back(run.front() == '-' ? "./" + run : run);
  const std::string page = scratch.file("page.html"), folder = std::filesystem::path(out).parent_path().string();
  words.insert(words.end(), {"--out", page, "--beside", folder.empty() ? "." : folder, "--title=" + request.title});
  if (!peaks.empty()) words.push_back("--peaks=" + peaks);
  if (const Json kinds = fact_sections(); !kinds.empty()) {
    write_file_atomically(scratch.file("kinds.json"), kinds.dump());
    words.push_back("--kinds=" + scratch.file("kinds.json"));
  }
  if (const Json answers = answers_of(request.runs); !answers.empty()) {
    try {
      write_file_atomically(scratch.file("answers.json"), answers.dump());
    } catch (const SystemError& error) {
      throw SystemError(fmt::format("the report {} could not be written: {}", out, error.what()));
    }
    words.push_back("--answers=" + scratch.file("answers.json"));
  }
  run_script(words, "RUN", fmt::format("the report {} could not be written", out));
  write_file_atomically(out, read_text_file(page));
  narrate("wrote " + out);
  return 0;
}

CommandAction define_report(CommandOptions& options) {
  const auto request = std::make_shared<ReportRequest>();
  options.positionals("RUN", request->runs, "run directories");
  options.text("--out", request->out, "the page (default: report.html in the first run directory)", "FILE");
  options.text("--title", request->title, "its heading (default: the names of the runs)", "WORDS");
  options.text(
      "--cluster", request->cluster,
      "cluster file of strobe calibrate with the peaks for the roofline of measured operations (default: none; "
      "predicted rows have their own)",
      "NAME|FILE");
  options.example("Example: strobe report runs/a runs/b --out report.html");
  return [request] { return report(*request); };
}

const Register<CommandTag> report_registered{
    {"report",
     "write one HTML page about runs: which is fastest and how sure that is, phases, scaling, bytes, metrics",
     "",
     {},
     define_report,
     {}}};

}  // namespace
}  // namespace strobe
