// Helpers for the failure cases of communicators: launches that must fail, and checks of how they fail.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/conformance/collectives/collectives.hpp"

namespace strobe::conformance {

inline constexpr double short_timeout_seconds = 0.4;
inline constexpr double long_timeout_seconds = 60;  // half of this separates a prompt end from a timeout

inline LaunchRequest with_timeout(LaunchRequest request, double seconds) {
  request.timeout_seconds = seconds;
  return request;
}

inline void require(bool holds, const std::string& message) {
  if (!holds) throw ConformanceFailure(message);
}

inline bool contains(const std::exception& failure, std::string_view text) {
  return std::string_view(failure.what()).find(text) != std::string_view::npos;
}

/// Launches; `look` sees the `Cause` that launch threw. Any other end is a failure of the case.
template <class Cause, class Look>
void launch_fails_with(const CommunicatorTag::Value& communicator, const LaunchRequest& request,
                       const RankProgram& program, const Look& look) {
  try {
    communicator.launch(request, program);
  } catch (const Cause& cause) {
    return look(cause);
  } catch (const std::exception& other) {
    throw ConformanceFailure(fmt::format("launch ended with another cause: {}", other.what()));
  }
  throw ConformanceFailure("launch did not fail");
}

/// Launches with a short timeout; it must end with one that names `collective` and `missing`.
inline void launch_times_out(const CommunicatorTag::Value& communicator, const LaunchRequest& request,
                             const RankProgram& program, std::string_view collective, const std::vector<int>& missing) {
  launch_fails_with<CollectiveTimeout>(
      communicator, with_timeout(request, short_timeout_seconds), program, [&](const CollectiveTimeout& timeout) {
        require(timeout.missing() == missing, fmt::format("other ranks are missing: {}", timeout.what()));
        require(contains(timeout, collective), fmt::format("the collective is not named: {}", timeout.what()));
      });
}

}  // namespace strobe::conformance
