// The split of steps, by hand.
#include "models/tasks/task_split.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/errors.hpp"

namespace strobe {
namespace {

std::vector<std::int64_t> parts(std::int64_t steps, const std::string& split) {
  const StepSplit s = split_steps(steps, split, "a task");
  return {s.train, s.validation, s.test};
}

std::string refused(std::int64_t steps, const std::string& split) {
  try {
    split_steps(steps, split, "a task");
  } catch (const InvalidRequest& error) {
    return error.where();
  }
  return "accepted";
}

std::string message(std::int64_t steps, const std::string& split) {
  try {
    split_steps(steps, split, "a task");
  } catch (const InvalidRequest& error) {
    return error.message();
  }
  return "";
}

using Parts = std::vector<std::int64_t>;

TEST(TaskSplit, BordersAreRoundedDown) {
  EXPECT_EQ(parts(20, "70/15/15"), (Parts{14, 3, 3}));
  EXPECT_EQ(parts(20, "0.7/0.15/0.15"), (Parts{14, 3, 3}));
  EXPECT_EQ(parts(10, "70/15/15"), (Parts{7, 1, 2}));  // borders 7 and 8.5
  EXPECT_EQ(parts(100, "29/42/29"), (Parts{29, 42, 29}));
  EXPECT_EQ(parts(100, "0.29/0.42/0.29"), (Parts{29, 42, 29}));
  EXPECT_EQ(parts(10, "70/0/30"), (Parts{7, 0, 3}));
  EXPECT_EQ(parts(7, "33.3333333333/33.3333333333/33.3333333333"), (Parts{2, 2, 3}));
}

TEST(TaskSplit, EachPartHasAStep) {
  EXPECT_EQ(parts(3, "98/1/1"), (Parts{1, 1, 1}));
  EXPECT_EQ(parts(4, "1/1/98"), (Parts{1, 1, 2}));
  EXPECT_EQ(parts(2, "99/0/1"), (Parts{1, 0, 1}));
  EXPECT_EQ(refused(2, "98/1/1"), "/workload");
  EXPECT_EQ(refused(1, "50/0/50"), "/workload");
  EXPECT_NE(message(2, "98/1/1").find("at least 3 steps, this graph has 2"), std::string::npos) << message(2, "98/1/1");
  EXPECT_NE(message(1, "50/0/50").find("at least 2 steps, this graph has 1"), std::string::npos);
}

TEST(TaskSplit, OtherTextsAreRefused) {
  for (const char* split : {"70", "70/30", "70/15/15/0", "70/15/16", "0/50/50", "50/50/0", "-10/10/100", "a/b/c",
                            "70/15/15%", "nan/0/1", " 70/15/15", "0.7/15/15", "inf/0/1", "1/0/0", "70//30"})
    EXPECT_EQ(refused(20, split), "/task/split") << split;
}

TEST(TaskSplit, CompletesTheParametersOfACase) {
  const auto complete = [](const Json& values) {
    return complete_task_parameters("vertex-classification", values, "/task");
  };
  EXPECT_FALSE(complete(Json::object()).contains("split"));  // so cases without it keep their ids
  EXPECT_EQ(complete(Json::object())["train_share"], 0.7);
  const Json given = complete({{"split", "0.6/0.2/0.2"}});
  EXPECT_EQ(given["split"], "60/20/20");
  EXPECT_FALSE(given.contains("train_share"));
  EXPECT_EQ(complete(given), given);
  EXPECT_EQ(complete({{"split", "60/20/20"}, {"train_share", 0.6}}), given);
  EXPECT_THROW(complete({{"split", "60/20/20"}, {"train_share", 0.7}}), InvalidRequest);
  EXPECT_THROW(complete({{"split", "60/20/30"}}), InvalidRequest);
  EXPECT_THROW(complete({{"split", 5}}), InvalidRequest);
  EXPECT_FALSE(complete_task_parameters("link-prediction", Json::object(), "/task").contains("split"));
}

}  // namespace
}  // namespace strobe
