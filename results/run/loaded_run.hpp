// A run directory, read for comparing it with another one.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "results/row/row.hpp"

namespace strobe {

struct LoadedRun {
  std::string folder;
  Summary summary;
  std::map<std::string, std::vector<EpochSample>> samples;
  std::set<std::string> host_classes;  // of the run and of every continuation
  Json data;                           // SHA-256 of the files that were read, by name; null when plan.json has none

  const Row* find(const std::string& case_id) const;
  /// Seconds of the measured epochs of a row's case, by round; one round where one process measured them.
  std::map<int, std::vector<double>> seconds_of(const Row& row) const;
};

/// The summary of a run's folder, or the summary.json that a user named. Throws like `read_summary`; a file of another
/// kind is more likely a graph than a damaged summary.
Summary summary_of_run(const std::string& run);

/// Reads a run's folder, or its summary.json with the other files of its folder. Throws like `read_summary`.
LoadedRun load_run(const std::string& path);

/// Reads the rows of a run directory, or of a summary.json, for a program that does not check their digests. Where
/// neither exists, that program reports it. Throws like `read_summary`.
void check_rows(const std::string& run);

/// Throws NotComparable where the machines of the runs are not the same, or not known.
void refuse_different_hosts(const LoadedRun& base, const LoadedRun& changed);

/// "" when both rows read the same data, else why that is not known. Throws NotComparable when they read other data.
std::string compare_data(const LoadedRun& base, const Row& before, const LoadedRun& changed);

}  // namespace strobe
