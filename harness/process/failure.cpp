#include "harness/process/failure.hpp"

#include <fmt/format.h>

#include <new>
#include <nlohmann/json.hpp>

#include "backends/lost_ranks.hpp"
#include "core/json_reader.hpp"
#include "core/system/interrupt.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/world.hpp"

namespace strobe {

int status_of(const std::exception& error) {
  if (const auto* reported = dynamic_cast<const AlreadyReported*>(&error)) return reported->status();
  if (const auto* stop = dynamic_cast<const Interrupted*>(&error)) return 128 + stop->signal();
  if (dynamic_cast<const Unavailable*>(&error) != nullptr) return 5;
  if (dynamic_cast<const NotComparable*>(&error) != nullptr) return 4;
  if (dynamic_cast<const InvalidRequest*>(&error) != nullptr) return 2;
  if (dynamic_cast<const InvalidInput*>(&error) != nullptr) return 2;
  return 1;
}

std::string failure_text(const std::exception& error) {
  const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  if (memory) return "the host's memory is exhausted";
  const auto* json = dynamic_cast<const nlohmann::json::exception*>(&error);
  return json != nullptr ? "wrong JSON: " + json_complaint(*json) : error.what();
}

int report_failure(const std::exception& error) {
  const auto* lost = dynamic_cast<const RanksLost*>(&error);
  const bool another_speaks = lost != nullptr && !lost->speaks();
  if (another_speaks || dynamic_cast<const AlreadyReported*>(&error) != nullptr) return status_of(error);
  const World world = world_if_any();
  const std::string who = world.size > 1 ? fmt::format("rank {} of {}: ", world.rank, world.size) : "";
  if (const auto* request = dynamic_cast<const InvalidRequest*>(&error);
      request != nullptr && !request->all().empty()) {
    narrate(fmt::format("strobe: {}{} mistakes:", who, request->all().size()));
    for (const InvalidRequest& one : request->all()) narrate(fmt::format("  {}", one.what()));
    return status_of(error);
  }
  narrate(fmt::format("strobe: {}{}", who, failure_text(error)));
  return status_of(error);
}

}  // namespace strobe
