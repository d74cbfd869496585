// Training on many ranks against a plain loop: one program that carries out reads, writes and gradients one after the
// other, as DistTGL's section 3.2 says them, with memory in arrays, nobody beside it and nothing ahead of its turn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/events/batch_order.hpp"
#include "harness/events/batch_pass.hpp"
#include "harness/events/event_weights.hpp"
#include "harness/files/model_files.hpp"
#include "harness/inputs/host_values.hpp"
#include "tests/harness/events/event_runs.hpp"

namespace strobe {
namespace {

using event_test::event_case;

/// Times stay within some seconds: trained frequencies enlarge rounding by them (docs/event_models.md).
std::string short_visits(const test::TemporaryFolder& folder, std::uint64_t seed, int count) {
  const RandomStream random(seed, 9);
  return event_test::jodie_file(folder, fmt::format("short{}.csv", seed), count, [&](int e) {
    const auto draw = [&](int which, int n) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(4 * e + which), static_cast<std::uint64_t>(n)));
    };
    return fmt::format("{},{},{},0,{}", draw(0, 15), draw(1, 20), e / 3 / 32.0, draw(2, 8) / 8.0);
  });
}

/// One copy of the memory, in arrays.
struct PlainCopy {
  PlainCopy(const EventCase& c, std::int64_t width)
      : drawer(c, c.training),
        clock(c.training.graph->vertices),
        memory(static_cast<std::size_t>(c.training.graph->vertices * width), 0.0),
        mails(2 * memory.size(), 0.0) {}
  BatchDrawer drawer;
  MemoryClock clock;
  std::vector<double> memory, mails;
};

/// A part of a batch with one set of negatives: what was read for it.
struct ReadPart {
  std::shared_ptr<BatchDraw> drawn;
  std::vector<double> memory, mails;
};

class PlainLoop {
 public:
  PlainLoop(const Case& request, TrainingGroups groups)
      : case_(begin_event_case(request)),
        order_(groups, case_.training_events(), case_.options.batch, case_.training.task->negative_groups),
        width_(case_.model->traits().memory),
        device_(DeviceRegistry::instance().find("cpu", "").value(request_of())),
        workers_(1),
        weights_(case_, groups.ranks() * case_.options.batch, *device_),
        loader_(case_.training, *device_) {
    for (std::int64_t copy = 0; copy < groups.k; ++copy) copies_.emplace_back(case_, width_);
    reads_.resize(static_cast<std::size_t>(groups.k * groups.j));
  }

  /// Mean loss of the events of an epoch.
  double epoch(std::int64_t number) {
    double loss = 0, events = 0;
    for (std::int64_t n = order_.first_iteration(number); n < order_.first_iteration(number + 1); ++n) {
      const auto count = static_cast<double>(order_.events_in(n));
      loss += iterate(n) * count;
      events += count;
    }
    return loss / events;
  }

  std::vector<double> weights() { return weights_.values(); }
  const EventCase& events() const { return case_; }

 private:
  static DeviceRequest request_of() {
    DeviceRequest request;
    request.precision = ElementType::f64;
    return request;
  }

  double iterate(std::int64_t n) {
    const TrainingGroups& groups = order_.groups();
    weights_.clear_gradients();
    double loss = 0;
    for (std::int64_t copy = 0; copy < groups.k; ++copy) {
      read(copy, n);
      std::vector<std::vector<double>> updated;
      for (std::int64_t age = 0; age < std::min(groups.j, n + 1); ++age) {
        const std::int64_t sequence = n - age;
        for (std::int64_t part = 0; part < groups.i; ++part) {
          const ReadPart& read = reads_[slot(copy, sequence)][static_cast<std::size_t>(age * groups.i + part)];
          loss += train(read, n, age == 0 ? &updated : nullptr);
        }
      }
      write(copy, n, updated);
    }
    weights_.update();
    return loss;
  }

  std::size_t slot(std::int64_t copy, std::int64_t sequence) const {
    return static_cast<std::size_t>(copy * order_.groups().j + sequence % order_.groups().j);
  }

