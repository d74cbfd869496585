// A device, tensors whose values are the same on every device, and results as numbers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/device.hpp"
#include "core/random.hpp"

namespace strobe {

class ValuesOn {
 public:
  /// In double, with values drawn from [low, 1).
  ValuesOn(const std::string& device, const std::string& variant, double low) : low_(low) {
    DeviceRequest request;
    request.precision = ElementType::f64;
    request.kernel_variant = variant;
    device_ = DeviceRegistry::instance().find(device).value(request);
  }

  Tensor draw(std::int64_t rows, std::int64_t columns, std::uint32_t key) {
    const RandomStream random(11, random_purpose::test, key);
    std::vector<double> values(rows * columns);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = low_ + (1 - low_) * random.uniform(i);
    return device_->move_in(values.data(), rows, columns, ElementType::f64);
  }
  Tensor list(const std::vector<std::int64_t>& values) {
    return device_->move_in(values.data(), static_cast<std::int64_t>(values.size()), 1, ElementType::i64);
  }
  std::vector<double> values_of(const Tensor& tensor) {
    std::vector<double> values(tensor.elements());
    EXPECT_TRUE(device_->move_out(tensor, values.data()));
    return values;
  }
  Device* operator->() { return device_.get(); }

 private:
  double low_;
  std::unique_ptr<Device> device_;
};

}  // namespace strobe
