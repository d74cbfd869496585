// The parts of full-batch training one by one, on a plan made by hand: the walk through the layers, the timeline in
// blocks, the rows that outlive blocks, and the trainer. Each is compared with plain loops.
#include <gtest/gtest.h>

#include "harness/full_batch/full_batch_trainer.hpp"
#include "tests/harness/fakes.hpp"
#include "tests/harness/full_batch/small_plan.hpp"

namespace strobe {
namespace {

/// A single rank on the processor, in fp64.
struct Alone {
  Alone() {
    DeviceRequest request;
    request.precision = ElementType::f64;
    device = DeviceRegistry::instance().find("cpu").value(request);
    communicator = std::make_unique<test::OnlyRank>(*device);
  }
  std::unique_ptr<Device> device;
  std::unique_ptr<Communicator> communicator;
};

std::vector<double> doubles(Device& device, const Tensor& tensor) {
  std::vector<double> values(tensor.elements());
  device.move_out(tensor, values.data());
  return values;
}

void expect_near(const std::vector<double>& values, const std::vector<double>& expected, double tolerance = 1e-12) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], tolerance) << i;
}

/// Gradient of plain_loss by central differences.
std::vector<double> plain_gradient(const FullBatchPlan& plan, const std::vector<double>& w) {
  std::vector<double> gradient;
  for (std::size_t i = 0; i < w.size(); ++i) {
    std::vector<double> more = w, less = w;
    more[i] += 1e-5;
    less[i] -= 1e-5;
    gradient.push_back((test::plain_loss(plan, more) - test::plain_loss(plan, less)) / 2e-5);
  }
  return gradient;
}

TEST(LayerWalkAlone, GivesTheEmbeddingsOfEveryBlock) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto plan = test::small_plan(seed, 1);
    const Alone alone;
    const Parameters parameters(*alone.device, plan->model.parameters, seed, {});
    const LayerWalk walk(*plan, plan->blocks[0], true, *alone.device);
    const BlockInputs inputs = bring_inputs(*alone.device, *plan, plan->blocks[0], Visit::lasting);
    Tape tape(*alone.device, false);
    std::vector<LayerMemory> memory(1);
    const Var y = walk.forward(tape, *alone.communicator, parameters, Pass{}, inputs, memory);
    const std::vector<double> w = doubles(*alone.device, parameters.values());
    expect_near(doubles(*alone.device, y->value), test::plain_embeddings(*plan->data.graph, w));
    EXPECT_FALSE(memory[0].after) << "no block follows the last one";
  }
}

TEST(LayerWalkAlone, HandsOnWhatTheNextBlockNeeds) {
  const auto plan = test::small_plan(4, 2);  // steps 0 to 2, and 3 and 4
  const Alone alone;
  const Parameters parameters(*alone.device, plan->model.parameters, 4, {});
  const std::vector<double> expected =
      test::plain_embeddings(*plan->data.graph, doubles(*alone.device, parameters.values()));
  Tape tape(*alone.device, false);
  std::vector<LayerMemory> memory(1);
  std::vector<double> rows;
  for (const std::size_t b : {0, 1}) {
    const LayerWalk walk(*plan, plan->blocks[b], b == 1, *alone.device);
    const BlockInputs inputs = bring_inputs(*alone.device, *plan, plan->blocks[b], Visit::forward);
    const Var y = walk.forward(tape, *alone.communicator, parameters, Pass{}, inputs, memory);
    const std::vector<double> part = doubles(*alone.device, y->value);
    rows.insert(rows.end(), part.begin(), part.end());
    if (b == 1) break;
    EXPECT_EQ(memory[0].after->value.rows(), test::small_vertices);  // a window of two needs one earlier step
    memory[0] = {memory[0].after, nullptr};
  }
  expect_near(rows, expected);
}

