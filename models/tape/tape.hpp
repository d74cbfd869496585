// Tape: reverse-mode differentiation over device operations. A forward function runs its operation at once and records
// how gradients flow back; `backward` replays the records in reverse. Exchanges between ranks are recorded the same way
// (harness/full_batch/exchange/exchange.hpp), so one backward pass crosses ranks. Which records exist never depends on
// values, so all ranks replay the same collectives in the same order.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backends/device.hpp"

namespace strobe {

/// A value on the tape and its gradient (undefined until the backward pass reaches it; same shape as the value).
struct Variable {
  Tensor value;
  Tensor gradient;
  bool needs_gradient = false;
};
using Var = std::shared_ptr<Variable>;

/// Where a backward step puts its result: store over it, or add to it.
struct GradientTarget {
  Tensor tensor;
  bool accumulate = false;
};

/// The records of one forward pass. Not copied; one per block of the schedule.
class Tape {
 public:
  /// Without `recording` nothing is recorded and no result has a gradient: intermediate values go as soon as nobody
  /// reads them any more.
  explicit Tape(Device& device, bool recording = true) : device_(device), recording_(recording) {}
  bool recording() const { return recording_; }

  Device& device() { return device_; }

  /// A value without gradient.
  static Var constant(Tensor value) { return std::make_shared<Variable>(Variable{std::move(value), {}, false}); }
  /// A leaf whose gradient is added to `gradient`, which may already hold earlier parts.
  static Var leaf(Tensor value, Tensor gradient) {
    return std::make_shared<Variable>(Variable{std::move(value), std::move(gradient), true});
  }

  /// A result computed from `inputs`. `backward` is called with the result when its gradient is complete; it adds to
  /// the gradients of the inputs through `target`. It must capture only the values that it reads.
  Var record(Tensor value, const std::vector<Var>& inputs, std::function<void(const Variable&)> backward);

  /// The same for a collective. It is recorded on every rank for any inputs, and replayed with a zero gradient where
  /// the rank does not use the result. So all ranks enter the backward collective too.
  Var record_collective(Tensor value, std::function<void(const Variable&)> backward);

  /// Calls `reached` when the backward pass reaches this place, with any gradient. Nothing is called without recording.
  void on_backward(std::function<void()> reached);

  /// Allocates the gradient of `input` when it has none yet; then every element must be stored. Otherwise the result
  /// says that the gradient must be added to.
  GradientTarget target(const Var& input);

  /// The gradient of `input` for operations that always add: zero where nothing reached it yet; undefined when it needs
  /// none.
  Tensor added_gradient(const Var& input);

  /// Adds `gradient`, which no other owner holds, to the gradient of `result`. Nothing happens where no gradient is
  /// needed.
  void add_gradient(const Var& result, const Tensor& gradient);

  /// Runs all records in reverse and releases each after use. Results without gradient are passed over.
  void backward();

 private:
  struct Record {
    Var result;  // null: only `backward` is called, with nothing
    std::function<void(const Variable&)> backward;
    bool collective = false;
  };
  Device& device_;
  bool recording_;
  std::vector<Record> records_;
};

}  // namespace strobe
