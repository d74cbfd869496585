// Device `cpu`: real numerics in host memory, wall clock. The device's streams run in the caller's order, so their
// events are no-ops, and there is no host-to-device transfer to time. The host stream has threads of its own. A
// device whose kernels run on this machine's cores derives from it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>

#include "backends/cpu/host_pool.hpp"
#include "backends/cpu/register_bytes.hpp"
#include "backends/device.hpp"
#include "backends/host/wall_host.hpp"
#include "backends/matrix/stored_forms.hpp"
#include "backends/wall_clock.hpp"
#include "core/system/parallel.hpp"

namespace strobe {

class CpuDevice : public Device {
 public:
  /// `numerics`: the family of kernels. A device with kernels of its own names cpu as the base of its family.
  explicit CpuDevice(const DeviceRequest& request, Numerics numerics = "cpu")
      : Device(request, numerics),
        pool_(HostPool::of_rank(request.rank)),
        workers_(std::max(1, request.threads), Subnormals::flush),
        host_(std::max(1, request.host_threads), {}) {
    context_.workers = &workers_;
    pool_.begin_use();
    ++devices();
  }
  ~CpuDevice() override {
    pool_.end_use();
    if (--devices() == 0) HostPool::trim_all();
  }

  bool wants_transpose() const override { return true; }
  std::int64_t narrow_bytes() const override { return cpu_register_bytes(); }
  bool entries_decide(const MatrixUse& use) const override { return entries_decide_forms(use, habits()); }

 private:
  FormHabits habits() const { return {wants_transpose(), narrow_bytes()}; }

  static std::atomic<int>& devices() {
    static std::atomic<int> count{0};
    return count;
  }

  void do_prepare(Device& memory, SparseMatrix& a, const HostCsr& host, const MatrixUse& use) const override {
    add_forms(memory, a, host, use, habits());
  }
  std::byte* do_allocate(std::size_t bytes) override {
    std::byte* memory = pool_.allocate(bytes);
    if (memory == nullptr) throw OutOfMemory(rank(), bytes, live_bytes(), memory_limit_bytes());
    // Vector kernels read past the last element; leftovers there could be denormal numbers, which are slow to add.
    std::memset(memory + bytes - readable_tail_bytes, 0, readable_tail_bytes);
    return memory;
  }
  void (*do_deleter() const)(std::byte*) override { return HostPool::release; }
  double do_begin(Stream, std::string_view) override { return wall_seconds(); }
  double do_end(Stream, std::string_view, const Work&, double) override { return wall_seconds(); }
  void do_transfer(std::uint64_t) override {}
  void do_copy(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  DeviceEvent do_record(Stream) override { return {wall_seconds(), nullptr}; }
  void do_wait(Stream, const DeviceEvent& event) override {
    if (event.host != nullptr) wait_for_host(event, spans(), look());
  }
  void do_synchronize() override { host_.synchronize(spans(), look()); }
  double do_now() override { return wall_seconds(); }
  DeviceEvent do_run_on_host(HostWork work) override { return host_.run(std::move(work), spans()); }
  void do_when(const void* order, std::vector<DeviceEvent> after, Then then) override {
    host_.when(order, std::move(after),
               [then = std::move(then)](std::exception_ptr failure) { then(wall_seconds(), std::move(failure)); });
  }

  HostPool& pool_;
  Workers workers_;
  WallHost host_;
};

}  // namespace strobe
