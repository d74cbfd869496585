// `strobe plot`: draws a figure of runs with the script of this name in scripts/figures or $STROBE_FIGURES, or with a
// file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
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
#include "results/answer/conclusion.hpp"
#include "results/run/files.hpp"
#include "results/run/loaded_run.hpp"

namespace strobe {
namespace {

struct PlotRequest {
  std::vector<std::string> words;  // KIND RUN...
  std::string out, format = "png,svg", width = "page", font_size, order, scale, title;
  bool no_caption = false;
};

/// The scripts that draw the rows of runs, by name: Strobe's own and those in the folders of $STROBE_FIGURES.
/// The first with a name counts. Other scripts draw other files.
std::map<std::string, std::string> figure_scripts() {
  std::map<std::string, std::string> scripts;
  const char* const named = std::getenv("STROBE_FIGURES");
  std::istringstream folders(program_folder(STROBE_FIGURE_DIR) + ":" + (named == nullptr ? "" : named));
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code ignored;
    if (folder.empty()) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      if (entry.path().extension() != ".py") continue;
      std::ifstream stream(entry.path());
      const std::string text{std::istreambuf_iterator<char>(stream), {}};
      if (text.find("looks.main(") != std::string::npos)
        scripts.emplace(entry.path().stem().string(), std::filesystem::absolute(entry.path()).string());
    }
  }
  return scripts;
}

/// The script of a kind, or the user's own file. Throws InvalidRequest.
std::string script_of(const std::string& kind) {
  std::error_code ignored;
  if (kind.ends_with(".py")) {
    if (std::filesystem::is_regular_file(kind, ignored)) return std::filesystem::absolute(kind).string();
    throw InvalidRequest("KIND", fmt::format("there is no file '{}'", kind));
  }
  const auto scripts = figure_scripts();
  const auto found = scripts.find(kind);
  if (found != scripts.end()) return found->second;
  throw InvalidRequest("KIND", unknown_name_message("figure", kind, figure_kinds()) +
                                   "; a figure of your own is a file FILE.py (docs/howto/own_figure.md)");
}

/// Checks a number followed by one of these units.
void check_length(const std::string& option, const std::string& text, const std::vector<std::string>& units,
                  const std::string& example) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  const std::string unit = end == std::string::npos ? "" : text.substr(end);
  if (end != 0 && std::find(units.begin(), units.end(), unit) != units.end() && std::atof(text.c_str()) > 0) return;
  throw InvalidRequest(option, fmt::format("'{}': expected {}", text, example));
}

void check_choices(const std::string& option, const std::string& text, const std::vector<std::string>& known) {
  const std::vector<std::string> given = split_text(text, ',');
  if (given.empty()) throw InvalidRequest(option, fmt::format("expected one of {}", fmt::join(known, ", ")));
  for (const std::string& word : given)
    if (std::find(known.begin(), known.end(), word) == known.end())
      throw InvalidRequest(option, unknown_name_message("value", word, known));
}

void check_plot(const PlotRequest& request) {
  if (request.words.empty())
    throw InvalidRequest("KIND", fmt::format("which figure? One of: {}, or FILE.py", fmt::join(figure_kinds(), ", ")));
  script_of(request.words.front());
  if (request.words.size() < 2) throw InvalidRequest("RUN", "name at least one run directory");
  for (std::size_t i = 1; i < request.words.size(); ++i) check_rows(request.words[i]);
  check_choices("--format", request.format, {"png", "svg", "pdf"});
  if (request.width != "column" && request.width != "page")
    check_length("--width", request.width, {"in", "cm", "mm", "pt"}, "a length such as 8cm, 3.5in, column or page");
  if (!request.font_size.empty()) check_length("--font-size", request.font_size, {"pt", ""}, "points, such as 8pt");
  if (!request.scale.empty()) check_choices("--scale", request.scale, {"log", "linear"});
}

