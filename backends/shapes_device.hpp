// A device that only accounts for memory: tensors have shapes and no values, and no time passes. Tests, and code that
// asks how much memory a program takes, derive from it.
#pragma once

#include "backends/device.hpp"

namespace strobe {

class ShapesDevice : public Device {
 public:
  /// Throws the same as Device.
  explicit ShapesDevice(const DeviceRequest& request) : Device(request, Numerics::none) {}

 private:
  std::byte* do_allocate(std::size_t) override { return nullptr; }
  void (*do_deleter() const)(std::byte*) override {
    return [](std::byte*) {};
  }
  double do_begin(Stream, std::string_view) override { return 0; }
  double do_end(Stream, std::string_view, const Work&, double) override { return 0; }
  void do_transfer(std::uint64_t) override {}
  void do_copy(void*, const void*, std::size_t) override {}
  DeviceEvent do_record(Stream) override { return {}; }
  void do_wait(Stream, const DeviceEvent&) override {}
  void do_synchronize() override {}
  double do_now() override { return 0; }
};

}  // namespace strobe
