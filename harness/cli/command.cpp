#include "harness/cli/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/content_digest.hpp"
#include "core/names_elsewhere.hpp"
#include "core/shown_text.hpp"
#include "core/system/plugins.hpp"
#include "harness/cli/completion_words.hpp"
#include "harness/process/failure.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/signals.hpp"
#include "harness/process/world.hpp"
#include "harness/request/case.hpp"
#include "results/run/environment.hpp"
#include "workloads/storage/reading_bound.hpp"

namespace strobe {
namespace {

constexpr const char* program_help =
    "Strobe trains dynamic-graph neural networks under different parallel strategies, for real or simulated, and "
    "measures them with the same instruments.";
constexpr const char* exit_help =
    "Exit status: 0 done; 1 a case failed; 2 the request was wrong; 3 compare found a regression; 4 not comparable; "
    "5 backend, device or ranks not available here; 6 validate: the machine allows no verdict; 7 compare: too few "
    "cases "
    "have a verdict; 128 + signal interrupted.";

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// A hint at the command's positional arguments, such as " Without an option: strobe inspect W."; empty without any.
std::string positional_hint(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) names.push_back(option->get_name());
  }
  if (names.empty()) return "";
  return fmt::format(" Without an option: strobe {} {}.", app.get_name(), fmt::join(names, " "));
}

const RegisterNames options_elsewhere{"option",
                                      {{"output", "--out", ""},
                                       {"output_dir", "--out", ""},
                                       {"o", "--out", ""},
                                       {"save", "--save-model", ""},
                                       {"config", "", "name the suite file without an option: strobe run FILE"},
                                       {"verbose", "", "progress is always printed"},
                                       {"v", "", "progress is always printed; strobe --version names the version"},
                                       {"version", "", "type strobe --version"},
                                       {"seeds", "", "type --vary seed=1..3"}}};

/// The value that follows the flag among the arguments; `otherwise` when there is none.
std::string value_of(const std::string& flag, const std::vector<std::string>& arguments, const char* otherwise) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].rfind(flag + "=", 0) == 0 && arguments[i].size() > flag.size() + 1)
      return arguments[i].substr(flag.size() + 1);
    if (arguments[i] != flag || i + 1 == arguments.size()) continue;
    const std::string& next = arguments[i + 1];
    const bool is_flag = next.size() > 1 && next[0] == '-' && std::isdigit(static_cast<unsigned char>(next[1])) == 0;
    if (!next.empty() && !is_flag) return next;
  }
  return otherwise;
}

/// The words to type in place of a flag that other programs have, such as "--lr", with the value that was typed; ""
/// when the flag means nothing here.
std::string words_for(const std::string& flag, const std::vector<std::string>& known,
                      const std::vector<std::string>& arguments) {
  const auto has = [&](const std::string& name) { return std::find(known.begin(), known.end(), name) != known.end(); };
  const std::string name = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  std::string key;
  if (const NameElsewhere* elsewhere = name_elsewhere("key", name)) key = elsewhere->here;
  for (const std::string& own : case_fields().names())
    if (plain_name(own) == plain_name(name)) key = own;
  if (key.empty()) return "";
  for (const std::string& own : {key, key + "s"})
    if (has("--" + own)) return fmt::format("--{} {}", own, value_of(flag, arguments, "VALUE"));
  if (key == "ranks" && has("--gpus")) return "--gpus " + value_of(flag, arguments, "N");
  for (const char* decided : {"device", "comm", "numerics", "repeat"})
    if (key == decided && has("--nodes")) return fmt::format("--clusters NAMES; the search decides {} itself", decided);
  return has("--set") ? fmt::format("--set {}={}", key, value_of(flag, arguments, "VALUE")) : "";
}

/// Refuses arguments that no option took: unknown flags and superfluous words.
void refuse_remaining(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (const std::string& argument : app.remaining()) {
    if (argument.size() > 1 && argument.front() == '-') {
      const std::string flag = argument.substr(0, argument.find('='));
      if (const std::string words = words_for(flag, flag_names(app), arguments); !words.empty())
        throw InvalidRequest("", fmt::format("unknown option '{}'; type {}", flag, words));
      throw InvalidRequest("", unknown_name_message("option", flag, flag_names(app)) + positional_hint(app));
    }
  }
  if (!app.remaining().empty()) {
    throw InvalidRequest("", fmt::format("strobe {} does not expect '{}'", app.get_name(), app.remaining().front()));
  }
}

