// What `strobe validate` judges: cases that run for real, each beside the same case in the virtual time of a cluster
// file that describes this machine.
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

/// A configuration that is not judged.
struct LeftOut {
  std::string id;
  std::string cause;   // calibration | cannot_run; of measurements from a file also not_measured | not_in_suite
  std::string reason;  // one sentence
};

struct PairSelection {
  std::vector<ValidationPair> pairs;
  std::vector<LeftOut> left_out;
  bool calibrated = false;  // whether the cluster file was measured
};

/// The same case on device sim with `cluster` and numerics none. Throws InvalidRequest when it cannot be simulated
/// there (ranks that do not fit).
Case simulated_case(const Case& measured, const std::string& cluster);

/// Pairs of the suite's real cases on `cluster`, in the suite's order. Left out are cases that the cluster was
/// calibrated with: the same id or canonical JSON, or the same workload, as the cluster file's /calibration/cases names
/// them; and cases that `cluster` cannot simulate. Throws InvalidRequest when a case is itself simulated, or when
/// nothing is left.
PairSelection select_pairs(const Suite& suite, const std::string& cluster);

}  // namespace strobe