  /// Reads the batch that begins in iteration n, for all sets of negatives: the memory stands before the batch.
  void read(std::int64_t copy, std::int64_t n) {
    PlainCopy& at = copies_[static_cast<std::size_t>(copy)];
    const TrainingGroups& groups = order_.groups();
    std::vector<ReadPart>& reads = reads_[slot(copy, n)];
    reads.clear();
    for (std::int64_t set = 0; set < groups.j; ++set) {
      for (std::int64_t part = 0; part < groups.i; ++part) {
        const auto rank = static_cast<int>((copy * groups.j + n % groups.j) * groups.i + part);
        const TrainerTurn turn = *order_.turn(n + set, rank);
        if (turn.begins_sweep && set == 0 && part == 0) {
          at.clock.reset();
          std::fill(at.memory.begin(), at.memory.end(), 0.0);
          std::fill(at.mails.begin(), at.mails.end(), 0.0);
        }
        ReadPart read{std::make_shared<BatchDraw>(), {}, {}};
        at.drawer.draw({turn.first, turn.count, turn.batch_first, true, turn.group, 0, false, turn.batch_count},
                       at.clock, workers_, *read.drawn);
        for (std::size_t row = 0; row < read.drawn->vertices.size(); ++row) {
          const std::int64_t v = read.drawn->vertices[row];
          const auto copy_row = [&](const std::vector<double>& from, std::int64_t width, std::vector<double>& to) {
            to.insert(to.end(), from.begin() + v * width, from.begin() + (v + 1) * width);
          };
          copy_row(at.memory, width_, read.memory);
          if (static_cast<std::int64_t>(row) < read.drawn->mails) copy_row(at.mails, 2 * width_, read.mails);
        }
        reads.push_back(std::move(read));
      }
    }
  }

  /// Adds the gradient of one part; its loss, of all events of the iteration.
  double train(const ReadPart& read, std::int64_t n, std::vector<std::vector<double>>* updated) {
    const BatchWish& wish = read.drawn->wish;
    if (updated != nullptr) updated->emplace_back();
    if (wish.count == 0) return 0;
    const std::int64_t rows = static_cast<std::int64_t>(read.drawn->vertices.size()), mails = read.drawn->mails;
    const MemoryRows memory{device_->move_in(read.memory.data(), rows, width_, ElementType::f64),
                            device_->move_in(read.mails.data(), mails, 2 * width_, ElementType::f64)};
    BatchInput input = loader_.load(read.drawn);
    Pass pass;
    pass.seed = static_cast<std::uint64_t>(case_.request.seed);
    pass.epoch = n;
    const Tensor loss = device_->allocate(1, 1, ElementType::f64);
    device_->run(Fill{loss, 0.0});
    Tape tape(*device_);
    const PassOutput output = compute_batch(case_, tape, weights_.parameters(), *read.drawn, input, memory, pass);
    const Tensor labels = case_.task->labels(*device_, *case_.training.graph, wish.first, wish.count);
    case_.task->add_loss(tape, output.outputs, LinkLoss::cross_entropy, labels,
                         1.0 / static_cast<double>(order_.events_in(n)), loss);
    tape.backward();
    if (updated != nullptr) updated->back() = host_values(*device_, output.updated);
    return host_values(*device_, loss).front();
  }

  /// Event by event in time order, so that the last mail of a vertex stays, whoever computed it.
  void write(std::int64_t copy, std::int64_t n, const std::vector<std::vector<double>>& updated) {
    PlainCopy& at = copies_[static_cast<std::size_t>(copy)];
    const EventGraph& graph = *case_.training.graph;
    const std::vector<ReadPart>& reads = reads_[slot(copy, n)];
    for (std::size_t part = 0; part < updated.size(); ++part) {
      const BatchDraw& drawn = *reads[part].drawn;
      std::map<std::int64_t, std::int64_t> row;
      for (std::size_t r = 0; r < drawn.vertices.size(); ++r) row[drawn.vertices[r]] = static_cast<std::int64_t>(r);
      for (EdgeId e = drawn.wish.first; e < drawn.wish.first + drawn.wish.count; ++e) {
        const VertexId ends[] = {graph.source[static_cast<std::size_t>(e)], graph.target[static_cast<std::size_t>(e)]};
        for (int own = 0; own < 2; ++own) {
          const auto state = [&](VertexId v) { return updated[part].begin() + row.at(v) * width_; };
          std::copy_n(state(ends[own]), width_, at.memory.begin() + ends[own] * width_);
          std::copy_n(state(ends[own]), width_, at.mails.begin() + 2 * ends[own] * width_);
          std::copy_n(state(ends[1 - own]), width_, at.mails.begin() + (2 * ends[own] + 1) * width_);
        }
      }
    }
    const std::int64_t batch = order_.batch_at(copy, n);
    at.clock.pass(*case_.training.graph, case_.training.whole->time[0], batch * order_.whole_batch(), order_.batch_count(batch));
  }

