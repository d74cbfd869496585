#include "harness/process/world.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "harness/process/failure.hpp"

extern char** environ;

namespace strobe {
namespace {

constexpr int most_ranks = 1 << 20;

/// The variables of a launcher: rank, size, and others that must be there for them to count.
struct Launcher {
  const char *name, *rank, *size;
  const char* also[2];
};

constexpr Launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", {"LOCAL_RANK", "LOCAL_WORLD_SIZE"}},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {}},
    {"mpirun", "PMI_RANK", "PMI_SIZE", {}},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", {}},
};

std::string text_of(const Variables& variables, const char* name) {
  const char* const text = variables(name);
  return text == nullptr ? "" : text;
}

/// Whether the set of variables counts: some of them are set even where nothing was launched.
bool counts(const Launcher& launcher, const Variables& variables) {
  const bool rank = !text_of(variables, launcher.rank).empty(), size = !text_of(variables, launcher.size).empty();
  for (const char* name : launcher.also)
    if (name != nullptr && text_of(variables, name).empty()) return false;
  const bool needs_both = launcher.also[0] != nullptr || std::string(launcher.name) == "srun";
  return needs_both ? rank && size : rank;
}

int number(const Launcher& launcher, const char* name, const std::string& text, int least) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most_ranks) return value;
  throw InvalidRequest(name, fmt::format("'{}' is not a whole number from {} to {}; start with {}, or unset {}", text,
                                         least, most_ranks, launcher.name, launcher.rank));
}

}  // namespace

Variables process_variables() {
  return [](const char* name) -> const char* { return std::getenv(name); };
}

World launched_world(const Variables& variables) {
  for (const Launcher& launcher : launchers) {
    if (!counts(launcher, variables)) continue;
    const std::string rank = text_of(variables, launcher.rank), size = text_of(variables, launcher.size);
    if (size.empty()) {
      throw InvalidRequest(launcher.size, fmt::format("is not set, but {} is {}; start with {}, or unset {}",
                                                      launcher.rank, rank, launcher.name, launcher.rank));
    }
    const World world{number(launcher, launcher.rank, rank, 0), number(launcher, launcher.size, size, 1),
                      launcher.rank};
    if (world.rank < world.size) return world;
    throw InvalidRequest(launcher.rank,
                         fmt::format("is {}, but {} is {}, and ranks count from 0; start with {}, or unset {}",
                                     world.rank, launcher.size, world.size, launcher.name, launcher.rank));
  }
  return {};
}

World world_if_any() noexcept {
  try {
    return launched_world();
  } catch (const std::exception&) {
    return {};
  }
}

void leave_world() {
  std::vector<std::string> names;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string name(*variable, std::strcspn(*variable, "="));
    const bool launchers = name.rfind("OMPI_", 0) == 0 || name.rfind("ORTE_", 0) == 0 || name.rfind("PRTE_", 0) == 0 ||
                           name.rfind("PMIX_", 0) == 0 || name.rfind("PMI_", 0) == 0;
    if (launchers && name.rfind("OMPI_ALLOW_", 0) != 0) names.push_back(name);
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

void alone_in_world(const World& world, const std::function<void()>& work) {
  if (world.size <= 1) return work();
  try {
    work();
  } catch (const std::exception& error) {
    const int status = report_failure(error);
    std::fflush(nullptr);
    std::_Exit(status);
  }
}

}  // namespace strobe
