// Device `cuda`: real numerics on an NVIDIA GPU, wall clock. Work is given to the GPU's streams and goes on while the
// host goes on; the times of spans are read from events when the rank synchronises, so no operation waits to be timed.
#pragma once

#include <array>
#include <memory>

#include "backends/cuda/ahead_copies.hpp"
#include "backends/cuda/gathered_launches.hpp"
#include "backends/cuda/stream_pool.hpp"
#include "backends/device.hpp"
#include "backends/host/wall_host.hpp"

namespace strobe::cuda {

/// One rank on one GPU: GPU `rank` modulo the GPUs that the process sees. Several ranks may share one.
class CudaDevice : public Device {
 public:
  /// With `graphs`, launches are gathered into CUDA graphs. Throws Unavailable when no GPU is there or the program
  /// holds no code for it.
  CudaDevice(const DeviceRequest& request, bool graphs);
  ~CudaDevice() override;

  /// With graphs, operations that need no times of their own share the time of their stretch, which ends wherever
  /// something other than an operation is gathered. An event in a graph costs more than most kernels (2.7 us on an
  /// H100).
  void time_each_operation(bool wanted) override;
  bool has_own_memory() const override { return true; }
  std::uint64_t memory_bytes() const override { return runtime::properties(ordinal_).memory_bytes; }
  bool wants_transpose() const override { return true; }
  bool wants_joined_inputs() const override { return true; }
  void copy_values(void* to, const void* from, std::size_t bytes) override;
  void sum_values(Reduction reduction, ElementType type, const std::vector<const std::byte*>& addends, std::byte* sum,
                  std::int64_t elements) override;

  /// Counts of a device that gathers its launches; otherwise zeros.
  GraphCounts graph_counts() const { return gathered_ != nullptr ? gathered_->counts() : GraphCounts{}; }

  std::optional<void*> native_queue(std::string_view runtime, Stream stream) const override {
    if (runtime != "cuda") return std::nullopt;
    return native(stream);
  }
  runtime::StreamHandle native(Stream stream) const { return streams_.of[stream]; }

 private:
  /// A span whose times the GPU has not reported yet: its number among the device's spans, its events, and its own
  /// share of the time between them.
  struct Untimed {
    std::size_t span = 0;
    runtime::EventHandle begin = nullptr, end = nullptr;
    bool begins_with_another_end = false, shares_end = false;  // whose span gives the event back
    std::size_t part = 0, parts = 1;
  };

  /// A wait for the host: the compute stream had nothing to do from `idle`, an event, to the end.
  struct HostStall {
    std::size_t span = 0;
    runtime::EventHandle idle = nullptr;
    double end_seconds = 0;
  };

  void do_prepare(Device& memory, SparseMatrix& a, const HostCsr& host, const MatrixUse& use) const override;
  std::byte* do_allocate(std::size_t bytes) override;
  std::uint64_t do_account(std::uint64_t bytes) const override;
  void (*do_deleter() const)(std::byte*) override { return pool_release; }
  double do_begin(Stream stream, std::string_view name) override;
  double do_end(Stream stream, std::string_view name, const Work& work, double begin) override;
  void do_abandon() noexcept override;
  void do_transfer(std::uint64_t) override {}  // do_copy leaves the span
  void do_transfer_again(std::uint64_t bytes) override;
  void do_copy(void* to, const void* from, std::size_t bytes) override;
  DeviceEvent do_start_copy(const HostMemory& host, const Tensor& tensor, Stream stream,
                            const std::vector<DeviceEvent>& after) override;
  std::shared_ptr<std::byte> do_allocate_host(std::uint64_t bytes) override;
  HostMemory do_pin(std::shared_ptr<std::byte> data, std::uint64_t bytes) override;
  DeviceEvent do_run_on_host(HostWork work) override;
  void do_when(const void* order, std::vector<DeviceEvent> after, Then then) override;
  bool do_reached(const DeviceEvent& event) override;
  void do_await(const DeviceEvent& event) override;
  DeviceEvent do_record(Stream stream) override;
  void do_wait(Stream stream, const DeviceEvent& event) override;
  void do_synchronize() override;
  double do_now() override;

  std::byte* scratch(std::size_t bytes);
  /// Ranks of communicator local read each other's memory, which not every two GPUs of a host can.
  void refuse_unreachable(const void* address) const;
  /// Ends the stretch of operations that share two events, before anything other than an operation is gathered.
  void end_stretch();
  /// Gives the compute stream all gathered launches, before anything else uses or waits for it.
  void launch_gathered();
  /// Returns unused memory to the driver's pool, after all launches that used it.
  void release_idle(const std::vector<std::byte*>& idle);
  /// Moves bytes through pinned memory, half of it on its way while the other half is filled or emptied.
  void copy_staged(void* to, const void* from, std::size_t bytes, bool to_device);
  void append_transfer(BorrowedEvent& begin, BorrowedEvent& end, std::uint64_t bytes);
  void order(Stream first, Stream then);
  /// Makes `stream` wait; returns whether it has to.
  bool wait_on_stream(Stream stream, const DeviceEvent& event);
  /// Reads the times of all spans whose streams are idle now; every stream is.
  void read_times();
  /// The same for host work and transfers ahead (host_side.cpp).
  void read_host_times();
  void set_anchor();

  int ordinal_ = 0;
  RankStreams streams_;
  EventPool events_;
  std::shared_ptr<ReleasedMemory> released_ = std::make_shared<ReleasedMemory>();
  std::unique_ptr<GatheredLaunches> gathered_;  // with graphs only
  bool each_timed_ = true;
  runtime::EventHandle stretch_begin_ = nullptr;  // of operations that share their events
  std::vector<std::size_t> stretch_spans_;
  bool open_ = false;                     // an operation is being given to the device
  runtime::EventHandle begin_ = nullptr;  // of that operation; null in a stretch
  bool begin_is_an_end_ = false;
  std::vector<runtime::EventHandle> abandoned_;  // began an operation that failed
  runtime::EventHandle anchor_ = nullptr;
  double anchor_seconds_ = 0;  // wall clock at the anchor event
  std::vector<Untimed> untimed_;
  AheadCopies ahead_;
  std::vector<HostStall> host_stalls_;
  std::array<runtime::EventHandle, 2> staged_{};
  std::byte* scratch_ = nullptr;
  std::size_t scratch_bytes_ = 0;
  WallHost host_;  // last, so that its threads end before the members that they use
};

}  // namespace strobe::cuda
