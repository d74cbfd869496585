// Training in groups of ranks as a plain loop: it performs reads, writes and gradients one after the other, in the
// order of DistTGL's section 3.2. Memory is in arrays, and the loop has no other threads and no work ahead of its turn.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "harness/event_batches/batches/batch_order.hpp"
#include "harness/event_batches/batches/static_memory.hpp"
#include "harness/event_batches/trainer/batch_pass.hpp"
#include "harness/event_batches/trainer/event_weights.hpp"
#include "harness/schedule/host_values.hpp"
#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe::event_test {

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

/// The rows read for a part of a batch with one set of negatives.
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
    reads_.resize(groups.k * groups.j);
    case_.prepare_static_memory();
  }

  /// Mean loss of the events of an epoch.
  double epoch(std::int64_t number) {
    double loss = 0, events = 0;
    for (std::int64_t n = order_.first_iteration(number); n < order_.first_iteration(number + 1); ++n) {
      const double count = order_.events_in(n);
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
          const ReadPart& read = reads_[slot(copy, sequence)][age * groups.i + part];
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

  /// Reads the batch that begins in iteration n, for all sets of negatives, from the memory before the batch.
  void read(std::int64_t copy, std::int64_t n) {
    PlainCopy& at = copies_[copy];
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

  /// Adds the gradient of one part; returns its share of the loss over all events of the iteration.
  double train(const ReadPart& read, std::int64_t n, std::vector<std::vector<double>>* updated) {
    const BatchRequest& request = read.drawn->request;
    if (updated != nullptr) updated->emplace_back();
    if (request.count == 0) return 0;
    const std::int64_t rows = static_cast<std::int64_t>(read.drawn->vertices.size()), mails = read.drawn->mails;
    MemoryRows memory;
    if (width_ > 0)
      memory = {device_->move_in(read.memory.data(), rows, width_, ElementType::f64),
                device_->move_in(read.mails.data(), mails, 2 * width_, ElementType::f64)};
    BatchInput input = loader_.load(read.drawn);
    Pass pass;
    pass.seed = static_cast<std::uint64_t>(case_.request.seed);
    pass.epoch = n;
    const Tensor loss = device_->allocate(1, 1, ElementType::f64);
    device_->run(Fill{loss, 0.0});
    Tape tape(*device_);
    const PassOutput output = compute_batch(case_, tape, weights_.parameters(), *read.drawn, input, memory, pass);
    const Tensor labels = case_.task->labels(*device_, *case_.training.graph, request.first, request.count);
    const bool binary = case_.model->traits().binary_loss;
    case_.task->add_loss(tape, output.outputs, binary ? LinkLoss::binary_cross_entropy : LinkLoss::cross_entropy,
                         labels, 1.0 / static_cast<double>(order_.events_in(n)), loss);
    tape.backward();
    if (updated != nullptr && width_ > 0) updated->back() = host_values(*device_, output.updated);
    return host_values(*device_, loss).front();
  }

  /// Writes event by event in time order, so that the last mail of a vertex stays, from any rank. The new memory of an
  /// event's end is that of its root in the event.
  void write(std::int64_t copy, std::int64_t n, const std::vector<std::vector<double>>& updated) {
    PlainCopy& at = copies_[copy];
    const EventGraph& graph = *case_.training.graph;
    const std::vector<ReadPart>& reads = reads_[slot(copy, n)];
    for (std::size_t part = 0; part < updated.size() && width_ > 0; ++part) {
      const BatchDraw& drawn = *reads[part].drawn;
      const auto& rows = drawn.levels.empty() ? drawn.root_rows : drawn.levels.front().root_rows;
      for (std::int64_t i = 0; i < drawn.request.count; ++i) {
        const std::size_t e = drawn.request.first + i;
        const VertexId ends[] = {graph.source[e], graph.target[e]};
        const std::int64_t roots[] = {i, drawn.request.count + i * drawn.candidates};
        for (int own = 0; own < 2; ++own) {
          const auto state = [&](int end) { return updated[part].begin() + rows[roots[end]] * width_; };
          std::copy_n(state(own), width_, at.memory.begin() + ends[own] * width_);
          std::copy_n(state(own), width_, at.mails.begin() + 2 * ends[own] * width_);
          std::copy_n(state(1 - own), width_, at.mails.begin() + (2 * ends[own] + 1) * width_);
        }
      }
    }
    const std::int64_t batch = order_.batch_at(copy, n);
    at.clock.pass(*case_.training.graph, case_.training.whole->time[0], batch * order_.whole_batch(),
                  order_.batch_count(batch));
  }

  EventCase case_;
  BatchOrder order_;
  std::int64_t width_;
  std::unique_ptr<Device> device_;
  Workers workers_;
  EventWeights weights_;
  BatchLoader loader_;
  std::vector<PlainCopy> copies_;
  std::vector<std::vector<ReadPart>> reads_;  // by copy and batch in training: for each set, its parts
};

}  // namespace strobe::event_test
