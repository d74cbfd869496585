// Pairs of cases for `strobe validate`. One case of a pair runs for real. The other is the same case, simulated with a
// cluster file that describes this machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/request/suite.hpp"

namespace strobe {

/// One configuration, real and simulated. `id` is the real case's.
struct ValidationPair {
  std::string id;
  Case measured;
  Case simulated;
};

/// A case that is not judged.
struct LeftOut {
  std::string id;
  std::string cause;   // calibration | cannot_run; for measurements from a file also not_measured | not_in_suite;
                       // for a pledge also not_pledged | other_cluster
  std::string reason;  // one sentence
};

struct PairSelection {
  std::vector<ValidationPair> pairs;
  std::vector<LeftOut> left_out;
  bool calibrated = false;  // whether the cluster file was measured
};

/// How the case was used to calibrate the cluster, as a reason not to judge it; "" when it was not.
std::string calibrated_with(const Case& c, const std::string& cluster);

/// The same case on device sim with `cluster` and numerics none. Throws InvalidRequest when it cannot be simulated
/// there, for example because its ranks do not fit.
Case simulated_case(const Case& measured, const std::string& cluster);

/// Pairs of the suite's real cases on `cluster`, in the suite's order. Leaves out cases that `cluster` cannot simulate,
/// and cases that it was calibrated with. The latter share their id, canonical JSON or workload with an entry of the
/// cluster file's /calibration/cases.
/// Throws InvalidRequest when a case is itself simulated, or when nothing is left.
PairSelection select_pairs(const Suite& suite, const std::string& cluster);

}  // namespace strobe
