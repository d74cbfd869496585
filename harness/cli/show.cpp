// `strobe show`: prints the rows of runs as a table.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "core/shown_text.hpp"
#include "harness/cli/command.hpp"
#include "harness/process/narrate.hpp"
#include "harness/request/option_text.hpp"
#include "harness/request/suite.hpp"
#include "results/answer/conclusion.hpp"
#include "results/row/table.hpp"
#include "results/run/loaded_run.hpp"

namespace strobe {
namespace {

struct ShowRequest {
  std::vector<std::string> runs;
  std::string by, over, columns, sort, format = "text", filter;
  bool interval = false;
};

TableFormat format_of(const std::string& name) {
  const std::vector<std::pair<std::string, TableFormat>> formats{{"text", TableFormat::text},
                                                                 {"csv", TableFormat::csv},
                                                                 {"markdown", TableFormat::markdown},
                                                                 {"latex", TableFormat::latex}};
  std::vector<std::string> names;
  for (const auto& [known, format] : formats) {
    if (known == name) return format;
    names.push_back(known);
  }
  throw InvalidRequest("--format", unknown_name_message("format", name, names));
}

/// Throws InvalidRequest where neither a run directory nor a file has this name.
void check_run(const std::string& run) {
  std::error_code ignored;
  const std::string path = std::filesystem::is_directory(run, ignored) ? run + "/summary.json" : run;
  if (!std::filesystem::is_regular_file(path, ignored))
    throw InvalidRequest("RUN", fmt::format("'{}' is not a run directory: it has no {}", run, path));
}

int show(const ShowRequest& request) {
  if (request.runs.empty()) throw InvalidRequest("RUN", "name at least one run directory");
  TableOptions requests;
  requests.by = split_text(request.by, ',');
  requests.over = split_text(request.over, ',');
  requests.columns = split_text(request.columns, ',');
  requests.sort = request.sort;
  requests.format = format_of(request.format);
  requests.interval = request.interval;
  requests.width = terminal_width();
  const auto wanted = id_filter(request.filter);
  std::vector<Row> rows;
  std::vector<std::string> runs;
  for (const std::string& run : request.runs) {
    check_run(run);
    for (Row& row : summary_of_run(run).rows) {
      if (!wanted(row.case_id)) continue;
      rows.push_back(std::move(row));
      runs.push_back(run);
    }
  }
  if (rows.empty()) throw InvalidRequest(request.filter.empty() ? "RUN" : "--filter", "there is no row to show");
  std::string table = rows_table(rows, requests, runs);
  if (requests.format == TableFormat::text && request.by.empty()) {
    const std::string conclusion = conclusion_of(request.runs, wanted);
    if (!conclusion.empty()) table += "\n" + wrapped_lines(conclusion, requests.width);
  }
  print_data(requests.format == TableFormat::csv ? table : shown_lines(table));
  return 0;
}

CommandAction define_show(CommandOptions& options) {
  const auto request = std::make_shared<ShowRequest>();
  options.positionals("RUN", request->runs, "run directories, or files summary.json");
  options.text("--by", request->by,
               "keys, such as strategy,ranks: one line for each combination, with mean and spread over everything else",
               "KEYS");
  options.text("--over", request->over,
               "keys whose values share a line, with mean and spread (default: seed, where it varies)", "KEYS");
  options.toggle("--interval", request->interval,
                 "show half the 95 % interval of each mean (Student's t) in place of the standard deviation");
  options.text("--columns", request->columns,
               "what to show: keys of a case (model.hidden) and quantities (epoch, loss, auc, memory, ...); a wrong "
               "name lists them all",
               "NAMES");
  options.text("--sort", request->sort, "order of the lines, by this column; -NAME: largest first", "[-]NAME");
  options.text("--filter", request->filter, "keep the cases whose id matches this expression; -EXPR drops them",
               "EXPR");
  options.text("--format", request->format, "how the table is written (default text)", "text|csv|markdown|latex");
  options.example(
      "Examples: strobe show runs/sweep --sort epoch\n"
      "          strobe show runs/a runs/b --by strategy,ranks --columns strategy,ranks,epoch,auc --format latex");
  return [request] { return show(*request); };
}

const Register<CommandTag> show_registered{
    {"show", "print the rows of runs as a table: varied settings and their results", "", {}, define_show, {}}};

}  // namespace
}  // namespace strobe