  EventCase case_;
  BatchOrder order_;
  std::int64_t width_;
  std::unique_ptr<Device> device_;
  Workers workers_;
  EventWeights weights_;
  BatchLoader loader_;
  std::vector<PlainCopy> copies_;
  std::vector<std::vector<ReadPart>> reads_;  // by copy and batch in training: sets, of each the parts
};

Json strategy_of(const TrainingGroups& groups, int batch, const Json& more = Json::object()) {
  Json strategy = {{"name", "event_batch"}, {"i", groups.i}, {"j", groups.j}, {"k", groups.k}, {"batch", batch}};
  strategy.update(more);
  return strategy;
}

struct TrainedRun {
  CaseResult result;
  std::vector<double> weights;
};

TrainedRun train(const test::TemporaryFolder& folder, const Case& c) {
  ModelOutputs outputs;
  outputs.weights = folder.file("weights.safetensors");
  TrainedRun run{run_case(c, nullptr, outputs), {}};
  EXPECT_EQ(run.result.status, "ok") << run.result.reason;
  if (run.result.status != "ok") return run;
  for (const SavedMatrix& matrix : read_safetensors(outputs.weights))
    run.weights.insert(run.weights.end(), matrix.values.begin(), matrix.values.end());
  return run;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t n = 0; n < a.size(); ++n)
    ASSERT_NEAR(a[n], b[n], tolerance * std::max(1.0, std::abs(b[n]))) << what << " " << n;
}

class GroupTraining : public ::testing::TestWithParam<std::tuple<int, int, int>> {
 protected:
  TrainingGroups groups() const {
    const auto [i, j, k] = GetParam();
    return {i, j, k};
  }
  test::TemporaryFolder folder_;
};

TEST_P(GroupTraining, IsThePlainLoop) {
  // 210 training events; 17 a rank: last batches are short, and some ranks have a part of one event, or none.
  const std::string visits = short_visits(folder_, 3 + static_cast<std::uint64_t>(groups().ranks()), 300);
  for (const bool pipeline : {false, true}) {
    const Case request = event_case(visits, {{"strategy", strategy_of(groups(), 17, {{"pipeline", pipeline}})},
                                             {"ranks", groups().ranks()},
                                             {"epochs", 4}});
    PlainLoop loop(request, groups());
    std::vector<double> losses;
    for (std::int64_t epoch = 0; epoch < 4; ++epoch) losses.push_back(loop.epoch(epoch));
    const TrainedRun run = train(folder_, request);
    expect_near(run.result.loss.per_epoch, losses, 1e-10, "losses");
    std::vector<double> sorted = run.weights, judge = loop.weights();
    std::sort(sorted.begin(), sorted.end());
    std::sort(judge.begin(), judge.end());
    expect_near(sorted, judge, 1e-10, "weights");
  }
}

std::string name_of_groups(const ::testing::TestParamInfo<std::tuple<int, int, int>>& info) {
  const auto [i, j, k] = info.param;
  return fmt::format("{}x{}x{}", i, j, k);
}

INSTANTIATE_TEST_SUITE_P(Groups, GroupTraining,
                         ::testing::Values(std::tuple{1, 1, 1}, std::tuple{3, 1, 1}, std::tuple{1, 2, 1},
                                           std::tuple{1, 3, 1}, std::tuple{1, 1, 3}, std::tuple{2, 2, 1},
                                           std::tuple{1, 2, 2}, std::tuple{2, 1, 2}, std::tuple{2, 2, 2}),
                         name_of_groups);