/// The first argument is missing or names no command.
[[noreturn]] void refuse_command(const CLI::App& app) {
  const std::vector<std::string> commands = CommandRegistry::instance().names();
  if (app.remaining().empty())
    throw InvalidRequest("", fmt::format("which command? One of: {}", fmt::join(commands, ", ")));
  const std::string word = app.remaining().front();
  const bool flag = word.front() == '-';
  throw InvalidRequest(
      "", unknown_name_message(flag ? "option" : CommandTag::kind, word, flag ? flag_names(app) : commands));
}

/// The parser's complaint "--epochs: At Most 1 required but received 2" about an option that takes one value.
std::string in_own_words(const std::string& complaint) {
  const std::size_t option = complaint.find(": At Most 1 required but received ");
  return option == std::string::npos ? complaint
                                     : complaint.substr(0, option) + " is given several times; give it once";
}

int dispatch(CLI::App& app, const std::map<std::string, CommandAction>& actions, std::vector<std::string> arguments) {
  const std::vector<std::string> typed = arguments;
  std::reverse(arguments.begin(), arguments.end());  // CLI11 expects the last one first
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    print_data(shown_lines(chosen.empty() ? app.help() : chosen.front()->help("strobe")));
    return 0;
  } catch (const CLI::CallForVersion&) {
    print_data(version_text() + "\n");
    return 0;
  } catch (const CLI::ArgumentMismatch& error) {
    throw InvalidRequest("", in_own_words(error.what()));
  } catch (const CLI::ParseError& error) {
    throw InvalidRequest("", error.what());
  }
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (chosen.empty()) refuse_command(app);
  refuse_remaining(*chosen.front(), typed);
  return actions.at(chosen.front()->get_name())();
}

/// Turns `strobe help [COMMAND]` into `strobe [COMMAND] --help`. The parser refuses a word that is no command.
std::vector<std::string> without_help_word(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "help") return arguments;
  arguments.erase(arguments.begin());
  const std::vector<std::string> commands = CommandRegistry::instance().names();
  const bool known = arguments.empty() || std::find(commands.begin(), commands.end(), arguments[0]) != commands.end();
  if (known) arguments.emplace_back("--help");
  return arguments;
}

}  // namespace

namespace {

/// Refuses names in other encodings before any work, because JSON must be UTF-8.
std::string complain_of_bytes(const std::string& value) {
  return is_utf8(value) ? ""
                        : fmt::format("'{}' is not UTF-8 text; give the file or value another name", shown_line(value));
}

/// An empty value is most often an unset shell variable. If it counted as no value, a run could go to another place
/// than its author expects.
std::string complain_of_text(const std::string& value) {
  return value.empty() ? "is empty; give a value, or leave it out" : complain_of_bytes(value);
}

}  // namespace

namespace {

/// Sets the heading of an option and the placeholder of its value.
void settle_option(CLI::Option* option, const std::string& group, const std::string& type) {
  if (!group.empty()) option->group(group);
  if (!type.empty()) option->type_name(type);
}

/// The placeholder in --help of a field with text.
const char* word_for_text(const std::string& field) {
  static const std::map<std::string, const char*> words = {
      {"cluster", "NAME|FILE"}, {"software", "NAME|FILE"}, {"load_model", "FILE"},
      {"until", "METRIC=X"},    {"nb", "N|auto"},          {"columns", "source:COLUMN/..."},
      {"window", "TIME|N"},     {"stride", "TIME|N"},      {"features", "own|FILE"},
      {"missing", "X"},         {"steps", "A:B"}};
  const auto found = words.find(field);
  return found == words.end() ? "NAME" : found->second;
}

/// The placeholder in --help of a field's value.
std::string type_of(const Field& field) {
  switch (field.type) {
    case FieldType::integer:
      return "N";
    case FieldType::real:
      return "X";
    case FieldType::boolean:
      return "true|false";
    case FieldType::choice:
      return fmt::format("{}", fmt::join(field.choices, "|"));
    case FieldType::text:
      break;
  }
  return word_for_text(field.name);
}

}  // namespace

