// `strobe plot`: draws a figure of runs with the script of this name in scripts/figures.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "core/system/program_files.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/figure.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/output_path.hpp"
#include "harness/process/python.hpp"
#include "harness/request/option_text.hpp"
#include "results/run/loaded_run.hpp"

namespace strobe {
namespace {

struct PlotRequest {
  std::vector<std::string> words;  // KIND RUN...
  std::string out, format = "png,svg", width = "page", title;
};

void check_choices(const std::string& option, const std::string& text, const std::vector<std::string>& known) {
  const std::vector<std::string> given = split_text(text, ',');
  if (given.empty()) throw InvalidRequest(option, fmt::format("expected one of {}", fmt::join(known, ", ")));
  for (const std::string& word : given)
    if (std::find(known.begin(), known.end(), word) == known.end())
      throw InvalidRequest(option, unknown_name_message("value", word, known));
}

void check_plot(const PlotRequest& request) {
  const std::vector<std::string> kinds = figure_kinds();
  if (request.words.empty())
    throw InvalidRequest("KIND", fmt::format("which figure? One of: {}", fmt::join(kinds, ", ")));
  if (request.words.front().ends_with(".py"))
    throw InvalidRequest("KIND",
                         fmt::format("'{}' is a script of your own; type python3 {} with the run directory, whose "
                                     "rows `strobe show RUN --format csv` or the Python package strobe_results "
                                     "read",
                                     request.words.front(), request.words.front()));
  if (std::find(kinds.begin(), kinds.end(), request.words.front()) == kinds.end())
    throw InvalidRequest("KIND", unknown_name_message("figure", request.words.front(), kinds));
  if (request.words.size() < 2) throw InvalidRequest("RUN", "name at least one run directory");
  for (std::size_t i = 1; i < request.words.size(); ++i) check_rows(request.words[i]);
  check_choices("--format", request.format, {"png", "svg", "pdf"});
  check_choices("--width", request.width, {"column", "page"});
}

int plot(const PlotRequest& request) {
  check_plot(request);
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(request.words[1], ignored);
  const std::string out = !request.out.empty() ? request.out : folder ? request.words[1] + "/figures" : ".";
  make_output_folder("--out", out);
  const std::string python = find_python("matplotlib");
  if (python.empty())
    throw Unavailable(
        "figures need Python with matplotlib (apt: python3-matplotlib; $STROBE_PYTHON chooses the interpreter)");
  std::vector<std::string> words = {python,
                                    fmt::format("{}/{}.py", program_folder(STROBE_FIGURE_DIR), request.words.front())};
  for (std::size_t i = 1; i < request.words.size(); ++i)
    words.push_back(request.words[i].front() == '-' ? "./" + request.words[i] : request.words[i]);
  words.insert(words.end(), {"--out", out, "--format", request.format, "--width", request.width});
  if (!request.title.empty()) words.push_back("--title=" + request.title);
  const std::string said = run_script(words, "RUN", "the figure could not be drawn");
  for (const std::string& line : split_text(said, '\n'))  // names of files, and notes on rows that are not drawn
    line.rfind(out + "/", 0) == 0 ? print_data(line + "\n") : narrate(line);
  return 0;
}

CommandAction define_plot(CommandOptions& options) {
  const auto request = std::make_shared<PlotRequest>();
  options.positionals(
      "KIND RUN", request->words,
      fmt::format("which figure ({}), and the run directories that it is of", fmt::join(figure_kinds(), ", ")));
  options.text("--out", request->out, "folder for the figure (default: figures in the first run directory)", "DIR");
  options.text("--format", request->format, "png, svg, pdf, several with commas (default png,svg)", "FORMATS");
  options.text("--width", request->width,
               "column: one column of a paper, 3.5 inches; page: as wide as the panels need (default page)",
               "column|page");
  options.text("--title", request->title, "a heading (default: none)", "WORDS");
  options.example(
      "Prints the files that were written.\n"
      "Examples: strobe plot scaling runs/sweep\n"
      "          strobe plot curves runs/a runs/b --format pdf --width column --out figures");
  return [request] { return plot(*request); };
}

const Register<CommandTag> plot_registered{
    {"plot", "draw a figure of runs: scaling, phases, curves, memory and others", "", {}, define_plot, {}}};

}  // namespace

std::vector<std::string> figure_kinds() {
  std::vector<std::string> kinds;  // scripts that draw the rows of runs; other scripts draw other files
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(program_folder(STROBE_FIGURE_DIR), ignored)) {
    if (entry.path().extension() != ".py") continue;
    std::ifstream stream(entry.path());
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (text.find("looks.main(") != std::string::npos) kinds.push_back(entry.path().stem().string());
  }
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

}  // namespace strobe
