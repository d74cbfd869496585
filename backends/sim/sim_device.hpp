// SimDevice: a device in virtual time. Values are absent (numerics none) or computed by the cpu backend's kernels
// (numerics cpu); time is the cluster's either way.
#pragma once

#include <array>
#include <memory>

#include "backends/cluster.hpp"
#include "backends/device.hpp"

namespace strobe::sim {

/// Seconds of one operation by the plain roofline: max(launch, flops / peak of the precision, bytes / bandwidth).
double roofline_seconds(const GpuModel& gpu, const Work& work, ElementType precision);

/// Streams advance independently; `host` is when the host can issue the next operation. Uncalibrated: one roofline for
/// all operations, copies at the pinned rate and not shared between GPUs, compute not slowed by communication.
class SimDevice final : public Device {
 public:
  /// Throws InvalidRequest without a cluster or with numerics that the simulator does not have.
  explicit SimDevice(const DeviceRequest& request);
  bool has_own_memory() const override { return true; }

  /// When this rank enters a collective that it starts now: its data is computed and its communicate stream is free.
  double arrival_seconds() const;
  /// The communicate stream was busy until `end_seconds`, and the compute stream has waited for that.
  void complete_communication(double end_seconds);

 private:
  std::byte* do_allocate(std::size_t bytes) override;
  void (*do_deleter() const)(std::byte*) override;
  double do_begin(Stream stream) override;
  double do_end(Stream stream, std::string_view name, const Work& work, double begin) override;
  void do_transfer(std::uint64_t bytes) override;
  void do_copy(void* to, const void* from, std::size_t bytes) override;
  Event do_record(Stream stream) override { return {at(stream), nullptr}; }
  void do_wait(Stream stream, const Event& event) override;
  void do_synchronize() override;
  double do_now() override { return at(Stream::compute); }

  double& at(Stream stream) { return streams_[static_cast<std::size_t>(stream)]; }
  double at(Stream stream) const { return streams_[static_cast<std::size_t>(stream)]; }

  std::shared_ptr<const Cluster> cluster_;
  std::array<double, stream_count> streams_{};  // seconds at which each stream is idle
  double host_ = 0;                             // seconds at which the host is free to issue
  std::unique_ptr<Workers> workers_;            // numerics cpu only
};

}  // namespace strobe::sim
