// `strobe man`: prints the manual page, from the definitions of the command line.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/cli/command.hpp"
#include "harness/process/narrate.hpp"
#include "results/run/environment.hpp"

namespace strobe {
namespace {

/// Environment variables of the program, with their purpose.
constexpr std::pair<std::string_view, std::string_view> manual_variables[] = {
    {"STROBE_CACHE", "off: large text graphs are parsed each time"},
    {"STROBE_CACHE_DIR", "where large text graphs are kept in binary form (~/.cache/strobe)"},
    {"STROBE_CLUSTER_DIR", "folder of the cluster files that have names"},
    {"STROBE_DATA_DIR", "where fetched data sets lie (~/.local/share/strobe)"},
    {"STROBE_KEPT_PLANS_GIB", "memory for plans that cases of one run share"},
    {"STROBE_FIGURES", "folders with figures of your own, with colons between them (docs/howto/own_figure.md)"},
    {"STROBE_PLUGINS", "plug-ins to load, paths between colons (docs/howto/own_strategy.md)"},
    {"STROBE_PYTHON", "the Python that draws figures and writes reports"}};

/// Escapes text for troff, so that no line is a troff request, and hyphens can be copied.
std::string manual_text(std::string_view text) {
  std::string result;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
    begins_line = c == '\n';
  }
  return result;
}

std::string option_entry(const DescribedOption& option) {
  const std::string value = option.takes_value && !option.positional ? " \\fIVALUE\\fR" : "";
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", manual_text(fmt::format("{}", fmt::join(option.flags, ", "))), value,
                     manual_text(option.help));
}

std::string command_entry(const DescribedCommand& command) {
  std::string words;
  for (const DescribedOption& option : command.options)
    if (option.positional) words += " [" + option.flags.front() + "]";
  std::string text = fmt::format(".SS strobe {} [OPTIONS]{}\n{}\n", manual_text(command.name), manual_text(words),
                                 manual_text(command.help));
  for (const DescribedOption& option : command.options) text += option_entry(option);
  if (!command.example.empty()) text += fmt::format(".PP\n.nf\n{}\n.fi\n", manual_text(command.example));
  return text;
}

std::string manual_page() {
  const DescribedProgram program = describe_program();
  std::string text = fmt::format(
      ".TH STROBE 1 \"\" \"strobe {}\" \"User Commands\"\n.SH NAME\nstrobe \\- simulator and benchmark harness for "
      "dynamic\\-graph neural network training\n.SH SYNOPSIS\n.B strobe\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n"
      ".SH DESCRIPTION\n{}\n.SH COMMANDS\n",
      manual_text(release()), manual_text(program.help));
  for (const DescribedCommand& command : program.commands) text += command_entry(command);
  text += ".SH EXIT STATUS\n" + manual_text(program.exit_help) + "\n.SH ENVIRONMENT\n";
  for (const auto& [name, use] : manual_variables)
    text += fmt::format(".TP\n.B {}\n{}\n", manual_text(name), manual_text(use));
  return text;
}

CommandAction define_manual(CommandOptions& options) {
  options.example("Example: strobe man | man -l -");
  return [] {
    print_data(manual_page());
    return 0;
  };
}

const Register<CommandTag> manual_registered{{"man", "print the manual page", "", {}, define_manual, {}}};

}  // namespace
}  // namespace strobe