/// The flags of a script of figures; `answers`: a file with the answer of `strobe compare`, "" = none.
std::vector<std::string> flags_of(const PlotRequest& request, const std::string& out, const std::string& answers) {
  std::vector<std::string> words{"--out", out, "--format", request.format, "--width", request.width};
  for (const auto& [flag, value] : {std::pair{"--font-size", &request.font_size},
                                    {"--order", &request.order},
                                    {"--scale", &request.scale},
                                    {"--title", &request.title},
                                    {"--answers", &answers}})
    if (!value->empty()) words.push_back(fmt::format("{}={}", flag, *value));
  if (request.no_caption) words.emplace_back("--no-caption");
  return words;
}

/// Lets scripts outside of scripts/figures import the package strobe_figures.
void lend_figures_package() {
  const char* const others = std::getenv("PYTHONPATH");
  const std::string folder = std::filesystem::absolute(program_folder(STROBE_FIGURE_DIR)).string();
  setenv("PYTHONPATH", (folder + (others == nullptr ? "" : std::string(":") + others)).c_str(), 1);
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
  std::vector<std::string> words = {python, script_of(request.words.front())};
  for (std::size_t i = 1; i < request.words.size(); ++i)
    words.push_back(request.words[i].front() == '-' ? "./" + request.words[i] : request.words[i]);
  const ScratchFolder scratch;
  std::string answers;
  if (!request.no_caption) {
    if (const Json found = answers_of({request.words.begin() + 1, request.words.end()}); !found.empty()) {
      answers = scratch.file("answers.json");
      try {
        write_file_atomically(answers, found.dump());
      } catch (const SystemError& error) {
        throw SystemError(fmt::format("no figure could be written into {}/: {}", out, error.what()));
      }
    }
  }
  const std::vector<std::string> flags = flags_of(request, out, answers);
  words.insert(words.end(), flags.begin(), flags.end());
  lend_figures_package();
  const std::string said = run_script(words, "RUN", "the figure could not be drawn");
  for (const std::string& line : split_text(said, '\n'))  // names of files, and notes on rows that are not drawn
    line.rfind(out + "/", 0) == 0 ? print_data(line + "\n") : narrate(line);
  return 0;
}

CommandAction define_plot(CommandOptions& options) {
  const auto request = std::make_shared<PlotRequest>();
  options.positionals("KIND RUN", request->words,
                      fmt::format("which figure ({}, or a Python file of your own), then the run directories to draw",
                                  fmt::join(figure_kinds(), ", ")));
  options.text("--out", request->out, "folder for the figure (default: figures in the first run directory)", "DIR");
  options.text("--format", request->format, "png, svg, pdf, several with commas (default png,svg)", "FORMATS");
  options.text(
      "--width", request->width,
      "width of the figure: 8cm, 3.5in, 80mm, 240pt, column (3.5in), or page: as its panels need (default page)",
      "LENGTH");
  options.text("--font-size", request->font_size, "font size (default: 9pt; in a column 7.5pt)", "POINTS");
  options.text("--order", request->order, "order in which strategies are drawn, such as snapshot,vertex", "NAMES");
  options.text("--scale", request->scale, "scale of the values (default: the figure chooses)", "log|linear");
  options.toggle("--no-caption", request->no_caption, "draw no words below the legend");
  options.text("--title", request->title, "a heading (default: none)", "WORDS");
  options.example(
      "Prints the files that were written.\n"
      "Examples: strobe plot scaling runs/sweep\n"
      "          strobe plot curves runs/a runs/b --format pdf --width 8cm --font-size 8pt --no-caption\n"
      "          strobe plot ./mine.py runs/sweep");
  return [request] { return plot(*request); };
}

const Register<CommandTag> plot_registered{
    {"plot", "draw a figure of runs: scaling, phases, curves, memory and others", "", {}, define_plot, {}}};

}  // namespace

std::vector<std::string> figure_kinds() {
  std::vector<std::string> kinds;
  for (const auto& [name, script] : figure_scripts()) kinds.push_back(name);
  return kinds;
}

}  // namespace strobe
