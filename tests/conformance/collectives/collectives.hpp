// Conformance of communicators: one list of cases that every communicator with values must pass, at every rank count.
// A case is a rank program; it throws ConformanceFailure on the rank that saw the fault.
#pragma once

#include <span>
#include <string_view>

#include "backends/communicator.hpp"

namespace strobe::conformance {

class ConformanceFailure : public Error {
 public:
  using Error::Error;
};

struct CollectiveCase {
  std::string_view name;
  void (*program)(Device&, Communicator&) = nullptr;
};

/// Results of each collective against values worked out by hand from the ranks' numbers.
std::span<const CollectiveCase> value_cases();
/// Those of them that are about maxima, and about groups.
std::span<const CollectiveCase> max_cases();
std::span<const CollectiveCase> group_cases();
/// Bytes, messages and phases of the spans that collectives leave.
std::span<const CollectiveCase> span_cases();

/// How a communicator ends when something goes wrong; `run` launches on all ranks and throws ConformanceFailure when
/// what `launch` threw is not what it must. Failures leave the communicator usable for the next launch.
struct FailureCase {
  std::string_view name;
  int least_ranks = 1;
  void (*run)(const CommunicatorTag::Value& communicator, const LaunchRequest& request) = nullptr;
};
std::span<const FailureCase> failure_cases();
/// Those of them that are about groups.
std::span<const FailureCase> group_failure_cases();

/// Throws ConformanceFailure("rank R: message") unless `holds`.
void expect(bool holds, Communicator& communicator, std::string_view message);

/// Runs every value case and span case in one launched program; for communicators without processes of their own.
void check_collectives(Device& device, Communicator& communicator);

}  // namespace strobe::conformance
