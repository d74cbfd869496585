// Start and finish are separate records. A start has no result that anybody computes with, but its record needs one. So
// it records a variable without rows. The finish defines the gradient of that variable when it starts the reverse
// exchange. Invariants: backward, every rank starts and finishes exchanges in the exact reverse of the forward order. A
// collective keeps its buffers alive until it has finished. Cost: that of the exchanges; no copy is added. Source: ESDG
// section 6.5 names overlap of both stages as future work.
#include "harness/full_batch/exchange/overlapped_exchange.hpp"

#include <utility>

namespace strobe {
namespace {

using Way = Exchange::Way;

Tensor like(Device& device, std::int64_t rows, const Tensor& tensor) {
  const PartScope part(device, MemoryPart::buffers);
  return device.allocate(rows, tensor.columns(), tensor.type());
}

}  // namespace

struct JoiningExchange::State {
  explicit State(std::size_t slices) : flights(slices), gradients(slices), starts(slices) {}
  std::vector<Exchange::Flight> flights;
  std::vector<Tensor> gradients;  // [slices], until their reverse exchanges have finished
  std::vector<Var> starts;
  Tensor whole, no_rows;
};

JoiningExchange::JoiningExchange(const SliceExchanges& slices, Tape& tape, Communicator& communicator)
    : slices_(slices), tape_(tape), communicator_(communicator), state_(std::make_shared<State>(slices.size())) {}

void JoiningExchange::start(std::size_t slice, const Var& x) {
  const Exchange& exchange = slices_[slice];
  if (x->value.rows() != exchange.input_rows())
    throw Error("exchange: a slice has another number of rows than the plan");
  Device& device = tape_.device();
  if (!state_->whole.defined()) {
    state_->whole = like(device, exchange.output_rows(), x->value);
    state_->no_rows = like(device, 0, x->value);
  }
  state_->flights[slice] = exchange.start(device, communicator_, Way::forward, x->value, state_->whole);
  state_->starts[slice] = tape_.record_collective(
      state_->no_rows, [&exchange, &tape = tape_, &to = communicator_, state = state_, slice, x](const Variable&) {
        exchange.finish(tape.device(), to, Way::backward, state->flights[slice], state->gradients[slice]);
        tape.add_gradient(x, state->gradients[slice]);
        state->gradients[slice] = {};
      });
}

Var JoiningExchange::finish() {
  for (std::size_t c = 0; c < slices_.size(); ++c) {
    slices_[c].finish(tape_.device(), communicator_, Way::forward, state_->flights[c], state_->whole);
  }
  const Tensor whole = std::exchange(state_->whole, {});
  return tape_.record_collective(
      whole, [&slices = slices_, &tape = tape_, &to = communicator_, state = state_](const Variable& result) {
        for (std::size_t c = slices.size(); c-- > 0;) {
          state->gradients[c] = like(tape.device(), slices[c].input_rows(), result.gradient);
          state->flights[c] = slices[c].start(tape.device(), to, Way::backward, result.gradient, state->gradients[c]);
          state->starts[c]->gradient = state->no_rows;
        }
      });
}

struct SplittingExchange::State {
  explicit State(std::size_t slices) : flights(slices), parts(slices) {}
  std::vector<Exchange::Flight> flights;
  std::vector<Tensor> parts;
  Var start;
  Tensor gradient;  // of the whole tensor, until the reverse exchanges of its slices have finished
  Tensor no_rows;
};

SplittingExchange::SplittingExchange(const SliceExchanges& slices, Tape& tape, Communicator& communicator, const Var& x)
    : slices_(slices), tape_(tape), communicator_(communicator), state_(std::make_shared<State>(slices.size())) {
  Device& device = tape.device();
  for (std::size_t c = 0; c < slices.size(); ++c) {
    if (x->value.rows() != slices[c].input_rows()) throw Error("exchange: the whole has other rows than the plan");
    state_->parts[c] = like(device, slices[c].output_rows(), x->value);
    state_->flights[c] = slices[c].start(device, communicator, Way::forward, x->value, state_->parts[c]);
  }
  state_->no_rows = like(device, 0, x->value);
  state_->start = tape.record_collective(
      state_->no_rows, [&slices = slices_, &tape, &communicator, state = state_, x](const Variable&) {
        for (std::size_t c = slices.size(); c-- > 0;) {
          slices[c].finish(tape.device(), communicator, Way::backward, state->flights[c], state->gradient);
        }
        tape.add_gradient(x, std::exchange(state->gradient, {}));
      });
}

Var SplittingExchange::finish(std::size_t slice) {
  const Exchange& exchange = slices_[slice];
  const Tensor part = std::exchange(state_->parts[slice], {});
  exchange.finish(tape_.device(), communicator_, Way::forward, state_->flights[slice], part);
  return tape_.record_collective(
      part, [&exchange, &tape = tape_, &to = communicator_, state = state_, slice](const Variable& result) {
        if (!state->gradient.defined()) state->gradient = like(tape.device(), exchange.input_rows(), result.gradient);
        state->flights[slice] = exchange.start(tape.device(), to, Way::backward, result.gradient, state->gradient);
        state->start->gradient = state->no_rows;
      });
}

}  // namespace strobe
