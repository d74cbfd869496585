// Invariants: 0 <= rank < size; a place of several processes has a run key and one way to meet. A launcher counts only
// when its whole set of variables is there: some clouds set RANK or WORLD_SIZE per machine for purposes of their own.
#include "backends/nccl/bootstrap/launch_place.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <vector>

#include "core/errors.hpp"

namespace strobe::nccl {
namespace {

constexpr int most_ranks = 1 << 20;

struct Launcher {
  const char *name, *rank, *size;
  const char* started;  // another variable that must be there for the set to count, or null
  const char* run[3];   // variables that together name the run
};

constexpr Launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", nullptr, {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", nullptr}},
    {"mpirun",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     nullptr,
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", nullptr}},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID", {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}},
};

std::string text_of(const Environment& environment, const char* name) {
  const char* const value = environment(name);
  return value == nullptr ? std::string() : value;
}

int number(const char* name, const std::string& text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw InvalidRequest(name, fmt::format("'{}' is not a whole number from {} to {}", text, least, most));
  }
  return value;
}

/// Rank and size that one launcher set, or nothing when it set neither.
std::optional<LaunchPlace> place_of(const Launcher& launcher, const Environment& environment) {
  const std::string rank = text_of(environment, launcher.rank), size = text_of(environment, launcher.size);
  if (launcher.started != nullptr && environment(launcher.started) == nullptr) return std::nullopt;
  if (rank.empty() && size.empty()) return std::nullopt;
  if (rank.empty() || size.empty()) {
    const auto [missing, there] = rank.empty() ? std::pair(launcher.rank, launcher.size)  //
                                               : std::pair(launcher.size, launcher.rank);
    throw InvalidRequest(missing,
                         fmt::format("is not set, but {} is; start with {}, or unset {}", there, launcher.name, there));
  }
  LaunchPlace place;
  place.launcher = launcher.name;
  place.size = number(launcher.size, size, 1, most_ranks);
  place.rank = number(launcher.rank, rank, 0, most_ranks);
  if (place.rank >= place.size) {
    throw InvalidRequest(launcher.rank,
                         fmt::format("is {}, but {} is {}; ranks count from 0", place.rank, launcher.size, place.size));
  }
  for (const char* name : launcher.run) {
    const std::string value = name == nullptr ? std::string() : text_of(environment, name);
    if (!value.empty()) place.run_key += (place.run_key.empty() ? "" : ".") + value;
  }
  return place;
}

void set_meeting_point(LaunchPlace& place, const Environment& environment) {
  place.id_file = text_of(environment, "STROBE_NCCL_ID_FILE");
  if (!place.id_file.empty()) return;
  place.address = text_of(environment, "MASTER_ADDR");
  const std::string own_port = text_of(environment, "STROBE_NCCL_PORT");
  const std::string port = text_of(environment, "MASTER_PORT");
  place.by_mpi = place.launcher == "mpirun" && place.address.empty() && own_port.empty() && port.empty();
  if (place.by_mpi) return;
  if (place.address.empty()) throw no_meeting_point(place, "");
  if (!own_port.empty()) {
    place.port = number("STROBE_NCCL_PORT", own_port, 1, 65535);
  } else if (!port.empty()) {
    place.port = number("MASTER_PORT", port, 1, 65534) + (place.launcher == "torchrun" ? 1 : 0);
  } else {
    throw InvalidRequest("MASTER_PORT", "is not set, but MASTER_ADDR is");
  }
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> const char* { return std::getenv(name); };
}

LaunchPlace launch_place(const Environment& environment) {
  std::vector<LaunchPlace> found;
  std::vector<const Launcher*> by;
  for (const Launcher& launcher : launchers) {
    if (std::optional<LaunchPlace> place = place_of(launcher, environment)) {
      found.push_back(std::move(*place));
      by.push_back(&launcher);
    }
  }
  if (found.empty()) return {};
  LaunchPlace place = found.front();
  for (std::size_t other = 1; other < found.size(); ++other) {
    if (found[other].rank == place.rank && found[other].size == place.size) continue;
    throw InvalidRequest(
        by[other]->rank,
        fmt::format("rank {} of {} by {}, but {} says rank {} of {}; unset one launcher's variables", found[other].rank,
                    found[other].size, by[other]->name, by[0]->rank, place.rank, place.size));
  }
  if (const std::string key = text_of(environment, "STROBE_NCCL_RUN_KEY"); !key.empty()) place.run_key = key;
  if (place.size == 1) return place;
  set_meeting_point(place, environment);
  if (place.run_key.empty() && !place.id_file.empty()) {
    throw InvalidRequest("STROBE_NCCL_RUN_KEY",
                         fmt::format("is not set, and {} gave this run no name; set it to a new name for each run, so "
                                     "that ranks ignore an earlier run's files",
                                     place.launcher));
  }
  if (place.run_key.empty()) place.run_key = fmt::format("{}:{}", place.address, place.port);
  return place;
}

InvalidRequest no_meeting_point(const LaunchPlace& place, const std::string& why) {
  return {"MASTER_ADDR",
          fmt::format("is not set: {}{} processes need the host of rank 0 in MASTER_ADDR and a free port "
                      "in MASTER_PORT, or a file that all of them can reach in STROBE_NCCL_ID_FILE",
                      why, place.size)};
}

}  // namespace strobe::nccl
