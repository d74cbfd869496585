#include "harness/calibration/chunks/chunk_times.hpp"

#include <algorithm>
#include <vector>

#include "backends/cluster.hpp"
#include "backends/communicator.hpp"
#include "harness/full_batch/exchange/rank_sums.hpp"
#include "harness/full_batch/layer_walk.hpp"
#include "results/row/statistics.hpp"

namespace strobe {
namespace {

DeviceRequest bench_request(const Case& c) {
  DeviceRequest request;
  request.precision = c.precision == "fp64" ? ElementType::f64 : ElementType::f32;
  request.values = c.numerics != "none";
  request.kernel_variant = c.kernels;
  if (!c.cluster.empty()) request.cluster = load_cluster(c.cluster);
  return request;
}

bool bench_moves_pieces(const Case& c, const DeviceRequest& request) {
  const auto& comm = CommunicatorRegistry::instance().find(c.comm, "/comm").value;
  return comm.moves_pieces != nullptr && comm.moves_pieces(request.cluster.get());
}

/// The first of two ranks, without the other one, whose rows are replaced by zeros. The zeros are copied on the device,
/// because its memory may not be the host's. Like a communicator's copies, they leave no span, so no stage pays for
/// them.
class SilentPeer final : public Communicator {
 public:
  SilentPeer(Device& device, bool moves_pieces)
      : Communicator(device, 0, 2, 0), moves_pieces_(moves_pieces), zeros_(device.allocate(1, zero_columns)) {
    device.run(Fill{zeros_, 0.0});
  }
  bool moves_pieces() const override { return moves_pieces_; }

 private:
  std::shared_ptr<void> do_start(const Collective&) override { return nullptr; }
  Completion do_wait(const Collective& collective, const std::shared_ptr<void>&) override {
    if (collective.kind == CollectiveKind::all_to_all_v && collective.receive.has_values()) {
      if (collective.pieces.receive != nullptr) {
        for (const std::vector<Run>& runs : *collective.pieces.receive) clear(collective.receive, runs);
      } else {
        clear(collective.receive, collective.receive_rows);
      }
    }
    const double now = device().now();
    return {now, now};
  }
  void clear(const Tensor& tensor, const std::vector<Run>& runs) {
    for (const Run& run : runs) {
      const Tensor rows = tensor.slice_rows(run.first, run.count);
      for (std::uint64_t done = 0; done < rows.bytes(); done += zeros_.bytes())
        device().copy_values(rows.raw() + done, zeros_.raw(), std::min(zeros_.bytes(), rows.bytes() - done));
    }
  }

  static constexpr std::int64_t zero_columns = 16384;
  bool moves_pieces_;
  Tensor zeros_;
};

/// Runs one pass. The gradient of the embeddings is one everywhere.
void pass_once(const FullBatchPlan& plan, const LayerWalk& walk, const BlockInputs& inputs, Communicator& communicator,
               const Parameters& parameters, StageMarks& marks) {
  Device& device = communicator.device();
  const CommunicatorSums sums(communicator);
  const Pass pass{static_cast<std::uint64_t>(plan.request.seed), 0, true, &sums};
  std::vector<LayerMemory> memory(plan.model.layers.size());
  marks.begin(device);
  Tape tape(device);
  const Var embeddings = walk.forward(tape, communicator, parameters, pass, inputs, memory);
  const Tensor gradient = device.allocate(embeddings->value.rows(), embeddings->value.columns());
  const bool in_time = marks.in_time();
  device.run(Fill{gradient, 1.0});
  marks.change(device, in_time, 1);  // the task's work, not the chunk's
  tape.add_gradient(embeddings, gradient);
  tape.backward();
  device.synchronize();
}

}  // namespace

ChunkBench::ChunkBench(const Case& c)
    : moves_pieces_(bench_moves_pieces(c, bench_request(c))),
      device_(DeviceRegistry::instance().find(c.device, "/device").value(bench_request(c))) {
  device_->time_each_operation(true);
}

ChunkBench::~ChunkBench() = default;

const std::vector<Span>& ChunkBench::spans() const { return device_->spans().spans(); }

StageSeconds ChunkBench::measure(const FullBatchPlan& plan, int runs) {
  StageMarks marks;
  FullBatchPlan staged = plan;
  staged.model.equations = staged_model(plan.model.equations, plan.model.layers, marks);
  marks.begin(*device_);
  SilentPeer communicator(*device_, moves_pieces_ && !device_->has_own_memory());
  const Parameters parameters(*device_, staged.model.parameters, static_cast<std::uint64_t>(plan.request.seed));
  const LayerWalk walk(staged, staged.blocks.front(), true, *device_);
  const BlockInputs inputs = bring_inputs(*device_, staged, staged.blocks.front(), Visit::lasting);
  device_->run(Fill{parameters.gradients(), 0.0});
  std::vector<double> structure, time;
  for (int run = 0; run <= runs; ++run) {
    pass_once(staged, walk, inputs, communicator, parameters, marks);
    if (run == 0) continue;
    const StageSeconds seconds = marks.seconds(*device_);
    structure.push_back(seconds.structure), time.push_back(seconds.time);
  }
  return {median(structure), median(time)};
}

}  // namespace strobe
