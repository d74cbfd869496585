#include "harness/cli/world.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "harness/cli/command.hpp"

namespace strobe {
namespace {

int number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::atoi(text);
}

bool has(const char* name) { return std::getenv(name) != nullptr; }

}  // namespace

World launched_world() {
  if (has("RANK") && has("WORLD_SIZE") && has("LOCAL_RANK") && has("LOCAL_WORLD_SIZE")) {
    return {number("RANK", 0), number("WORLD_SIZE", 1), "RANK"};
  }
  if (has("OMPI_COMM_WORLD_RANK")) {
    return {number("OMPI_COMM_WORLD_RANK", 0), number("OMPI_COMM_WORLD_SIZE", 1), "OMPI_COMM_WORLD_RANK"};
  }
  if (has("PMI_RANK")) return {number("PMI_RANK", 0), number("PMI_SIZE", 1), "PMI_RANK"};
  if (has("SLURM_PROCID") && has("SLURM_STEP_NUM_TASKS")) {
    return {number("SLURM_PROCID", 0), number("SLURM_STEP_NUM_TASKS", 1), "SLURM_PROCID"};
  }
  return {};
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
