// `strobe env`: prints what a run would record about this machine.
#include <nlohmann/json.hpp>

#include "harness/cli/command.hpp"
#include "harness/process/narrate.hpp"
#include "results/run/environment.hpp"

namespace strobe {
namespace {

CommandAction define_env(CommandOptions& options) {
  options.example("Example: strobe env > env.json");
  return [] {
    print_data(environment().dump(2) + "\n");
    return 0;
  };
}

const Register<CommandTag> env_registered{
    {"env", "print what a run would record about this machine, as JSON", "", {}, define_env, {}}};

}  // namespace
}  // namespace strobe
