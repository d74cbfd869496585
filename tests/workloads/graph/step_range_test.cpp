// A part of a timeline compared with the whole one: every step of it, for every way of cutting steps.
#include "workloads/graph/step_range.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;

/// The values of step t of a list with as many for each of `steps` steps.
template <class Values>
auto values_of_step(const Values& values, std::int64_t t, std::int64_t steps) {
  const auto size = static_cast<std::ptrdiff_t>(values.size()) / steps;
  return std::vector<typename Values::value_type>(values.begin() + t * size, values.begin() + (t + 1) * size);
}

/// A file in TGL's form of random events and labels; vertices 0 to 6.
std::string labelled_file(const TemporaryFolder& folder, std::mt19937& random) {
  std::string events = ",src,dst,time,ext_roll\n", labels = ",node,time,label,ext_roll\n";
  int time = 0;
  for (int i = 0; i < 60; ++i) {
    time += static_cast<int>(random() % 4);
    events += std::to_string(i) + "," + std::to_string(random() % 7) + "," + std::to_string(random() % 7) + "," +
              std::to_string(time) + ",0\n";
    if (i % 3 == 0)
      labels += std::to_string(i / 3) + "," + std::to_string(random() % 7) + "," + std::to_string(time) + "," +
                std::to_string(random() % 2) + ",0\n";
  }
  folder.write("labels.csv", labels);
  return folder.write("edges.csv", events);
}

TEST(StepRange, HasTheStepsOfTheWhole) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 40; ++trial) {
    const TemporaryFolder folder;
    const std::string path = labelled_file(folder, random);
    Json options = {{"window", "7s"}, {"orientation", trial % 3 == 0 ? "both" : "in"}};
    if (trial % 4 == 1) options["lags"] = 1;
    if (trial % 4 == 2) options["cumulative"] = true;
    if (trial % 4 == 3) options["min_edges"] = 2;
    const SnapshotGraph whole = load_workload(path, options, 1);
    const std::int64_t steps = whole.steps();
    ASSERT_GE(steps, 3);
    const std::int64_t first = random() % static_cast<unsigned>(steps - 1);
    const auto last = first + 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(steps - first));
    options["steps"] = std::to_string(first) + ":" + std::to_string(last);
    const SnapshotGraph part = load_workload(path, options, 1);
    ASSERT_EQ(part.steps(), last - first) << options;
    EXPECT_EQ(part.vertices, whole.vertices);
    for (std::int64_t t = 0; t < part.steps(); ++t) {
      const auto at = static_cast<std::size_t>(t), from = static_cast<std::size_t>(first + t);
      EXPECT_EQ(test::dense(*part.snapshots[at]), test::dense(*whole.snapshots[from])) << options;
      EXPECT_EQ(values_of_step(part.features, t, part.steps()), values_of_step(whole.features, first + t, steps))
          << options;
      EXPECT_EQ(part.step_begin[at], whole.step_begin[from]);
      EXPECT_EQ(part.step_end[at], whole.step_end[from]);
      if (whole.cell_label.empty() || part.cell_label.empty()) continue;
      // A label belongs to the last of the steps that hold its time, and of the part that is another one at its end.
      if (options.contains("lags") && t + 1 == part.steps()) continue;
      EXPECT_EQ(values_of_step(part.cell_label, t, part.steps()), values_of_step(whole.cell_label, first + t, steps))
          << options;
    }
    EXPECT_EQ(inspect_workload(path, options, 1)["edges"], part.edges());
  }
}

TEST(StepRange, AllStepsAreTheGraphAndIdsOfCasesStay) {
  const Json options = {{"window", "30d"}};
  EXPECT_EQ(load_workload("chess", {{"window", "30d"}, {"steps", "0:101"}}, 1).edges(),
            load_workload("chess", options, 1).edges());
  EXPECT_FALSE(complete_workload_parameters("chess", options, "").contains("steps"));
  EXPECT_FALSE(complete_workload_parameters("bursty_events", Json::object(), "").contains("steps"));
  EXPECT_EQ(complete_workload_parameters("chess", {{"steps", "3:5"}}, "").at("steps"), "3:5");
}

TEST(StepRange, RefusesInvalidRanges) {
  for (const char* range : {"3:3", "5:2", "-1:2", "0:102", "a:b", "3", "1:2x", ":", "0:", ":5", "1:2:3"}) {
    try {
      load_workload("chess", {{"window", "30d"}, {"steps", range}}, 1);
      ADD_FAILURE() << range;
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), "steps") << range;
      EXPECT_NE(error.message().find("0 <= A < B <= 101"), std::string::npos) << error.message();
    }
  }
}

}  // namespace
}  // namespace strobe
