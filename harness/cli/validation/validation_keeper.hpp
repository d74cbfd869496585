// The output of `strobe validate`: a folder with two run directories and the report.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/validation/validation_report.hpp"
#include "results/run/run_directory.hpp"

namespace strobe {

/// Writes the rows of a validation during it, and its report at the end.
class ValidationKeeper {
 public:
  /// Creates the run directories FOLDER/measured, with `measured_environment` as its env.json, and FOLDER/predicted.
  /// Throws InvalidRequest("--out", ...) when the folder cannot be written to or holds a validation.
  ValidationKeeper(const std::string& folder, const std::vector<ValidationPair>& pairs,
                   const Json& measured_environment);

  const std::string& folder() const { return folder_; }

  /// Must be called after every round of a pair, so that a kill keeps complete rounds. Throws SystemError.
  void keep(const PairResult& result);

  /// Writes validation.json and validation.csv. Throws SystemError.
  void write(const Judgement& judgement, const Json& report) const;

 private:
  std::string folder_;
  std::unique_ptr<RunDirectory> measured_, predicted_;
  std::map<std::string, std::size_t> samples_kept_;  // number of measured samples on disk, by case
};

}  // namespace strobe