TEST(TimelineAlone, GoesForwardAndBackwardInBlocks) {
  for (const std::int64_t blocks : {1, 2, 3, 5}) {
    const auto plan = test::small_plan(5, blocks);
    Alone alone;
    Parameters parameters(*alone.device, plan->model.parameters, 5, {});
    const std::vector<double> w = doubles(*alone.device, parameters.values());
    Timeline timeline(*plan, *alone.device, *alone.communicator);
    std::vector<double> rows;
    std::vector<std::size_t> order;
    const auto keep = [&](std::size_t block, const Tensor& embeddings) {
      const std::vector<double> part = doubles(*alone.device, embeddings);
      rows.insert(rows.end(), part.begin(), part.end());
      order.push_back(block);
    };
    timeline.forward(parameters, Pass{}, keep);
    expect_near(rows, test::plain_embeddings(*plan->data.graph, w));
    // The loss is half the sum of all squared embeddings, so its gradient is the embedding itself.
    alone.device->run(Fill{parameters.gradients(), 0.0});
    timeline.train(
        parameters, Pass{}, [](std::size_t, const Tensor&) {},
        [](std::size_t, Tape& tape, const Var& y) { tape.add_gradient(y, y->value); });
    const auto half_square = [&](const std::vector<double>& weights) {
      double sum = 0;
      for (const double value : test::plain_embeddings(*plan->data.graph, weights)) sum += value * value / 2;
      return sum;
    };
    std::vector<double> expected;
    for (std::size_t i = 0; i < w.size(); ++i) {
      std::vector<double> more = w, less = w;
      more[i] += 1e-5;
      less[i] -= 1e-5;
      expected.push_back((half_square(more) - half_square(less)) / 2e-5);
    }
    expect_near(doubles(*alone.device, parameters.gradients()), expected, 1e-8);
    for (std::size_t b = 0; b < order.size(); ++b) EXPECT_EQ(order[b], b);
  }
}

TEST(KeptRowsAlone, AreTheStepsThatWereAskedFor) {
  for (const std::int64_t blocks : {1, 2, 3}) {
    const auto plan = test::small_plan(6, blocks);
    const Alone alone;
    KeptRows kept(*plan, *alone.device, {1, 3, 4});
    std::vector<double> cells;  // step * 10 + vertex, twice
    for (std::size_t b = 0; b < plan->blocks.size(); ++b) {
      std::vector<double> rows;
      for (std::int64_t t = 0; t < plan->blocks[b].steps(); ++t) {
        for (std::int64_t v = 0; v < test::small_vertices; ++v)
          rows.insert(rows.end(), 2, static_cast<double>((plan->blocks[b].first_step + t) * 10 + v));
      }
      kept.keep(b, alone.device->move_in(rows.data(), static_cast<std::int64_t>(rows.size()) / 2, 2, ElementType::f64));
    }
    EXPECT_EQ(doubles(*alone.device, kept.rows({3})), (std::vector<double>{30, 30, 31, 31, 32, 32, 33, 33}));
    EXPECT_EQ(doubles(*alone.device, kept.rows({1, 4})).size(), 16u);
    EXPECT_EQ(doubles(*alone.device, kept.rows({1, 4}))[8], 40);
  }
}

TEST(TrainerAlone, TrainsAsPlainLoopsDo) {
  for (const std::int64_t blocks : {1, 2, 5}) {
    const auto plan = test::small_plan(7, blocks);
    Alone alone;
    FullBatchTrainer trainer(*plan, *alone.device, *alone.communicator);
    std::vector<double> w = trainer.weights();
    for (int epoch = 0; epoch < 3; ++epoch) {
      trainer.epoch(epoch);
      const EpochValues values = trainer.values(true);
      EXPECT_NEAR(*values.loss, test::plain_loss(*plan, w), 1e-12);
      const std::vector<double> gradient = plain_gradient(*plan, w);
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.5 * gradient[i];
      expect_near(trainer.weights(), w, 1e-9);
      w = trainer.weights();
    }
    double sum = 0;  // of the logits of the test samples
    const std::vector<double> embeddings = test::plain_embeddings(*plan->data.graph, w);
    const Samples& samples = plan->data.samples->test;
    for (std::size_t i = 0; i < samples.step.size(); ++i) {
      const std::size_t at = samples.step[i] * test::small_vertices + samples.vertices[i];
      sum += embeddings[2 * at] + embeddings[2 * at + 1];
    }
    EXPECT_NEAR(trainer.evaluate({}).at("sum"), sum, 1e-12);
    expect_near(trainer.embeddings().copy(), embeddings);
  }
}

TEST(TrainerAlone, GoesOnFromItsState) {
  const auto plan = test::small_plan(8, 2);
  Alone alone;
  FullBatchTrainer one(*plan, *alone.device, *alone.communicator), other(*plan, *alone.device, *alone.communicator);
  for (const int epoch : {0, 1}) one.epoch(epoch);
  other.restore(one.state());
  one.epoch(2);
  other.epoch(2);
  EXPECT_EQ(one.weights(), other.weights());
  EXPECT_EQ(*one.values(false).loss, *other.values(false).loss);
}

}  // namespace
}  // namespace strobe
