#include "harness/cli/calibration/calibrate_software.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/software.hpp"
#include "core/errors.hpp"
#include "core/fields.hpp"
#include "core/shown_text.hpp"
#include "core/system/program_files.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/output_path.hpp"
#include "harness/process/python.hpp"
#include "harness/process/world.hpp"
#include "results/run/files.hpp"

namespace strobe {
namespace {

/// One line for each number that was measured: its key, its value, its unit where no key names it, and how it was
/// found.
std::string profile_report(const Json& profile) {
  std::string text;
  for (const char* group : {"cpu", "host", "measured"}) {
    if (!profile.contains(group)) continue;
    for (const auto& [key, quantity] : profile.at(group).items()) {
      if (!quantity.contains("source") || !quantity.at("value").is_number()) continue;
      text += fmt::format("{:<38} {:>10.3g} {:<12} {}\n", std::string(group) + "." + key,
                          quantity.at("value").get<double>(), quantity.value("unit", ""),
                          quantity.at("source").get<std::string>());
    }
  }
  return text;
}

std::string measuring_script() {
  const std::string script = program_folder(STROBE_PUBLISHED_DIR) + "/../../bench/peers/programs/calibrate.py";
  if (std::filesystem::exists(script)) return std::filesystem::canonical(script).string();
  throw Unavailable("the measurements lie in bench/peers/programs of Strobe's source tree; run strobe from its build");
}

}  // namespace

int calibrate_software(const std::string& framework, const std::string& name, const std::string& out, bool quick,
                       bool json) {
  if (framework != "pytorch")
    throw InvalidRequest("--software", fmt::format("'{}' cannot be measured; write --software pytorch", framework));
  if (launched_world().size > 1)
    throw InvalidRequest("--software", "starts its own processes; start strobe without a launcher");
  const std::string path = !out.empty() ? out : (name.empty() ? framework + "-here" : name) + ".json";
  if (std::filesystem::path(path).extension() != ".json")
    throw InvalidRequest("--out", "a software profile ends in .json, found " + path);
  check_output_file("--out", path);
  const std::string python = find_python("torch torch_geometric numpy");
  if (python.empty())
    throw Unavailable(
        "measuring PyTorch needs Python with torch and torch_geometric (pip install); $STROBE_PYTHON chooses the "
        "interpreter");
  const std::string script = measuring_script();
  const ScratchFolder scratch;
  narrate("measuring PyTorch, which takes minutes");
  run_script({python, "-W", "ignore", script, "--out", scratch.file("profile.json"), "--name",
              std::filesystem::path(path).stem().string(), "--rounds", quick ? "2" : "7"},
             "--software", "PyTorch could not be measured");
  load_software(scratch.file("profile.json"), true);  // refuses a file that --software would refuse
  const std::string text = words_in(scratch.file("profile.json"));
  write_file_atomically(path, text + "\n");
  print_data(json ? text + "\n" : shown_lines(profile_report(Json::parse(text))));
  narrate(fmt::format("wrote {}; use it as --device sim --software {}", path, path));
  return 0;
}

}  // namespace strobe
