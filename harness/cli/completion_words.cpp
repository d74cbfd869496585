#include "harness/cli/completion_words.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "backends/cluster.hpp"
#include "backends/communicator.hpp"
#include "backends/device.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/figure.hpp"
#include "harness/request/bundled_suite.hpp"
#include "harness/request/case.hpp"
#include "harness/request/case_slots.hpp"
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using Words = std::vector<std::string>;

std::string flag_of(std::string field) {
  std::replace(field.begin(), field.end(), '_', '-');
  return "--" + field;
}

Words values_of(const Field& field) {
  if (field.type == FieldType::boolean) return {"true", "false"};
  return field.name == "partitioner" ? PartitionerRegistry::instance().names() : field.choices;
}

void add_choices(const FieldTable& table, std::map<std::string, Words>& words) {
  for (const Field& field : table.fields())
    if (Words values = values_of(field); !values.empty()) words[flag_of(field.name)] = std::move(values);
}

/// The values of options that choose from a list, for all commands.
std::map<std::string, Words> words_of_options() {
  std::map<std::string, Words> words;
  add_choices(case_fields(), words);
  add_choices(file_option_fields(), words);
  words["--device"] = DeviceRegistry::instance().names();
  words["--comm"] = CommunicatorRegistry::instance().names();
  words["--cluster"] = words["--clusters"] = words["--from"] = cluster_names();
  words["--smoothing"] = {"union:edges=", "m_product:edges=", "edge_life:edges="};
  words["--format"] = FormatRegistry::instance().names();
  return words;
}

/// The words that a command accepts as positional arguments, in addition to files.
Words words_of_command(const std::string& command) {
  if (command == "inspect") return find_case_slot("workload")->names();
  if (command == "trace") return {"merge", "diff"};
  if (command == "shape" || command == "cluster") return {"new"};
  if (command == "completion") return {"bash", "fish", "zsh"};
  if (command == "plot") return figure_kinds();
  for (const char* taker : {"run", "validate", "calibrate"})
    if (command == taker) return bundled_suite_names();
  if (command != "list") return {};
  return {"workloads",     "shapes",     "models",   "strategies", "schedules",  "devices",
          "communicators", "clusters",   "software", "formats",    "tasks",      "generators",
          "partitioners",  "optimizers", "kernels",  "suites",     "cost-models"};
}

Words with_ends(const std::string& before, const Words& words, const std::string& after = "") {
  Words result;
  for (const std::string& word : words) result.push_back(before + word + after);
  return result;
}

/// The parameters of a plug-in; without a known name, those of all plug-ins of the slot.
std::vector<Field> parameters_of(const CaseSlot& slot, const std::string& plugin) {
  const Words names = slot.names();
  const bool known = std::find(names.begin(), names.end(), plugin) != names.end();
  std::map<std::string, Field> found;
  for (const std::string& name : known ? Words{plugin} : names) {
    const FieldTable table = slot.fields(name, "");
    for (const Field& field : table.fields()) found.emplace(field.name, field);
  }
  std::vector<Field> fields;
  for (const auto& [name, field] : found) fields.push_back(field);
  return fields;
}

/// After `typed`, which ends where a parameter begins: its key or, once that is typed, its values.
Words parameter_words(const std::vector<Field>& fields, const std::string& typed, const std::string& parameter) {
  const std::size_t equals = parameter.find('=');
  Words words;
  for (const Field& field : fields) {
    if (equals == std::string::npos) words.push_back(typed + field.name + "=");
    if (parameter.substr(0, equals) == field.name && equals != std::string::npos)
      words = with_ends(typed + field.name + "=", values_of(field));
  }
  return words;
}

/// NAME, NAME:key=value,key=value, or several of them with commas between: names, then their parameters.
Words plugin_words(const CaseSlot& slot, const std::string& typed) {
  const std::size_t comma = typed.rfind(','), colon = typed.rfind(':');
  const std::string before = comma == std::string::npos ? "" : typed.substr(0, comma + 1);
  Words words = with_ends(before, slot.names());
  if (colon == std::string::npos) {
    const std::string name = typed.substr(before.size());
    const Words names = slot.names();
    if (std::find(names.begin(), names.end(), name) != names.end() && !slot.fields(name, "").empty())
      words.push_back(typed + ":");
    return words;
  }
  const bool first = comma == std::string::npos || comma < colon;
  const std::size_t begin = first ? before.size() : typed.rfind(',', colon) + 1;
  const std::string name = typed.substr(begin, colon - begin);
  const std::string fixed = first ? typed.substr(0, colon + 1) : before;
  const Words parameters = parameter_words(parameters_of(slot, name), fixed, typed.substr(fixed.size()));
  if (first) return parameters;
  words.insert(words.end(), parameters.begin(), parameters.end());
  return words;
}

