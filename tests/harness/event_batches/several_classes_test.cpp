// Training on events with several classes each: a model learns the classes that follow from vertices and their past,
// but not those that only the event itself has.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/event_batches/trainer/evaluation_pass.hpp"
#include "harness/schedule/host_values.hpp"
#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe {
namespace {

/// 6000 events within a minute. The generator gives an event one class of its source's topic and one of its target's
/// topic, and replaces each by any of the 12 in one of ten cases. Half of a target's features are those of its topic,
/// and most targets of a source have the source's topic. So features of the two ends and of the source's last
/// neighbours determine the classes. There is a topic for every 32 targets, and topics never change.
Json classed_events(std::int64_t sources, std::int64_t targets, std::int64_t per_event = 2) {
  return {{"name", "bursty_events"},
          {"vertices", sources + targets},
          {"sources", sources},
          {"events", 6000},
          {"classes", 12},
          {"classes_per_event", per_event},
          {"span", 60},
          {"vertex_features", 8},
          {"drift", 0}};
}

Case classification(const Json& workload, const Json& changes = Json::object()) {
  Json all = {{"workload", workload},
              {"model", {{"memory", 16}}},
              {"task", {{"name", "event-classification"}}},
              {"strategy", {{"batch", 100}}},
              {"optimizer", {{"name", "adam"}, {"rate", 0.06}}},
              {"precision", "fp32"}};
  all.update(changes);
  return event_test::event_case("", all);
}

double last(const CaseResult& result, const std::string& name) { return result.metrics.at(name).per_epoch.back(); }

/// The generator keeps a share 1 - 0.1 * 11 / 12 of the classes. A model can predict at most those.
TEST(SeveralClassesTraining, WhatTopicsTellIsLearnt) {
  const Json tgat = {{"name", "tgat"}, {"hidden", 16}, {"time", 4}, {"neighbours", 5}};
  const Json merging = {{"name", "tgn-attn"}, {"memory", 16}, {"time", 4}, {"neighbours", 3}, {"output", "merge"}};
  for (const Json& model : {tgat, merging}) {
    for (const std::int64_t seed : {1, 2, 3}) {
      const CaseResult result =
          run_case(classification(classed_events(72, 128), {{"model", model}, {"epochs", 6}, {"seed", seed}}));
      ASSERT_EQ(result.status, "ok") << result.reason;
      EXPECT_LT(result.loss.per_epoch.back(), result.loss.per_epoch.front());
      for (const std::string part : {"", "validation_"}) {
        const double own = last(result, part + "f1_micro"), rule = last(result, part + "majority_f1_micro");
        EXPECT_GT(own, rule + 0.2) << model.dump() << ", seed " << seed << ": " << rule;
        EXPECT_LT(own, 0.94) << "a class that was replaced is known by the event alone";
      }
      EXPECT_EQ(result.metrics.count("auc"), 0u);
    }
  }
}

/// With one topic, every event has the same two classes, except the replaced ones. No earlier data predicts those. A
/// model that saw the event's own classes would name them all.
TEST(SeveralClassesTraining, WhatOnlyTheEventItselfHasCannotBeLearnt) {
  const CaseResult result = run_case(classification(classed_events(20, 32), {{"epochs", 4}}));
  const double rule = last(result, "majority_f1_micro");
  EXPECT_LT(rule, 0.95);
  EXPECT_NEAR(last(result, "f1_micro"), rule, 0.01);
}

/// Embeddings of the last events from the start weights, with `per_event` classes for each event.
std::vector<double> embeddings(std::int64_t per_event) {
  const EventCase c = begin_event_case(classification(classed_events(72, 128, per_event)));
  const auto device = DeviceRegistry::instance().find("cpu").value(DeviceRequest{});
  const Parameters parameters(*device, c.parameters, 1);
  EvaluationPass replay(c, *device);
  replay.keep({"embeddings"});
  const auto& embeddings = replay.views(parameters).embeddings;
  return {embeddings.begin(), embeddings.end()};
}

TEST(SeveralClassesTraining, OtherClassesLeaveEmbeddingsAsTheyAre) {
  const std::vector<double> two = embeddings(2);
  ASSERT_FALSE(two.empty());
  EXPECT_EQ(two, embeddings(5));
  const auto loss = [](std::int64_t per_event) {
    return run_case(classification(classed_events(72, 128, per_event), {{"epochs", 1}})).loss.per_epoch.back();
  };
  EXPECT_NE(loss(2), loss(5)) << "but they are what is learnt";
}

/// Computes the loss of the first batch, before any update, by its definition.
TEST(SeveralClassesTraining, TheLossIsTheMeanOverEventsOfTheSumOverClasses) {
  const EventCase c = begin_event_case(classification(classed_events(72, 128), {{"precision", "fp64"}}));
  DeviceRequest request;
  request.precision = ElementType::f64;
  const auto device = DeviceRegistry::instance().find("cpu").value(request);
  const Parameters parameters(*device, c.parameters, 1);
  const Tensor loss = device->allocate(1, 1, ElementType::f64);
  device->run(Fill{loss, 0.0});
  device->run(Fill{parameters.gradients(), 0.0});
  EventWalk walk(c, c.data, *device);
  Tape tape(*device);
  const EdgeId first = 300;
  const std::int64_t count = 100;
  const PassOutput output =
      walk.pass(tape, parameters, walk.start_draw({first, count, first, true, 0, 0, true}), Pass{});
  c.task->add_loss(tape, output.outputs, LinkLoss::cross_entropy, c.task->labels(*device, *c.data.graph, first, count),
                   1.0 / 100, loss);
  const std::vector<double> logits = host_values(*device, output.outputs->value);
  ASSERT_EQ(logits.size(), 1200u);
  const GeneratedClasses& classes = c.data.graph->event_class_source;
  double expected = 0;
  for (std::size_t e = 0; e < 100; ++e) {
    const std::size_t at = static_cast<std::size_t>(first) + e;
    const std::uint64_t bits =
        classes.of(static_cast<EdgeId>(at), c.data.graph->source[at], c.data.graph->target[at], c.data.graph->time[at]);
    for (std::size_t k = 0; k < 12; ++k) {
      const double p = 1 / (1 + std::exp(-logits[e * 12 + k]));
      expected -= std::log((bits >> k & 1) != 0 ? p : 1 - p) / 100;
    }
  }
  EXPECT_NEAR(host_values(*device, loss)[0], expected, 1e-12 * expected);
}

TEST(SeveralClassesTraining, IsTheSameAtAnyNumberOfThreadsAndInTheSimulator) {
  const auto run = [](const Json& changes) {
    Json all = {{"epochs", 2}};
    all.update(changes);
    const CaseResult result = run_case(classification(classed_events(30, 40), all));
    EXPECT_EQ(result.status, "ok") << result.reason;
    return result;
  };
  const CaseResult one = run(Json::object());
  for (const CaseResult& other : {run({{"threads", 3}, {"host_threads", 2}}),
                                  run({{"device", "sim"}, {"numerics", "cpu"}, {"cluster", "g4dn-t4"}})}) {
    EXPECT_EQ(one.loss.per_epoch, other.loss.per_epoch);
    EXPECT_EQ(one.metrics.at("f1_micro").per_epoch, other.metrics.at("f1_micro").per_epoch);
  }
  run({{"device", "sim"}, {"numerics", "none"}, {"cluster", "g4dn-t4"}});  // without values there are no metrics
}

}  // namespace
}  // namespace strobe
