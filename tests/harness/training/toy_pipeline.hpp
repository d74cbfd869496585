// A kind of training for tests: one helper that keeps a memory for all ranks, two groups of ranks, and a host that
// prepares two batches ahead. Including this file registers it. It computes the bits of the plain loop below on every
// device and communicator.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/host/host_work.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/request/case.hpp"
#include "harness/schedule/schedule.hpp"
#include "models/snapshots/model.hpp"
#include "models/tasks/task.hpp"

namespace strobe::toy_pipeline {

inline constexpr int width = 5, iterations = 4, depth = 2;

/// Element k of the batch of rank `rank` in iteration `i` of epoch `e`.
inline double batch_value(std::int64_t e, int i, int rank, int k) {
  return 1.0 / (3.0 + 7.0 * static_cast<double>(e) + 5.0 * i + 2.0 * rank + k);
}

/// The weights and the helper's memory after each epoch, which every run must equal bit for bit.
struct Reference {
  std::vector<std::vector<double>> weights;

  Reference(int ranks, int epochs) {
    std::vector<double> weight(width, 0), memory(width, 1);
    for (int e = 0; e < epochs; ++e) {
      for (int i = 0; i < iterations; ++i) step(ranks, e, i, weight, memory);
      weights.push_back(weight);
    }
  }

 private:
  static void step(int ranks, int e, int i, std::vector<double>& weight, std::vector<double>& memory) {
    std::vector<double> kept = memory;
    for (int k = 0; k < width; ++k) {
      const std::size_t at = k;
      std::vector<double> x;
      for (int r = 0; r < ranks; ++r) x.push_back(batch_value(e, i, r, k) + 0.5 * memory[at]);
      std::vector<double> group(2, 0);
      for (int r = 0; r < ranks; ++r) {
        double& sum = group[r % 2];
        sum = r < 2 ? x[r] : sum + x[r];
      }
      double total = group[0];
      for (int r = 1; r < ranks; ++r) total += group[r % 2];
      weight[at] += 0.25 * total;
      weight[at] += 0.5 * *std::max_element(x.begin(), x.end());
      for (const double value : x) kept[at] = 0.5 * (kept[at] + value);
    }
    memory = kept;
  }
};

enum Command : std::int64_t { round = 0, save = 1, load = 2 };

/// Sends the memory's values to the trainer of channel `channel`.
inline void give_memory(HelperPost& post, std::size_t channel, const std::vector<double>& memory) {
  HostWork work;
  work.name = "read_memory";
  work.work = {0, width * sizeof(double), width * sizeof(double)};
  work.body = [&](Workers&) {
    if (double* const out = post.answer(channel).data<double>()) std::copy(memory.begin(), memory.end(), out);
  };
  post.run(std::move(work));
  post.give_answer(channel);
}

/// Mixes the update from the trainer of channel `channel` into the memory.
inline void take_update(HelperPost& post, std::size_t channel, std::vector<double>& memory) {
  HostWork work;
  work.name = "write_memory";
  work.work = {2.0 * width, 2 * width * sizeof(double), width * sizeof(double)};
  work.body = [&](Workers&) {
    const double* const in = post.request(channel).data<double>();
    for (std::size_t k = 0; in != nullptr && k < width; ++k) memory[k] = 0.5 * (memory[k] + in[k]);
  };
  post.run(std::move(work));
  post.give_answer(channel);
}

/// Serves rounds of reads, then writes, by rank; rank 0's read request begins with a command.
inline void keep_memory(HelperPost& post) {
  std::vector<double> memory(width, 1);
  const std::size_t trainers = post.channels().size() / 2;
  while (post.await_request(0, Patience::unlimited)) {
    // The command is read before the answer, because the answer returns the request to the trainer.
    const std::int64_t* const word = post.request(0).data<std::int64_t>();
    const std::int64_t command = word == nullptr ? round : *word;
    if (command == load) {
      const double* const in = post.request(0).data<double>() + 1;
      std::copy(in, in + width, memory.begin());
    }
    give_memory(post, 0, memory);
    if (command != round) continue;
    for (std::size_t t = 1; t < trainers; ++t) {
      if (!post.await_request(2 * t, Patience::limited)) return;
      give_memory(post, 2 * t, memory);
    }
    for (std::size_t t = 0; t < trainers; ++t) {
      if (!post.await_request(2 * t + 1, Patience::limited)) return;
      take_update(post, 2 * t + 1, memory);
    }
  }
}

class PipelineTrainer final : public Trainer {
 public:
  PipelineTrainer(Device& device, Communicator& communicator, const RankGroups& groups)
      : device_(device),
        all_(communicator),
        group_(communicator.split(groups)),
        read_(communicator.channel(0, 2 * static_cast<std::size_t>(communicator.rank()))),
        write_(communicator.channel(0, 2 * static_cast<std::size_t>(communicator.rank()) + 1)),
        weight_(column()) {
    device_.run(Fill{weight_, 0});
    for (Slot& slot : slots_) {
      slot.batch = column();
      slot.host = device_.allocate_host(slot.batch.bytes());
      slot.used = device_.record(Stream::compute);
    }
  }

