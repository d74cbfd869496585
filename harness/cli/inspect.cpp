// `strobe inspect W`: what a workload is like, before anything is trained on it.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/case_slots.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/narrate.hpp"
#include "harness/cli/readable.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

struct InspectRequest {
  std::string workload;
  std::map<std::string, std::string> options;
  std::vector<std::string> sets;
  std::string seed = "1";
  bool json = false;
};

int inspect(const InspectRequest& request) {
  if (request.workload.empty())
    throw InvalidRequest("", "inspect what? The name of a data set or generator, or a file");
  const CaseSlot& slot = *find_case_slot("workload");
  NamedParameters named = split_named_parameters(request.workload, slot.names(), "W");
  for (const auto& [key, text] : request.options) named.parameters.emplace_back(key, text);
  for (const std::string& text : request.sets) named.parameters.push_back(split_assignment(text, "--set"));
  const FieldTable& table = slot.fields(named.name, "W");
  Json parameters = Json::object();
  if (table.make_default) {
    const auto object = table.make_default();
    Json texts = Json::object();
    for (const auto& [key, text] : named.parameters) texts[key] = text;
    table.apply(object.get(), texts, "", true);
    const Json typed = table.to_json(object.get());
    for (const auto& [key, text] : named.parameters) parameters[key] = typed.at(key);
  }
  const double seed = number_from_text(request.seed, "--seed");
  if (seed < 0 || seed != std::floor(seed)) throw InvalidRequest("--seed", "a seed is a whole number of at least 0");
  const Json facts = inspect_workload(named.name, parameters, static_cast<std::uint64_t>(seed));
  print_data(request.json ? facts.dump(2) + "\n" : readable(facts));
  return 0;
}

CommandAction define(CommandOptions& options) {
  const auto request = std::make_shared<InspectRequest>();
  options.positional("W", request->workload, "data set, generator (NAME:key=value,...) or file");
  options.fields(file_option_fields(), request->options);
  options.repeated("--set", request->sets, "key=value: a parameter of the workload");
  options.text("--seed", request->seed, "seed of a generator (default 1)");
  options.toggle("--json", request->json, "print JSON");
  options.example("Example: strobe inspect chess --window 30d");
  return [request] { return inspect(*request); };
}

const Register<CommandTag> registered{
    {"inspect", "vertices, steps, edges per step, overlap and degrees of a workload", "", {}, define, {}}};

}  // namespace
}  // namespace strobe
