// How far ahead batches are drawn, and how many draws a rank holds for it. The judge counts the draws that are alive
// while batches are taken in the order of GroupTrainer.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/event_batches/groups/remote_neighbours.hpp"
#include "harness/event_batches/trainer/batch_source.hpp"
#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe {
namespace {

using event_test::event_case;

/// Draws that take steps and make nothing.
class NotedDraws final : public JointDraws {
 public:
  explicit NotedDraws(std::int64_t steps) : steps_(steps) {}
  void start(std::int64_t sequence, const std::vector<BatchRequest>&,
             std::vector<std::shared_ptr<BatchDraw>> drawn) override {
    last_ = sequence;
    for (const auto& draw : drawn) begun_.push_back({draw, sequence, 0});
  }
  void advance() override {
    for (Draw& draw : begun_) ++draw.steps;
  }
  void finish(std::int64_t iteration) override {
    for (Draw& draw : begun_) draw.steps = draw.iteration <= iteration ? steps_ : draw.steps;
  }
  std::int64_t steps() const override { return steps_; }

  std::int64_t last() const { return last_; }  // the last iteration that is drawn for
  HeldDraws held() const {
    HeldDraws held;
    for (const Draw& draw : begun_) {
      if (!draw.drawn.expired()) ++(draw.steps < steps_ ? held.under_way : held.made);
    }
    return held;
  }

 private:
  struct Draw {
    std::weak_ptr<BatchDraw> drawn;
    std::int64_t iteration = 0, steps = 0;
  };
  std::int64_t steps_, last_ = -1;
  std::vector<Draw> begun_;
};

/// Takes the batches of a rank as GroupTrainer does.
class Taken {
 public:
  Taken(const std::shared_ptr<const EventCase>& c, std::int64_t steps, int rank)
      : case_(*c),
        order_({1, c->options.j, 1}, c->training_events(), c->options.batch, c->training.task->negative_groups),
        device_(DeviceRegistry::instance().find("cpu", "/device").value(DeviceRequest())),
        source_(c, order_, rank, *device_),
        rank_(rank) {
    auto draws = std::make_unique<NotedDraws>(steps);
    draws_ = draws.get();
    source_.join(std::move(draws));
  }

  void iterate(std::int64_t n) {
    begin(n);
    const std::optional<TrainerTurn> turn = order_.turn(n, rank_);
    {
      const SharedDraw of_pass = turn ? current_.at(static_cast<std::size_t>(turn->set)) : nullptr;
      source_.advance();
      if (case_.options.pipeline) source_.advance(), begin(n + 1);
      if (n >= first_looked_at) look(case_.options.pipeline ? n + 1 : n);
      source_.advance();
    }
    if (!case_.options.pipeline) source_.advance();
    source_.advance();
  }
  /// The most draws at a time, and the most of them that were under way.
  std::int64_t most() const { return most_; }
  std::int64_t most_under_way() const { return most_under_way_; }
  /// The most iterations between the one that begins and the last one that is drawn for.
  std::int64_t lead() const { return lead_; }

 private:
  static constexpr std::int64_t first_looked_at = 10;  // an epoch begins its first draws all at once

  void begin(std::int64_t n) {
    if (begun_to_ > n) return;
    begun_to_ = n + 1;
    source_.meet(n);
    if (const std::optional<TrainerTurn> turn = order_.turn(n, rank_); turn && turn->set == 0) {
      current_.clear();
      current_ = source_.take(turn->sequence).draws;
    }
    source_.draw_ahead(n, 1000);
  }

  void look(std::int64_t begun) {
    const HeldDraws held = draws_->held();
    most_ = std::max(most_, held.all());
    most_under_way_ = std::max(most_under_way_, held.under_way);
    lead_ = std::max(lead_, draws_->last() - begun);
  }

  const EventCase& case_;
  BatchOrder order_;
  std::unique_ptr<Device> device_;
  NotedDraws* draws_ = nullptr;
  EventBatchSource source_;
  int rank_;
  std::vector<SharedDraw> current_;
  std::int64_t begun_to_ = 0, most_ = 0, most_under_way_ = 0, lead_ = 0;
};

TEST(DrawLead, PlannedDrawsAreThoseThatARankHolds) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 8, 400);
  for (const int j : {1, 2, 3}) {
    for (const bool pipeline : {true, false}) {
      for (const int prefetch : {0, 1, 2, 3, 5}) {
        const Json strategy = {{"name", "event_batch"}, {"j", j},      {"k", 1},
                               {"pipeline", pipeline},  {"batch", 10}, {"prefetch", prefetch}};
        const auto c = std::make_shared<const EventCase>(
            begin_event_case(event_case(visits, {{"strategy", strategy}, {"ranks", j}})));
        for (const std::int64_t steps : {5, 9, 10, 13, 17}) {
          for (int rank = 0; rank < j; ++rank) {
            Taken taken(c, steps, rank);
            for (std::int64_t n = 0; n < 30; ++n) taken.iterate(n);
            const std::string what = fmt::format("{} steps {} rank {}", strategy.dump(), steps, rank);
            EXPECT_EQ(taken.lead(), draws_ahead(c->options, j, steps)) << what;
            const HeldDraws held = held_draws(c->options, j, steps);
            EXPECT_EQ(taken.most(), held.all()) << what;
            EXPECT_EQ(taken.most_under_way(), held.under_way) << what;
          }
        }
      }
    }
  }
}

/// One iteration hides five steps.
TEST(DrawLead, GrowsWithTheStepsOfADraw) {
  EventBatchOptions options;
  for (const auto& [steps, lead] : {std::pair{5, 2}, {9, 2}, {10, 3}, {14, 3}, {15, 4}, {17, 4}})
    EXPECT_EQ(draws_ahead(options, 1, steps), lead) << steps;
  EXPECT_EQ(draws_ahead(options, 2, 9), 3);
  EXPECT_EQ(draws_ahead(options, 1, 0), 1) << "each rank draws alone";
  EXPECT_EQ(held_draws(options, 1, 9).all(), 4);
  EXPECT_EQ(held_draws(options, 1, 13).all(), 5);
}

TEST(DrawLead, StepsFollowFromTheModelAndTheFeatures) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 8, 400);
  const auto steps = [&](const Json& model) {
    const EventCase c = begin_event_case(event_case(visits, {{"model", model}}));
    return joint_draw_steps(c, c.training);
  };
  EXPECT_EQ(steps({{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}}), 4 + 1 + 4 + 4);
  EXPECT_EQ(steps({{"name", "tgat"}, {"hidden", 6}, {"time", 4}, {"neighbours", 3}}), 8 + 1 + 1 + 4);
}

}  // namespace
}  // namespace strobe
