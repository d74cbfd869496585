// `strobe completion bash`: a script that completes commands, options and names, from the definitions and registries.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/cluster.hpp"
#include "backends/communicator.hpp"
#include "backends/device.hpp"
#include "core/errors.hpp"
#include "harness/cli/command.hpp"
#include "harness/process/narrate.hpp"
#include "harness/request/bundled_suite.hpp"
#include "harness/request/case.hpp"
#include "harness/request/case_slots.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using OptionWords = std::map<std::string, std::vector<std::string>>;

void add_choices(const FieldTable& table, OptionWords& words) {
  for (const Field& field : table.fields()) {
    std::string flag = "--" + field.name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    if (!field.choices.empty()) words[flag] = field.choices;
    if (field.type == FieldType::boolean) words[flag] = {"true", "false"};
  }
}

/// The values of options that choose from a list, for all commands.
OptionWords words_of_options() {
  OptionWords words;
  add_choices(case_fields(), words);
  add_choices(file_option_fields(), words);
  for (const CaseSlot& slot : case_slots()) words["--" + slot.name] = slot.names();
  words["--device"] = DeviceRegistry::instance().names();
  words["--comm"] = CommunicatorRegistry::instance().names();
  words["--cluster"] = words["--clusters"] = words["--from"] = cluster_names();
  words["--smoothing"] = {"union:edges=", "m_product:edges=", "edge_life:edges="};
  words["--format"] = FormatRegistry::instance().names();
  return words;
}

/// The words that a command accepts as positional arguments, in addition to files.
std::vector<std::string> words_of(const DescribedCommand& command) {
  if (command.name == "inspect") return words_of_options().at("--workload");
  if (command.name == "trace") return {"merge", "diff"};
  if (command.name == "completion") return {"bash"};
  if (command.name == "shape" || command.name == "cluster") return {"new"};
  for (const char* taker : {"run", "validate", "calibrate"})
    if (command.name == taker) return bundled_suite_names();
  if (command.name != "list") return {};
  return {"workloads",     "shapes",     "models",   "strategies", "schedules",  "devices",
          "communicators", "clusters",   "software", "formats",    "tasks",      "generators",
          "partitioners",  "optimizers", "kernels",  "suites",     "cost-models"};
}

std::string bash_case(const std::string& pattern, const std::vector<std::string>& words) {
  return fmt::format("    {}) _strobe_words \"{}\"; return ;;\n", pattern, fmt::join(words, " "));
}

std::string bash_script() {
  const DescribedProgram program = describe_program();
  const OptionWords words = words_of_options();
  std::vector<std::string> names;
  std::string values, flags, bare;
  for (const DescribedCommand& command : program.commands) {
    names.push_back(command.name);
    std::vector<std::string> own;
    for (const DescribedOption& option : command.options) {
      if (option.positional) continue;
      own.insert(own.end(), option.flags.begin(), option.flags.end());
      if (!option.takes_value) continue;
      for (const std::string& flag : option.flags) {
        const auto known = words.find(flag);
        values += known == words.end() ? fmt::format("    {}:{}) _strobe_files; return ;;\n", command.name, flag)
                                       : bash_case(command.name + ":" + flag, known->second);
      }
    }
    flags += bash_case(command.name, own);
    if (const std::vector<std::string> some = words_of(command); !some.empty()) bare += bash_case(command.name, some);
  }
  return fmt::format(
      "# Completion of strobe for bash: source this file, or keep it as strobe in bash-completion's folder.\n"
      "_strobe_files() {{ compopt -o default 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\")); }}\n"
      "_strobe_words() {{\n  COMPREPLY=($(compgen -W \"$1\" -- \"$cur\"))\n"
      "  [[ $cur == -* || -z $cur ]] || COMPREPLY+=($(compgen -f -- \"$cur\"))\n}}\n"
      "_strobe() {{\n"
      "  local cur=\"${{COMP_WORDS[COMP_CWORD]}}\" prev=\"${{COMP_WORDS[COMP_CWORD-1]}}\" command=\"\" i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"${{COMP_WORDS[i]}}\" in\n    {0}) command=\"${{COMP_WORDS[i]}}\"; break ;;\n    esac\n  done\n"
      "  if [[ -z $command ]]; then\n"
      "    COMPREPLY=($(compgen -W \"{1} help --help --version\" -- \"$cur\"))\n    return\n  fi\n"
      "  case \"$command:$prev\" in\n{2}  esac\n"
      "  if [[ $cur == -* ]]; then\n    case \"$command\" in\n{3}    esac\n  fi\n"
      "  case \"$command\" in\n{4}  esac\n  _strobe_files\n}}\ncomplete -F _strobe strobe\n",
      fmt::join(names, "|"), fmt::join(names, " "), values, flags, bare);
}

CommandAction define_completion(CommandOptions& options) {
  const auto shell = std::make_shared<std::string>();
  options.positional("shell", *shell, "bash");
  options.example("Example: strobe completion bash > ~/.local/share/bash-completion/completions/strobe");
  return [shell] {
    if (*shell != "bash") throw InvalidRequest("", fmt::format("completion is there for bash, not for '{}'", *shell));
    print_data(bash_script());
    return 0;
  };
}

const Register<CommandTag> completion_registered{
    {"completion",
     "print what a shell completes: commands, options and the names they take",
     "",
     {},
     define_completion,
     {}}};

}  // namespace
}  // namespace strobe
