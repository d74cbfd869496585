// Start and finish as separate records. A start has no result that anybody computes with; the record needs one to hang
// on, a variable without rows, whose gradient the finish defines when it starts the reverse exchange. Invariants:
// backward, exchanges are started and finished in the exact reverse of the forward order on every rank; a buffer that
// is under way is kept alive by its collective. Cost: that of the exchanges; no copy is added. Source: ESDG section 6.5
// names overlap of both stages as future work.
#include "harness/exchange/overlapped_exchange.hpp"

#include <utility>

namespace strobe {
namespace {

using Way = Exchange::Way;

Tensor like(Device& device, std::int64_t rows, const Tensor& tensor) {
  return device.allocate(rows, tensor.columns(), tensor.type());
}

}  // namespace

struct JoiningExchange::State {
  explicit State(std::size_t chunks) : flights(chunks), gradients(chunks), starts(chunks) {}
  std::vector<Exchange::Flight> flights;
  std::vector<Tensor> gradients;  // of the chunks, while they come back
  std::vector<Var> starts;
  Tensor whole, no_rows;
};

JoiningExchange::JoiningExchange(const ChunkExchanges& chunks, Tape& tape, Communicator& communicator)
    : chunks_(chunks), tape_(tape), communicator_(communicator), state_(std::make_shared<State>(chunks.size())) {}

void JoiningExchange::start(std::size_t chunk, const Var& x) {
  const Exchange& exchange = chunks_[chunk];
  if (x->value.rows() != exchange.input_rows())
    throw Error("exchange: a chunk has another number of rows than the plan");
  Device& device = tape_.device();
  if (!state_->whole.defined()) {
    state_->whole = like(device, exchange.output_rows(), x->value);
    state_->no_rows = like(device, 0, x->value);
  }
  state_->flights[chunk] = exchange.start(device, communicator_, Way::forward, x->value, state_->whole);
  state_->starts[chunk] = tape_.record_collective(
      state_->no_rows, [&exchange, &tape = tape_, &to = communicator_, state = state_, chunk, x](const Variable&) {
        exchange.finish(tape.device(), to, Way::backward, state->flights[chunk], state->gradients[chunk]);
        tape.add_gradient(x, state->gradients[chunk]);
        state->gradients[chunk] = {};
      });
}

Var JoiningExchange::finish() {
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    chunks_[c].finish(tape_.device(), communicator_, Way::forward, state_->flights[c], state_->whole);
  }
  const Tensor whole = std::exchange(state_->whole, {});
  return tape_.record_collective(
      whole, [&chunks = chunks_, &tape = tape_, &to = communicator_, state = state_](const Variable& result) {
        for (std::size_t c = chunks.size(); c-- > 0;) {
          state->gradients[c] = like(tape.device(), chunks[c].input_rows(), result.gradient);
          state->flights[c] = chunks[c].start(tape.device(), to, Way::backward, result.gradient, state->gradients[c]);
          state->starts[c]->gradient = state->no_rows;
        }
      });
}

struct SplittingExchange::State {
  explicit State(std::size_t chunks) : flights(chunks), parts(chunks) {}
  std::vector<Exchange::Flight> flights;
  std::vector<Tensor> parts;
  Var start;
  Tensor gradient;  // of the whole, while its chunks come back
  Tensor no_rows;
};

SplittingExchange::SplittingExchange(const ChunkExchanges& chunks, Tape& tape, Communicator& communicator, const Var& x)
    : chunks_(chunks), tape_(tape), communicator_(communicator), state_(std::make_shared<State>(chunks.size())) {
  Device& device = tape.device();
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    if (x->value.rows() != chunks[c].input_rows()) throw Error("exchange: the whole has other rows than the plan");
    state_->parts[c] = like(device, chunks[c].output_rows(), x->value);
    state_->flights[c] = chunks[c].start(device, communicator, Way::forward, x->value, state_->parts[c]);
  }
  state_->no_rows = like(device, 0, x->value);
  state_->start = tape.record_collective(
      state_->no_rows, [&chunks = chunks_, &tape, &communicator, state = state_, x](const Variable&) {
        for (std::size_t c = chunks.size(); c-- > 0;) {
          chunks[c].finish(tape.device(), communicator, Way::backward, state->flights[c], state->gradient);
        }
        tape.add_gradient(x, std::exchange(state->gradient, {}));
      });
}

Var SplittingExchange::finish(std::size_t chunk) {
  const Exchange& exchange = chunks_[chunk];
  const Tensor part = std::exchange(state_->parts[chunk], {});
  exchange.finish(tape_.device(), communicator_, Way::forward, state_->flights[chunk], part);
  return tape_.record_collective(
      part, [&exchange, &tape = tape_, &to = communicator_, state = state_, chunk](const Variable& result) {
        if (!state->gradient.defined()) state->gradient = like(tape.device(), exchange.input_rows(), result.gradient);
        state->flights[chunk] = exchange.start(tape.device(), to, Way::backward, result.gradient, state->gradient);
        state->start->gradient = state->no_rows;
      });
}

}  // namespace strobe
