// Subcommands of `strobe`: each registers itself from its own file, declares its options and returns what it does.
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

/// The options of one subcommand. Values are stored where the references point when the command line is parsed, so
/// they must live until the action has run. Only command.cpp sees CLI11, which is slow to compile.
class CommandOptions {
 public:
  explicit CommandOptions(CLI::App& app) : app_(app) {}
  void positional(const std::string& name, std::string& value, const std::string& help);
  void positionals(const std::string& name, std::vector<std::string>& values, const std::string& help);
  /// `type`: what stands for the value in --help, as FILE, N or KEY=VALUE.
  void text(const std::string& flag, std::string& value, const std::string& help, const std::string& type);
  /// A flag that may be given several times, one value each.
  void repeated(const std::string& flag, std::vector<std::string>& values, const std::string& help,
                const std::string& type);
  void toggle(const std::string& flag, bool& value, const std::string& help);
  /// A flag whose value lands under `name` in `values`, as typed, and only when it is given.
  void named(const std::string& flag, std::map<std::string, std::string>& values, const std::string& name,
             const std::string& help, const std::string& type);
  /// One flag per field of `table` ("window_events" becomes --window-events); values land in `values` under the field's
  /// name. `group_of` gives the group of a field; without it they go where other options go.
  void fields(const FieldTable& table, std::map<std::string, std::string>& values,
              const std::function<std::string(const std::string& field)>& group_of = {});
  /// The heading under which --help shows the options that follow.
  void group(const std::string& name) { group_ = name; }
  /// Shown below the options by --help.
  void example(const std::string& text);

 private:
  CLI::App& app_;
  std::string group_;
};

/// What a subcommand does once its options are read; returns the exit status, throws the types of core/errors.hpp.
using CommandAction = std::function<int()>;

struct CommandTag {
  static constexpr const char* kind = "command";
  using Value = CommandAction (*)(CommandOptions&);
};
using CommandRegistry = Registry<CommandTag>;

/// Parses the arguments (without the program's name), runs the subcommand and returns the exit status. Data goes to
/// standard output, every word about it to standard error; an error becomes one line there and its status:
/// 0 done; 1 a case failed; 2 the request was wrong; 3 regression; 4 not comparable; 5 unavailable; 128 + signal.
int run_command_line(const std::vector<std::string>& arguments);

/// An option as its command defines it, for manuals and shells.
struct DescribedOption {
  std::vector<std::string> flags;  // "--out", "-o"; of a positional its name alone
  bool positional = false;
  bool takes_value = false;
  std::string help;
};
struct DescribedCommand {
  std::string name, help, example;
  std::vector<DescribedOption> options;
};

/// What the program is, what its commands take, and what exit statuses mean, from the definitions that parse them.
struct DescribedProgram {
  std::string help, exit_help;
  std::vector<DescribedCommand> commands;
};
DescribedProgram describe_program();

}  // namespace strobe
