// Adjusters: rewards of decisions 5.3, one update of the Q network by hand, a chain of two states with known values,
// and choices computed by hand.
#include "harness/hybrid_batches/adjusters/adjuster.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/random.hpp"
#include "harness/hybrid_batches/adjusters/dqn.hpp"
#include "harness/hybrid_batches/adjusters/marginal.hpp"

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
    return {1.0, loss, 1.0};
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

// The bounds from the whole list of turns, each weighed by its age.
TEST(Marginal, BoundsAreThoseOfTheWholeHistory) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const RandomStream random(seed, 98);
    std::uint64_t next = 0;
    const std::vector<double> worth = {1, 2.5, 0.5};
    const MarginalConstants constants;
    MarginalRates rates(worth);
    EXPECT_EQ(rates.best(), 1u) << "before any turn";
    std::vector<std::pair<std::size_t, double>> history;
    for (int turn = 0; turn < 60; ++turn) {
      const auto action = static_cast<std::size_t>(random.below(next++, 3));
      const double rate = static_cast<double>(action) + random.uniform(next++) - (seed == 4 ? 9.0 : 0.0);
      history.emplace_back(action, rate);
      rates.add(action, rate);
      std::vector<double> turns(3, 0), sums(3, 0), means(3, 0);
      double all = 0, sum = 0, expected = 0, squares = 0;
      const auto weight = [&](std::size_t i) {
        return std::pow(constants.discount, static_cast<double>(history.size() - 1 - i));
      };
      for (std::size_t i = 0; i < history.size(); ++i) {
        turns[history[i].first] += weight(i), sums[history[i].first] += weight(i) * history[i].second;
        all += weight(i), sum += weight(i) * history[i].second, expected += weight(i) * worth[history[i].first];
      }
      for (std::size_t a = 0; a < 3; ++a)
        means[a] = (sums[a] + std::max(0.0, sum / expected) * worth[a]) / (turns[a] + 1);
      for (std::size_t i = 0; i < history.size(); ++i)
        squares += weight(i) * std::pow(history[i].second - means[history[i].first], 2);
      // Among the expected rates 1, 2.5 and 0.5 times a scale, the variance is 13/12 of the scale's square.
      const double law = std::max(0.0, sum / expected) * std::sqrt(13.0 / 12);
      for (std::size_t a = 0; a < 3; ++a) {
        const double above =
            std::max(law, std::sqrt(squares / all)) * std::sqrt(2 * std::log(1 + all) / (turns[a] + 1));
        EXPECT_NEAR(rates.bound(a), means[a] + above, 1e-9 * (1 + std::abs(means[a]))) << seed << " " << turn;
        EXPECT_GE(rates.bound(rates.best()), rates.bound(a));
      }
    }
  }
}

/// A turn of a second, the `turn`-th from 0, in which the loss falls as a power of the time.
StretchOutcome after_turn(double& loss, int turn, double exponent) {
  if (turn > 0) loss *= std::pow(turn / (turn + 1.0), exponent);
  return {1.0, loss, 1.0};
}

TEST(Marginal, BeginsWithTheCostModelAndLeavesItWhenTurnsSayOtherwise) {
  AdjusterSetting setting = setting_of("marginal", 4);
  setting.target_cells = {1, 1, 1, 4};  // the last one is worth most, and the third one is best
  const auto adjuster = make_adjuster(setting);
  std::size_t action = adjuster->choose(nullptr);
  EXPECT_EQ(action, 3u);
  std::vector<int> turns(4, 0);
  double loss = 100;
  for (int i = 0; i < 200; ++i) {
    const StretchOutcome outcome = after_turn(loss, i, action == 2 ? 0.5 : 0.05);
    ++turns[action = adjuster->choose(&outcome)];
  }
  EXPECT_GT(turns[2], 120);
}

// The best size changes half-way. UCB1 keeps to the old one for as long again; a discounted mean does not.
TEST(Marginal, FollowsAChange) {
  const auto adjuster = make_adjuster(setting_of("marginal", 3));
  double loss = 100;
  std::size_t action = adjuster->choose(nullptr);
  std::vector<int> late(3, 0);
  for (int i = 0; i < 400; ++i) {
    const StretchOutcome outcome = after_turn(loss, i, action == (i < 200 ? 0u : 2u) ? 0.5 : 0.05);
    action = adjuster->choose(&outcome);
    if (i >= 300) ++late[action];
  }
  EXPECT_GT(late[2], 60);
}

TEST(Adjusters, StatesGoOnWhereTheyStood) {
  for (const char* kind : {"dqn", "random", "bandit", "best_fixed", "cost", "marginal"}) {
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
