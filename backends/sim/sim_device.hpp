// SimDevice: a device in virtual time. Values are absent (numerics none) or computed by the cpu backend's kernels
// (numerics cpu); time is the cluster's either way.
#pragma once

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "backends/cluster.hpp"
#include "backends/device.hpp"
#include "backends/sim/cost/host_cost.hpp"
#include "backends/sim/cost/operation_cost.hpp"
#include "backends/sim/cost/page_cache.hpp"
#include "backends/sim/cost/software_cost.hpp"
#include "backends/sim/instant.hpp"
#include "backends/sim/virtual_host.hpp"
#include "core/system/parallel.hpp"

namespace strobe::sim {

/// The described cluster and its draws (Instant).
using Lanes = std::vector<std::shared_ptr<const Cluster>>;
Lanes lanes_of(const DeviceRequest& request);

/// Bytes per second between host and GPU of `rank` when all GPUs on its link copy.
double host_rate(const Cluster& cluster, int rank, int ranks);

/// Streams advance independently. `host` is the time when the host can issue the next operation; `program` is the time
/// when the rank's program went on after its last wait.
class SimDevice final : public Device {
 public:
  /// Throws InvalidRequest without a cluster.
  explicit SimDevice(const DeviceRequest& request);
  bool has_own_memory() const override { return !cluster_->shared_host_memory; }
  bool wants_transpose() const override { return cluster_->gpu.stores_transpose; }
  std::int64_t narrow_bytes() const override { return cluster_->gpu.narrow_bytes; }
  /// The same as where the cluster was measured; without values the counts decide.
  bool entries_decide(const MatrixUse& use) const override;
  /// True when the simulated device has its own memory (cuda), false when it uses the host's (cpu).
  bool wants_joined_inputs() const override { return has_own_memory(); }

  /// From now on this rank is `actor` of a job; the job's other actors run while it waits. Without this call, the rank
  /// must not wait for anything that another actor does.
  void attach(VirtualWaits& waits, int actor);
  /// The time that the rank's program has reached: nothing that it asks for from now on is earlier.
  double program_seconds() const { return program_in(0); }

  /// When this rank enters a collective that it starts now: its data is computed and its communicate stream is free.
  Instant arrival() const;
  /// The number of snapshots that the current operations cover, for a framework's program that handles them one by one.
  double snapshots() const { return snapshots_.count(); }
  /// As `now`, in a lane.
  double now_in(std::size_t lane) const { return clocks_[lane].streams[Stream::compute]; }
  /// A collective moved data from `ready` to `end`, and the compute stream has waited for its end.
  /// `holds_host`: the host has waited too, as in a barrier, and issues neither operations nor copies before.
  void complete_communication(const Instant& ready, const Instant& end, bool holds_host);
  /// As `when`, with the moment in all lanes.
  void when_virtual(const void* order, const std::vector<DeviceEvent>& after, WaitingActions::Action then);

 private:
  void do_prepare(Device& memory, SparseMatrix& a, const HostCsr& host, const MatrixUse& use) const override;
  std::byte* do_allocate(std::size_t bytes) override;
  void (*do_deleter() const)(std::byte*) override;
  std::uint64_t do_account(std::uint64_t bytes) const override;
  double do_begin(Stream stream, std::string_view name) override;
  double do_end(Stream stream, std::string_view name, const Work& work, double begin) override;
  void do_transfer(std::uint64_t bytes) override;
  void do_copy(void* to, const void* from, std::size_t bytes) override;
  DeviceEvent do_start_copy(const HostMemory& host, const Tensor& tensor, Stream stream,
                            const std::vector<DeviceEvent>& after) override;
  DeviceEvent do_run_on_host(HostWork work) override;
  void do_when(const void* order, std::vector<DeviceEvent> after, Then then) override;
  bool do_reached(const DeviceEvent& event) override;
  void do_await(const DeviceEvent& event) override;
  DeviceEvent do_record(Stream stream) override;
  void do_wait(Stream stream, const DeviceEvent& event) override;
  void do_synchronize() override;
  double do_now() override { return now_in(0); }
  std::vector<double> do_drawn_now() override;

  /// Draws how much slower this rank's operations are in the current epoch than on average.
  void draw_jitter();
  /// Seconds that compute lost in a lane because a collective moved data in [ready, end].
  double contention_seconds(std::size_t lane, double ready_seconds, double end_seconds);
  /// The part of compute after `ready_seconds` so far.
  double computed_since(std::size_t lane, double ready_seconds);
  /// Whether compute in draws is remembered, for contention; the spans have the described cluster's.
  bool notes_computed() const { return clocks_.size() > 1 && cluster_->compute_slowdown_factor != 1; }
  void note_computed(Instant begin, Instant end);
  /// Waits, without taking virtual time, until the event's time is known.
  void settle(SimEvent& event, std::string_view what);
  Instant instant_of(const DeviceEvent& event);
  void forget_settled();

  /// The clocks of one lane, in seconds.
  struct Clocks {
    PerStream<double> streams{};  // when each stream is idle
    double host = 0;              // when the host is free to issue
    double program = 0;           // when the program's last wait ended
    double transfer_rate = 0;     // bytes per second between host and this GPU
  };
  Instant at(Stream stream) const;
  void set(Stream stream, const Instant& instant);
  /// The time that the rank's program has reached.
  double program_in(std::size_t lane) const { return std::max(clocks_[lane].host, clocks_[lane].program); }
  Instant program() const;
  void raise_program(const Instant& instant);
  /// When an operation can begin in a lane.
  double begin_in(std::size_t lane, Stream stream) const {
    return std::max(clocks_[lane].streams[stream], clocks_[lane].host);
  }
  /// Ends the operation that `operation_` is about in a lane, after as many operations of a framework's.
  void end_operation(std::size_t lane, Stream stream, std::string_view name, const Work& work, double calls);

  Lanes clusters_;
  const Cluster* cluster_;  // the described one
  DrawnOperation operation_;
  double computing_ranks_;
  std::vector<Clocks> clocks_;                         // by lane
  std::vector<std::pair<Instant, Instant>> computed_;  // with draws and contention: begins and ends of compute
  std::size_t noted_spans_ = 0;                        // spans at the last of them
  double slowness_ = 1;                                // factor over predicted times, for this rank in this epoch
  std::uint64_t epoch_ = 0;                            // number of times that all was idle
  std::unique_ptr<Workers> workers_;                   // numerics cpu only

  /// Work or a transfer whose end is not known yet.
  struct Unsettled {
    std::shared_ptr<SimEvent> event;
    std::string_view name;
  };
  VirtualWaits* waits_ = nullptr;  // null: this rank is alone
  int actor_ = 0;
  HostShare host_share_;
  PageCache page_cache_{-1, 1, 1};
  SnapshotCount snapshots_;
  Workers host_workers_{1};  // virtual time does not depend on the number of workers
  /// A channel of the host stream.
  struct HostChannel {
    Instant idle;                // when the channel is idle
    std::exception_ptr failure;  // of its work; later work then fails too
  };
  std::map<int, HostChannel> host_channels_;
  std::vector<Unsettled> unsettled_;
  WaitingActions actions_;
};

}  // namespace strobe::sim
