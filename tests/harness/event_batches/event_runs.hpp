// Small event graphs as files, and cases on them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "harness/files/model_files.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "tests/workloads/support.hpp"

namespace strobe::event_test {

/// JODIE's csv of `count` events between users and items: `row(e)` gives "user,item,time,label,features...".
inline std::string jodie_file(const test::TemporaryFolder& folder, const std::string& name, int count,
                              const std::function<std::string(int)>& row) {
  std::string text = "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n";
  for (int e = 0; e < count; ++e) text += row(e) + "\n";
  return folder.write(name, text);
}

/// Random visits with two features: repeats, ties and bursts.
inline std::string random_visits(const test::TemporaryFolder& folder, std::uint64_t seed, int count, int users = 20,
                                 int items = 30) {
  const RandomStream random(seed, 2);
  return jodie_file(folder, fmt::format("visits{}.csv", seed), count, [&](int e) {
    const auto draw = [&](int which, int n) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(8 * e + which), static_cast<std::uint64_t>(n)));
    };
    const int user = e < users ? e : draw(0, users);
    const int item = e < items ? e : draw(1, 3) > 0 ? (user * 7 + draw(2, 3)) % items : draw(3, items);
    return fmt::format("{},{},{},{},{},{}", user, item, e / 2, draw(4, 5) == 0 ? 1 : 0, draw(5, 8) / 8.0,
                       draw(6, 8) / 8.0);
  });
}

/// Times stay within some seconds, because trained frequencies multiply rounding by them
/// (docs/explanation/event_models.md).
inline std::string short_visits(const test::TemporaryFolder& folder, std::uint64_t seed, int count) {
  const RandomStream random(seed, 9);
  return jodie_file(folder, fmt::format("short{}.csv", seed), count, [&](int e) {
    const auto draw = [&](int which, int n) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(4 * e + which), static_cast<std::uint64_t>(n)));
    };
    return fmt::format("{},{},{},0,{}", draw(0, 15), draw(1, 20), e / 3 / 32.0, draw(2, 8) / 8.0);
  });
}

/// A file of `random_visits` whose events after event `last` have other items of the same 30, moved by `shift`.
inline std::string with_other_items_after(const test::TemporaryFolder& folder, const std::string& visits, int last,
                                          int shift) {
  std::ifstream file(visits);
  std::string changed, line;
  std::getline(file, line);
  changed = line + "\n";
  for (int e = 0; std::getline(file, line); ++e) {
    const std::size_t item = line.find(',') + 1, behind = line.find(',', item);
    if (e > last) line.replace(item, behind - item, std::to_string((std::stoi(line.substr(item)) + shift) % 30));
    changed += line + "\n";
  }
  return folder.write("changed.csv", changed);
}

inline Case event_case(const std::string& workload, const Json& changes = Json::object()) {
  Json request = {{"workload", workload},
                  {"model", {{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}}},
                  {"strategy", {{"name", "sequential"}, {"batch", 32}}},
                  {"task", {{"name", "future-links"}, {"candidates", "9"}, {"batch", 20}}},
                  {"precision", "fp64"},
                  {"epochs", 3},
                  {"warmup", 0}};
  for (const auto& [key, value] : changes.items()) {
    if (value.is_object() && request.contains(key) && request[key].is_object() && !value.contains("name"))
      request[key].update(value);
    else
      request[key] = value;
  }
  return case_from_json(request, "");
}

/// A run, and its trained weights by name of parameter.
struct TrainedRun {
  CaseResult result;
  std::vector<double> weights;
};

inline TrainedRun train(const test::TemporaryFolder& folder, const Case& c, ModelOutputs outputs = {}) {
  outputs.weights = folder.file("weights.safetensors");
  TrainedRun run{run_case(c, nullptr, outputs), {}};
  EXPECT_EQ(run.result.status, "ok") << run.result.reason;
  if (run.result.status != "ok") return run;
  for (const SavedMatrix& matrix : read_safetensors(outputs.weights))
    run.weights.insert(run.weights.end(), matrix.values.begin(), matrix.values.end());
  return run;
}

/// Resident bytes of the mappings of a file in this process.
inline std::uint64_t resident_bytes(const std::string& path) {
  std::ifstream smaps("/proc/self/smaps");
  std::uint64_t bytes = 0;
  bool of_file = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find('-') < line.find(' ')) of_file = line.find(path) != std::string::npos;
    if (of_file && line.rfind("Rss:", 0) == 0) bytes += 1024 * std::stoull(line.substr(4));
  }
  return bytes;
}

inline void expect_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t n = 0; n < a.size(); ++n)
    ASSERT_NEAR(a[n], b[n], tolerance * std::max(1.0, std::abs(b[n]))) << what << " " << n;
}

}  // namespace strobe::event_test