/// KEY=VALUES of --set and --vary, such as strategy.partitioner=hash or strategy=snapshot,vertex.
Words setting_words(const std::string& typed) {
  const std::size_t equals = typed.find('='), dot = typed.substr(0, equals).find('.');
  const CaseSlot* const slot = find_case_slot(typed.substr(0, std::min(equals, dot)));
  if (slot != nullptr && dot != std::string::npos) {
    const std::string own = typed.substr(0, dot + 1);
    return parameter_words(parameters_of(*slot, ""), own, typed.substr(own.size()));
  }
  if (slot != nullptr && equals != std::string::npos)
    return with_ends(typed.substr(0, equals + 1), plugin_words(*slot, typed.substr(equals + 1)));
  Words words = parameter_words(case_fields().fields(), "", typed);
  if (equals != std::string::npos) return words;
  for (const CaseSlot& one : case_slots()) words.push_back(one.name + "="), words.push_back(one.name + ".");
  return words;
}

/// The words that an option takes; empty when they are not known, as those of paths and numbers.
Words option_words(const std::string& flag, const std::string& typed) {
  if (flag == "--set" || flag == "--vary") return setting_words(typed);
  if (const CaseSlot* const slot = find_case_slot(flag.substr(2))) return plugin_words(*slot, typed);
  const auto options = words_of_options();
  const auto known = options.find(flag);
  if (known == options.end()) return {};
  const std::size_t comma = typed.rfind(',');
  return with_ends(comma == std::string::npos ? "" : typed.substr(0, comma + 1), known->second);
}

bool takes_value(const DescribedCommand& command, const std::string& flag) {
  return std::any_of(command.options.begin(), command.options.end(), [&](const DescribedOption& option) {
    return option.takes_value && !option.positional &&
           std::find(option.flags.begin(), option.flags.end(), flag) != option.flags.end();
  });
}

Completions words_for_value(const std::string& flag, const std::string& typed) {
  Words words = option_words(flag, typed);
  const bool path = words.empty() || flag == "--workload" || flag == "--cluster" || flag == "--clusters";
  return {std::move(words), path};
}

Completions words_in_command(const DescribedCommand& command, const Words& words) {
  const std::string& typed = words.back();
  const std::string before = words.size() > 1 ? words[words.size() - 2] : "";
  if (takes_value(command, before)) return words_for_value(before, typed);
  const std::size_t equals = typed.find('=');
  if (typed.rfind("--", 0) == 0 && equals != std::string::npos) {
    Completions found = words_for_value(typed.substr(0, equals), typed.substr(equals + 1));
    found.words = with_ends(typed.substr(0, equals + 1), found.words);
    return found;
  }
  if (typed.rfind('-', 0) != 0) return {words_of_command(command.name), true};
  Completions found;
  for (const DescribedOption& option : command.options)
    if (!option.positional) found.words.insert(found.words.end(), option.flags.begin(), option.flags.end());
  return found;
}

Completions all_words(const Words& words) {
  const DescribedProgram program = describe_program();
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    for (const DescribedCommand& command : program.commands)
      if (command.name == words[i]) return words_in_command(command, words);
  Completions found{{"--help", "--version", "help"}, false};
  for (const DescribedCommand& command : program.commands) found.words.push_back(command.name);
  return found;
}

}  // namespace

Completions complete_words(const std::vector<std::string>& words) {
  const std::string typed = words.empty() ? "" : words.back();
  Completions found = all_words(words.empty() ? Words{""} : words);
  std::set<std::string> kept;
  for (std::string& word : found.words)
    if (word.rfind(typed, 0) == 0) kept.insert(std::move(word));
  return {{kept.begin(), kept.end()}, found.files};
}

std::string completion_answer(const std::vector<std::string>& words) {
  const Completions found = complete_words(words);
  std::string text = found.files ? "<path>\n" : "";
  for (const std::string& word : found.words) text += word + "\n";
  return text;
}

}  // namespace strobe
