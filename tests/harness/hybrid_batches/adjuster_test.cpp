// Adjusters: rewards of decisions 5.3, one update of the Q network by hand, a chain of two states with known values,
// and choices computed by hand.
#include "harness/hybrid_batches/adjusters/adjuster.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/random.hpp"
#include "harness/hybrid_batches/adjusters/dqn.hpp"

namespace strobe {
namespace {

// (t_l, t_c, D_c, D_l) of decisions 5.3; its table gives the printed form.
TEST(Reward, IsThatOfTheDecisions) {
  EXPECT_DOUBLE_EQ(reward_of({1, 1, 0.1, 0.1}, true), 0);
  EXPECT_DOUBLE_EQ(reward_of({1, 0.5, 0.1, 0.1}, true), 0.5);
  EXPECT_DOUBLE_EQ(reward_of({1, 2, 0.1, 0.1}, true), -1);
  EXPECT_NEAR(reward_of({1, 1, 0.1, -0.1}, true), 2, 1e-12) << "though the loss rose";
  EXPECT_LT(reward_of({1, 1, 0.1, 1e-6}, true), -9e4) << "singular";
  EXPECT_NEAR(reward_of({1, 1, 0.1, 0.15}, false), 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(reward_of({1, 1, 0.1, -0.1}, false), -1) << "-2, bounded";
  EXPECT_DOUBLE_EQ(reward_of({1, 3, 0.1, 0.1}, false), -1);
  EXPECT_TRUE(std::isfinite(reward_of({1, 1, 0, 0.1}, false)));
}

TEST(QNetworkTest, OneUpdateByHand) {
  QNetwork network(2, 2, RandomStream(1, 99));
  network.w1 << 1, -1;
  network.b1 << 0.5, 0;
  network.w2 << 2, 3, -1, 4;
  network.b2 << 0.1, 0.2;
  // s = 2: hidden = (2.5, 0), the second is off; Q = (5.1, -2.3).
  EXPECT_NEAR(network.values(2)[0], 5.1, 1e-12);
  EXPECT_NEAR(network.values(2)[1], -2.3, 1e-12);
  // Action 0 towards 4.1 at rate 0.1: off by 1.
  network.descend(2, 0, 4.1, 0.1);
  EXPECT_NEAR(network.w2(0, 0), 2 - 0.1 * 2.5, 1e-12);
  EXPECT_NEAR(network.w2(0, 1), 3, 1e-12);
  EXPECT_NEAR(network.b2[0], 0, 1e-12);
  EXPECT_NEAR(network.w1[0], 1 - 0.1 * 2 * 2, 1e-12);  // through w2 = 2, times the state
  EXPECT_NEAR(network.b1[0], 0.5 - 0.1 * 2, 1e-12);
  EXPECT_NEAR(network.w1[1], -1, 1e-12) << "off, so nothing flows";
  EXPECT_NEAR(network.w2(1, 0), -1, 1e-12) << "another action's";
}

// From state 0, action 1 leads to state 1. From there action 0 leads back with reward 1. Other actions stay, with no
// reward. With discount 1/2: V(1) = 1 + V(0) / 2, V(0) = V(1) / 2, so V(1) = 4/3, V(0) = 2/3.
TEST(DeepQTest, LearnsTheValuesOfAChainOfTwoStates) {
  DqnConstants constants;
  constants.discount = 0.5;
  constants.learning_rate = 0.05;
  DeepQ learner(2, 3, constants);
  const std::vector<Experience> chain = {{0, 0, 0, 0}, {0, 1, 0, 1}, {1, 0, 1, 0}, {1, 1, 0, 1}};
  for (int round = 0; round < 6000; ++round) learner.learn_from(chain);
  const Eigen::VectorXd at0 = learner.network().values(0), at1 = learner.network().values(1);
  EXPECT_NEAR(at0[1], 2.0 / 3, 0.02);
  EXPECT_NEAR(at1[0], 4.0 / 3, 0.02);
  EXPECT_NEAR(at0[0], 1.0 / 3, 0.02);
  EXPECT_NEAR(at1[1], 2.0 / 3, 0.02);
}

TEST(DeepQTest, ExploresLessAndLess) {
  DeepQ learner(4, 1);
  for (int i = 0; i < 44; ++i) learner.act(0);
  EXPECT_GT(learner.exploration(), 0.1);
  learner.act(0);
  EXPECT_DOUBLE_EQ(learner.exploration(), 0.1) << "0.95^45 is below a tenth";
}

AdjusterSetting setting_of(const std::string& kind, std::size_t actions) {
  AdjusterSetting setting;
  setting.kind = kind;
  setting.actions = actions;
  setting.cost = std::vector<double>(actions, 1.0);
  setting.target_cells = std::vector<double>(actions, 1.0);
  return setting;
}

// Each size lowers the loss by a fixed amount a second.
struct Toy {
  double loss = 100;
  StretchOutcome after(std::size_t action) {
    loss -= action == 2 ? 1.0 : 0.1;
    return {1.0, loss};
  }
};

TEST(Adjusters, BestFixedTriesAllAndKeepsTheBest) {
  const auto adjuster = make_adjuster(setting_of("best_fixed", 4));
  Toy toy;
  std::size_t action = adjuster->choose(nullptr);
  std::vector<std::size_t> chosen;
  for (int i = 0; i < 30; ++i) {
    const StretchOutcome outcome = toy.after(action);
    chosen.push_back(action = adjuster->choose(&outcome));
  }
  EXPECT_EQ(std::set<std::size_t>(chosen.begin(), chosen.begin() + 13).size(), 4u);
  for (int i = 15; i < 30; ++i) EXPECT_EQ(chosen[i], 2u);
}

TEST(Adjusters, TheBanditPrefersTheBestAndForgetsNobody) {
  const auto adjuster = make_adjuster(setting_of("bandit", 4));
  Toy toy;
  std::size_t action = adjuster->choose(nullptr);
  std::vector<int> turns(4, 0);
  for (int i = 0; i < 400; ++i) {
    const StretchOutcome outcome = toy.after(action);
    ++turns[action = adjuster->choose(&outcome)];
  }
  for (std::size_t a = 0; a < 4; ++a) EXPECT_GT(turns[a], 3);
  EXPECT_GT(turns[2], 200);
}

TEST(Adjusters, CostTakesTheMostForItsPrice) {
  AdjusterSetting setting = setting_of("cost", 3);
  setting.cost = {1, 2, 8};
  setting.target_cells = {1, 16, 64};  // roots 1, 4, 8: 1, 2 and 1 a unit of cost
  EXPECT_EQ(make_adjuster(setting)->choose(nullptr), 1u);
}

TEST(Adjusters, StatesGoOnWhereTheyStood) {
  for (const char* kind : {"dqn", "random", "bandit", "best_fixed", "cost"}) {
    const auto one = make_adjuster(setting_of(kind, 4)), other = make_adjuster(setting_of(kind, 4));
    Toy toy;
    std::size_t action = one->choose(nullptr);
    for (int i = 0; i < 25; ++i) {
      const StretchOutcome outcome = toy.after(action);
      action = one->choose(&outcome);
    }
    other->restore(one->state());
    for (int i = 0; i < 60; ++i) {
      const StretchOutcome outcome = toy.after(action);
      action = one->choose(&outcome);
      EXPECT_EQ(other->choose(&outcome), action) << kind << " after " << i;
    }
  }
}

}  // namespace
}  // namespace strobe
