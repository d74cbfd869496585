// Suites that are no operations. Ranks of communicators read and write tensors themselves, so they need a device whose
// memory is the host's; a simulated device computes for its own communicator.
#include <fmt/format.h>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "tests/conformance/collectives/host_work.hpp"
#include "tests/conformance/program/matrix.hpp"

namespace strobe::conformance {
namespace {

template <class Run>
void judge_suite_case(SuiteVerdict& verdict, const std::string& what, const Run& run) {
  ++verdict.cases;
  try {
    run();
  } catch (const std::exception& error) {
    verdict.wrong.push_back(fmt::format("{} on {}: {}: {}", verdict.suite, verdict.device, what, error.what()));
  }
}

LaunchRequest request_of(const std::string& device, int ranks) {
  LaunchRequest request;
  request.ranks = ranks;
  request.timeout_seconds = 20;
  request.make_device = DeviceRegistry::instance().find(device).value;
  if (request.make_device.needs_cluster()) request.device.cluster = load_cluster(cluster_names().front());
  return request;
}

SuiteVerdict judge_ranks(const std::string& communicator, const std::string& device) {
  const CommunicatorTag::Value& launches = CommunicatorRegistry::instance().find(communicator).value;
  SuiteVerdict verdict{"communicator " + communicator, device, 0, {}};
  for (const int ranks : {1, 2, 3, 4}) {
    const LaunchRequest request = request_of(device, ranks);
    const auto named = [&](std::string_view name) { return fmt::format("{}, {} ranks", name, ranks); };
    for (const auto cases : {value_cases(), span_cases()}) {
      for (const CollectiveCase& one : cases)
        judge_suite_case(verdict, named(one.name), [&] { launches.launch(request, one.program); });
    }
    for (const auto cases : {failure_cases(), helper_cases()}) {
      for (const FailureCase& one : cases) {
        if (ranks >= one.least_ranks) judge_suite_case(verdict, named(one.name), [&] { one.run(launches, request); });
      }
    }
  }
  return verdict;
}

}  // namespace

void judge_host_work(Matrix& matrix) {
  for (const std::string& device : matrix.devices) {
    SuiteVerdict verdict{"host work", device, 0, {}};
    for (const DeviceCase& one : host_cases()) {
      judge_suite_case(verdict, std::string(one.name),
                       [&] { one.program(*DeviceRegistry::instance().find(device).value(DeviceRequest{})); });
    }
    matrix.suites.push_back(std::move(verdict));
  }
}

void judge_collectives(Matrix& matrix) {
  for (const auto& [name, communicator] : CommunicatorRegistry::instance().entries()) {
    if (!communicator.value.in_one_process()) continue;
    bool has_own_device = false;
    for (const auto& [device, entry] : DeviceRegistry::instance().entries()) {
      if (entry.value.own_communicator != name) continue;
      has_own_device = true;
      matrix.suites.push_back(judge_ranks(name, device));
    }
    if (has_own_device) continue;
    for (const std::string& device : matrix.devices) {
      if (DeviceRegistry::instance().find(device).value.on_host) matrix.suites.push_back(judge_ranks(name, device));
    }
  }
}

}  // namespace strobe::conformance