  void epoch(std::int64_t number) override {
    prepare(number, 0);
    for (int i = 0; i < iterations; ++i) {
      if (i + 1 < iterations) prepare(number, i + 1);
      train(slots_[i % depth]);
    }
    device_.await(written_);
  }

  EpochValues values(bool) override {
    if (!device_.has_values()) return {};
    return {weights()[0], {}};
  }
  std::map<std::string, double> evaluate(const EvaluationMoment&) override {
    if (!device_.has_values()) return {};
    return {{"weight", weights()[width - 1]}};
  }
  TrainingState state() override {
    TrainingState state;
    state.weights = weights();
    command(save);
    const double* const memory = read_.answer().data<double>();
    state.kept["memory"] = {memory, memory + width};
    return state;
  }
  void restore(const TrainingState& state) override {
    device_.stream_in(state.weights.data(), weight_);
    if (all_.rank() != 0) return;
    const std::vector<double>& memory = state.kept.at("memory");
    std::copy(memory.begin(), memory.end(), read_.request().data<double>() + 1);
    command(load);
  }
  std::vector<double> weights() override {
    std::vector<double> values(width);
    if (!device_.move_out(weight_, values.data())) return {};
    return values;
  }

 private:
  struct Slot {
    Tensor batch;
    HostMemory host;
    DeviceEvent used, moved;
  };

  Tensor column() { return device_.allocate(width, 1, ElementType::f64); }

  /// Lets the host make the batch and the device copy it, while other work is computed.
  void prepare(std::int64_t number, int i) {
    Slot& slot = slots_[i % depth];
    HostWork work;
    work.name = "make_batch";
    work.work = {1e6, 1e4, width * sizeof(double)};
    work.after = {slot.moved};
    if (double* const values = slot.host.data<double>()) {
      work.body = [values, number, i, rank = all_.rank()](Workers&) {
        for (int k = 0; k < width; ++k) values[k] = batch_value(number, i, rank, k);
      };
    }
    const DeviceEvent made = device_.run_on_host(std::move(work));
    slot.moved = device_.start_stream_in(slot.host, slot.batch, {made, slot.used});
  }

  void train(Slot& slot) {
    const Tensor memory = column();
    const DeviceEvent answered = read_.ask({remembered_});
    remembered_ = device_.start_stream_in(read_.answer(), memory, {answered, device_.record(Stream::compute)});
    const Tensor x = column(), highest = column(), sum = column();
    device_.wait(Stream::compute, slot.moved);
    device_.run(Fill{x, 0});
    device_.run(AddScaled{slot.batch, x, 1});
    slot.used = device_.record(Stream::compute);
    device_.wait(Stream::compute, remembered_);
    device_.run(AddScaled{memory, x, 0.5});
    const DeviceEvent out = device_.start_move_out(x, write_.request(), {written_});
    written_ = write_.ask({out});
    for (const Tensor& copy : {highest, sum}) {
      device_.run(Fill{copy, 0});
      device_.run(AddScaled{x, copy, 1});
    }
    group_->all_reduce(sum, Traffic::gradient);
    all_.all_reduce(sum, Traffic::gradient);
    all_.all_reduce(highest, Traffic::parameters, Reduction::max);
    device_.run(AddScaled{sum, weight_, 0.25});
    device_.run(AddScaled{highest, weight_, 0.5});
    device_.wait(Stream::compute, out);  // x is released after the copy
  }

