// Runs another program and takes its epochs for a case.
#pragma once

#include <string>

#include "harness/request/case.hpp"
#include "harness/schedule/schedule.hpp"

namespace strobe {

/// Parameters of the strategy `external`.
struct ExternalParameters {
  std::string command;             // a line for /bin/sh; {ranks}, {epochs} and {seed} are replaced
  std::string program;             // its name in tables; "" = external
  std::string version;             // as the user states it
  std::string network = "shared";  // shared | own
  double patience = 600;           // seconds that it may state no epoch
};

/// Runs the program until it has stated all epochs of the case, ended, or must be ended. Fills in `result`; its status
/// says how that went. Throws Interrupted, with `result` filled in.
void run_external(const Case& c, const ExternalParameters& parameters, const OutsideRequest& request,
                  CaseResult& result);

}  // namespace strobe