/// Bit for bit: the same kernels on the same rows.
TEST(GroupTrainingLaws, OneRankIsSequential) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 12, 400);
  for (const char* model : {"tgn-attn", "jodie", "tgat"}) {
    const Json plugin = model == std::string("tgat") ? Json{{"name", model}, {"hidden", 6}, {"time", 4}}
                                                     : Json{{"name", model}, {"memory", 6}, {"time", 4}};
    const TrainedRun alone = train(folder, event_case(visits, {{"model", plugin}}));
    for (const bool pipeline : {false, true}) {
      const TrainedRun one = train(
          folder,
          event_case(visits, {{"model", plugin}, {"strategy", strategy_of({1, 1, 1}, 32, {{"pipeline", pipeline}})}}));
      EXPECT_EQ(one.result.loss.per_epoch, alone.result.loss.per_epoch) << model;
      EXPECT_EQ(one.weights, alone.weights) << model;
      EXPECT_EQ(one.result.metrics.at("mrr").per_epoch, alone.result.metrics.at("mrr").per_epoch) << model;
    }
  }
}

/// i ranks with batches of 84 / i are one rank with batches of 84; 210 events leave a last batch of 42.
TEST(GroupTrainingLaws, RanksThatShareABatchAreOneRankWithIt) {
  const test::TemporaryFolder folder;
  const std::string visits = short_visits(folder, 40, 300);
  for (const Json& model :
       {Json{{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}},
        Json{{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"output", "merge"}, {"dropout", 0.3}},
        Json{{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"mail_dt", "event_minus_memory"}},
        Json{{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"intra_batch_history", "none"}},
        Json{{"name", "jodie"}, {"memory", 6}, {"time", 4}},
        Json{{"name", "tgat"}, {"hidden", 6}, {"time", 4}, {"neighbours", 3}}}) {
    const TrainedRun one =
        train(folder, event_case(visits, {{"model", model}, {"strategy", {{"name", "sequential"}, {"batch", 84}}}}));
    for (const int ranks : {2, 3, 4, 7}) {
      const TrainedRun shared =
          train(folder,
                event_case(visits,
                           {{"model", model}, {"ranks", ranks}, {"strategy", strategy_of({ranks, 1, 1}, 84 / ranks)}}));
      // An epoch of both is as many updates: the weights after three are compared, and metrics.
      expect_near(shared.weights, one.weights, 1e-10, fmt::format("{} at {}", model.dump(), ranks));
      expect_near(shared.result.metrics.at("mrr").per_epoch, one.result.metrics.at("mrr").per_epoch, 1e-10,
                  model.dump());
    }
  }
}

TEST(GroupTrainingLaws, PlannedBytesAreSentAndTheSimulatorComputesTheSame) {
  const test::TemporaryFolder folder;
  const std::string visits = short_visits(folder, 41, 300);
  for (const TrainingGroups groups : {TrainingGroups{2, 1, 2}, TrainingGroups{1, 2, 2}, TrainingGroups{1, 1, 4}}) {
    const Json base = {{"strategy", strategy_of(groups, 17)}, {"ranks", groups.ranks()}};
    const TrainedRun real = train(folder, event_case(visits, base));
    Json simulated = base;
    simulated.update({{"device", "sim"}, {"numerics", "cpu"}, {"cluster", "g4dn-t4"}});
    const TrainedRun virtually = train(folder, event_case(visits, simulated));
    EXPECT_EQ(virtually.result.loss.per_epoch, real.result.loss.per_epoch);
    EXPECT_EQ(virtually.weights, real.weights);
    EXPECT_EQ(virtually.result.metrics.at("ap").per_epoch, real.result.metrics.at("ap").per_epoch);
    simulated.update({{"numerics", "none"}});
    EXPECT_EQ(run_case(event_case(visits, simulated)).status, "ok");
  }
}

}  // namespace
}  // namespace strobe
