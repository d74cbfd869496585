// Subcommands of `strobe`. Each registers itself in its own file, declares its options and returns its action.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/registry.hpp"

namespace CLI {
class App;
}

namespace strobe {

/// The options of one subcommand. Parsing stores values through the references, so these must be valid until the action
/// has run. Only command.cpp includes CLI11, which is slow to compile.
class CommandOptions {
 public:
  explicit CommandOptions(CLI::App& app) : app_(app) {}
  void positional(const std::string& name, std::string& value, const std::string& help);
  void positionals(const std::string& name, std::vector<std::string>& values, const std::string& help);
  /// `type` is the placeholder of the value in --help, such as FILE, N or KEY=VALUE.
  void text(const std::string& flag, std::string& value, const std::string& help, const std::string& type);
  /// A flag that may be given several times, one value each.
  void repeated(const std::string& flag, std::vector<std::string>& values, const std::string& help,
                const std::string& type);
  void toggle(const std::string& flag, bool& value, const std::string& help);
  /// A flag whose value is stored under `name` in `values` as the user typed it. Without the flag nothing is stored.
  void named(const std::string& flag, std::map<std::string, std::string>& values, const std::string& name,
             const std::string& help, const std::string& type);
  /// One flag per field of `table` ("window_events" becomes --window-events). Values are stored in `values` under the
  /// field's name. `group_of` returns the group of a field; by default it is the current group.
  void fields(const FieldTable& table, std::map<std::string, std::string>& values,
              const std::function<std::string(const std::string& field)>& group_of = {});
  /// The heading under which --help shows the options that follow.
  void group(const std::string& name) { group_ = name; }
  /// A text that --help shows below the options.
  void example(const std::string& text);

 private:
  CLI::App& app_;
  std::string group_;
};

/// Runs a subcommand after its options are parsed. Returns the exit status; throws the types of core/errors.hpp.
using CommandAction = std::function<int()>;

struct CommandTag {
  static constexpr const char* kind = "command";
  using Value = CommandAction (*)(CommandOptions&);
};
using CommandRegistry = Registry<CommandTag>;

/// Parses the arguments (without the program's name), runs the subcommand and returns the exit status. Data goes to
/// standard output, all else to standard error. An error is one line there, and determines the status:
/// 0 done; 1 a case failed; 2 the request was wrong; 3 regression; 4 not comparable; 5 unavailable; 128 + signal.
int run_command_line(const std::vector<std::string>& arguments);

/// An option of a command, for manuals and shell completion.
struct DescribedOption {
  std::vector<std::string> flags;  // "--out", "-o"; for a positional only its name
  bool positional = false;
  bool takes_value = false;
  std::string help;
};
struct DescribedCommand {
  std::string name, help, example;
  std::vector<DescribedOption> options;
};

/// The program's help, its commands with their options, and its exit statuses, from the definitions of the parser.
struct DescribedProgram {
  std::string help, exit_help;
  std::vector<DescribedCommand> commands;
};
DescribedProgram describe_program();

}  // namespace strobe