void CommandOptions::positional(const std::string& name, std::string& value, const std::string& help) {
  app_.add_option(name, value, help)->check(complain_of_text)->type_name("");
}

void CommandOptions::positionals(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  app_.add_option(name, values, help)->type_name("");
}

void CommandOptions::text(const std::string& flag, std::string& value, const std::string& help,
                          const std::string& type) {
  settle_option(app_.add_option(flag, value, help)->check(complain_of_text), group_, type);
}

void CommandOptions::repeated(const std::string& flag, std::vector<std::string>& values, const std::string& help,
                              const std::string& type) {
  settle_option(app_.add_option(flag, values, help)->allow_extra_args(false)->check(complain_of_text), group_, type);
}

void CommandOptions::toggle(const std::string& flag, bool& value, const std::string& help) {
  settle_option(app_.add_flag(flag, value, help), group_, "");
}

void CommandOptions::named(const std::string& flag, std::map<std::string, std::string>& values, const std::string& name,
                           const std::string& help, const std::string& type) {
  const auto keep = [&values, name](const std::string& text) { values[name] = text; };
  settle_option(app_.add_option_function<std::string>(flag, keep, help)->check(complain_of_bytes), group_, type);
}

void CommandOptions::fields(const FieldTable& table, std::map<std::string, std::string>& values,
                            const std::function<std::string(const std::string& field)>& group_of) {
  const std::string before = group_;
  for (const Field& field : table.fields()) {
    std::string flag = "--" + field.name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    std::string help = field.help;
    if (!field.unit.empty()) help += " [" + field.unit + "]";
    if (field.default_text != "\"\"") help += fmt::format(" (default {})", field.default_text);
    if (group_of) group_ = group_of(field.name);
    named(flag, values, field.name, help, type_of(field));
  }
  group_ = before;
}

void CommandOptions::example(const std::string& text) { app_.footer(text); }

namespace {

DescribedCommand described(const CLI::App& command) {
  DescribedCommand result{command.get_name(), command.get_description(), command.get_footer(), {}};
  for (const CLI::Option* option : command.get_options()) {
    DescribedOption one{{}, option->get_positional(), option->get_items_expected_max() > 0, option->get_description()};
    for (const std::string& name : option->get_lnames()) one.flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) one.flags.push_back("-" + name);
    if (one.positional) one.flags = {option->get_name()};
    result.options.push_back(std::move(one));
  }
  return result;
}

}  // namespace

DescribedProgram describe_program() {
  DescribedProgram program{program_help, exit_help, {}};
  for (const auto& [name, entry] : CommandRegistry::instance().entries()) {
    CLI::App command(entry.description, name);
    CommandOptions options(command);
    entry.value(options);
    program.commands.push_back(described(command));
  }
  return program;
}

namespace {

/// Notes a file without a digest. Only the first process prints it.
void tell_unproven_file(const std::string& path) {
  if (launched_world().rank == 0)
    narrate(fmt::format("note: {} carries no digest, so Strobe cannot tell whether it was changed", path));
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments) {
  guard_standard_streams();
  name_files_that_are_cut();
  search_no_working_folder();
  hear_of_unproven_files(tell_unproven_file);
  report_readings_to(narrate);
  try {
    load_plugins();
    if (arguments.size() >= 2 && arguments[0] == "completion" && arguments[1] == "words") {
      print_data(completion_answer({arguments.begin() + 2, arguments.end()}));
      return 0;
    }
    CLI::App app(program_help, "strobe");
    app.footer(exit_help);
    app.set_version_flag(
        "--version", [] { return version_text(); }, "Print version and source revision and exit");
    app.allow_extras();
    app.require_subcommand(0, 1);
    std::map<std::string, CommandAction> actions;
    for (const auto& [name, entry] : CommandRegistry::instance().entries()) {
      CLI::App* command = app.add_subcommand(name, entry.description);
      command->allow_extras();
      CommandOptions options(*command);
      actions[name] = entry.value(options);
    }
    return dispatch(app, actions, without_help_word(arguments));
  } catch (const std::exception& error) {
    return report_failure(error);
  }
}

}  // namespace strobe