  void command(Command what) {
    std::int64_t* const word = read_.request().data<std::int64_t>();
    *word = what;
    device_.await(read_.ask({remembered_}));
    *word = round;
  }

  Device& device_;
  Communicator& all_;
  std::unique_ptr<Communicator> group_;
  TrainerChannel &read_, &write_;
  Tensor weight_;
  Slot slots_[depth];
  DeviceEvent remembered_, written_;
};

class PipelinePlan final : public SchedulePlan {
 public:
  explicit PipelinePlan(const Case& c) : ranks_(static_cast<int>(c.ranks)) {
    groups_.resize(ranks_ > 1 ? 2 : 1);
    for (int r = 0; r < ranks_; ++r) groups_[r % 2].push_back(r);
    const auto of = [](std::size_t members) { return 2 * (members - 1) * width * sizeof(double) * iterations; };
    auto& gradient = budget_.bytes[Traffic::gradient];
    for (const std::vector<int>& group : groups_) gradient += of(group.size());
    gradient += of(static_cast<std::size_t>(ranks_));
    budget_.bytes[Traffic::parameters] = of(static_cast<std::size_t>(ranks_));
    summary_.items = {40, "events_per_second", 0, iterations};
    summary_.parameters = {{"weight", width, 1}};
    summary_.metrics = {{"weight"}, {}, {{"weight", 1}}};
  }

  const PlanSummary& summary() const override { return summary_; }
  ByteBudget budget(std::int64_t) const override { return budget_; }
  std::vector<HelperRequest> helpers() const override {
    HelperRequest helper;
    helper.name = "memory";
    const std::uint64_t bytes = width * sizeof(double);
    for (int r = 0; r < ranks_; ++r) {
      helper.channels.push_back({"read", r, r == 0 ? bytes + sizeof(std::int64_t) : 0, bytes});
      helper.channels.push_back({"write", r, bytes, 0});
    }
    helper.program = keep_memory;
    return {helper};
  }
  Json describe() const override { return {{"schedule", {{"kind", "toy-pipeline"}}}}; }
  std::string digest() const override { return "toy-pipeline"; }
  std::unique_ptr<Trainer> trainer(Device& device, Communicator& communicator) const override {
    return std::make_unique<PipelineTrainer>(device, communicator, groups_);
  }

 private:
  int ranks_;
  RankGroups groups_;
  ByteBudget budget_;
  PlanSummary summary_;
};

class PipelinePlanner final : public SchedulePlanner {
 public:
  explicit PipelinePlanner(const Case& c) : case_(c) {}
  std::shared_ptr<const SchedulePlan> plan(std::int64_t) override { return std::make_shared<PipelinePlan>(case_); }

 private:
  Case case_;
};

inline const Register<ScheduleTag> schedule{
    {"toy-pipeline",
     "a helper, two groups, batches two deep",
     "",
     {},
     {"pipelines",
      [](const Case& c, PlanUse, const DataCache&) -> std::unique_ptr<SchedulePlanner> {
        return std::make_unique<PipelinePlanner>(c);
      }},
     {}}};
inline const Register<StrategyTag> strategy{
    {"toy-pipeline", "a helper, two groups, batches two deep", "", {}, StrategyTag::Value("toy-pipeline"), {}}};
inline const Register<ModelTag> model{{"toy-pipeline", "weights", "", {}, ModelTag::Value("pipelines"), {}}};
inline const Register<TaskTag> task{{"toy-pipeline", "none", "", {}, TaskTag::Value("pipelines"), {}}};

inline Case case_of(int ranks, const Json& changes = Json::object()) {
  Json request = {{"workload", {{"name", "uniform"}, {"vertices", 10}, {"steps", 3}, {"density", 1}}},
                  {"model", "toy-pipeline"},
                  {"task", "toy-pipeline"},
                  {"strategy", "toy-pipeline"},
                  {"ranks", ranks},
                  {"precision", "fp64"},
                  {"epochs", 3},
                  {"warmup", 1}};
  request.update(changes);
  return case_from_json(request, "");
}

}  // namespace strobe::toy_pipeline
