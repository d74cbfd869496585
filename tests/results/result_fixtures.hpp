// Made-up samples, cases and folders that several tests of results/ share.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "results/row/row.hpp"

namespace strobe::testing_results {

/// A folder for one test, removed at its end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strobe_results_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// A case as case_to_json gives it.
inline Json case_json(std::int64_t ranks = 2, const std::string& strategy = "snapshot",
                      const std::string& device = "cpu") {
  return {{"workload", {{"name", "chess"}, {"window", "30d"}}},
          {"model", {{"name", "tm-gcn"}, {"hidden", 6}}},
          {"strategy", {{"name", strategy}}},
          {"task", {{"name", "link-prediction"}, {"theta", 0.1}}},
          {"optimizer", {{"name", "adam"}, {"rate", 0.01}}},
          {"device", device},
          {"comm", "local"},
          {"cluster", ""},
          {"numerics", "cpu"},
          {"precision", "fp32"},
          {"ranks", ranks},
          {"seed", 3},
          {"epochs", 2},
          {"warmup", 1}};
}

/// A sample whose phases are compute, communicate and wait, and add up to the epoch.
inline EpochSample make_sample(int repetition, int epoch, int rank, double compute, double communicate, double wait,
                               bool warmup = false) {
  EpochSample sample;
  sample.repetition = repetition;
  sample.epoch = epoch;
  sample.rank = rank;
  sample.warmup = warmup;
  sample.epoch_seconds = compute + communicate + wait;
  sample.busy_seconds = compute + communicate;
  sample.phase_seconds = {compute, communicate, 0, 0, wait, 0};
  sample.sent_bytes[Traffic::redistribute] = 100;
  sample.sent_bytes[Traffic::gradient] = 24;
  sample.messages = 3;
  sample.transfer_bytes = 7;
  sample.work = {1e9, 2e8, 1e8};
  sample.peak_host_bytes = static_cast<std::uint64_t>(1000 + 10 * rank + epoch);
  return sample;
}

/// Two ranks, one warm-up epoch and `epochs` measured ones; the slowest rank takes base + epoch / 1000 seconds.
inline CaseResult make_result(int epochs = 2, double base = 1.0) {
  CaseResult result;
  for (int epoch = 0; epoch <= epochs; ++epoch) {
    const double extra = epoch / 1000.0;
    result.samples.push_back(make_sample(0, epoch, 0, 0.5 * base, 0.3 * base, 0.2 * base + extra, epoch == 0));
    result.samples.push_back(make_sample(0, epoch, 1, 0.4 * base, 0.3 * base, 0.1 * base + extra, epoch == 0));
  }
  result.loss.per_epoch = {0.7, 0.6, 0.5};
  result.metrics["accuracy"].per_epoch = {0.5, 0.6, 0.75};
  result.metrics["auc"].absent_reason = "one class only";
  result.items_per_epoch = 1000;
  return result;
}

}  // namespace strobe::testing_results
