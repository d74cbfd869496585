// A pledge: predictions that were written down, with date and digest, before anybody measured. `strobe plan --pledge`
// writes it, and `strobe validate --pledge` judges it. results/schema/pledge.schema.json describes the file.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"
#include "harness/validation/earlier_measurements.hpp"
#include "harness/validation/measure_pairs.hpp"
#include "harness/validation/pairs.hpp"
#include "results/row/row.hpp"

namespace strobe {

/// One prediction. Its row has the case, the status (ok or out_of_memory), and what `keys_of_a_pledge` names.
struct PledgedPoint {
  std::string id;               // of the point in its plan
  std::string cluster;          // as the plan requested it
  std::string calibrated_with;  // why the cluster's calibration knew the case; "" = it did not
  Row row;
};

struct PledgedCluster {
  std::string name;  // as the plan requested it, with what-ifs
  bool calibrated = false;
  std::string sha256;  // of the file's content after its what-ifs, as content_digest gives it
};

struct Pledge {
  std::string date;     // UTC, "2026-11-30T11:45:02Z", by the clock of the system that wrote it
  std::string program;  // version and revision of Strobe
  Json request;         // options of the plan as typed
  std::vector<PledgedCluster> clusters;
  std::vector<PledgedPoint> points;
  std::string sha256 = {};  // of all of the above; set by read_pledge
};

/// Keys of a row that a pledge keeps in addition to the median epoch.
inline constexpr const char* keys_of_a_pledge[] = {"epoch_seconds_band90", "phase_seconds", "sent_bytes", "peak_bytes",
                                                   "notes"};

/// The clusters of these points, each once, with their digests as they are now. Throws like load_cluster.
std::vector<PledgedCluster> clusters_of(const std::vector<PledgedPoint>& points);

/// The file of a pledge, with its digest.
std::string pledge_text(const Pledge& pledge);

/// Reads a pledge. Throws InvalidInput when any byte differs from what pledge_text wrote, or when it is no pledge;
/// SystemError when it cannot be read.
Pledge read_pledge(const std::string& path);

/// The measurements of a run that a pledge predicted.
struct PledgedResults {
  std::vector<PairResult> results;  // in the order of the points
  std::vector<LeftOut> left_out;    // causes calibration, not_measured, not_pledged and other_cluster
  std::string cluster;              // whose points are judged
  bool calibrated = false;          // whether it is
};

/// Matches points with measured rows. A row is of a point when all their settings are the same, except where the case
/// runs (device, communicator, cluster, numerics, kernels, draws, timeout) and how long it is measured (epochs, warmup,
/// repeat, until). `cluster` chooses among the pledge's clusters; empty = its only one.
/// Throws InvalidRequest("--cluster", ...) for another name, or when none is given and there are several.
PledgedResults match_pledge(const Pledge& pledge, const std::string& cluster, const EarlierCases& measured);

}  // namespace strobe
