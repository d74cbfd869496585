// Exchanges in slices that run while the ranks compute. Each has two kinds of records, start and finish. In the
// backward pass a finish starts the reverse exchange and a start completes it, so gradients overlap in the same way.
// Every rank must start and finish the same slices in the same order, even slices without rows of its own.
#pragma once

#include <memory>
#include <vector>

#include "harness/full_batch/exchange/exchange.hpp"

namespace strobe {

/// Exchanges of the slices of one tensor: either each brings its rows into the whole, or each takes its rows out of it.
/// Every row of the whole belongs to exactly one slice.
using SliceExchanges = std::vector<Exchange>;

/// Joins slices into the whole: call start(0), start(1), ..., finish().
class JoiningExchange {
 public:
  /// `slices` and `communicator` must outlive the tape.
  JoiningExchange(const SliceExchanges& slices, Tape& tape, Communicator& communicator);

  /// Starts to send slice `slice` [its input rows, F].
  void start(std::size_t slice, const Var& x);
  /// The whole [output rows, F], after all slices have arrived.
  Var finish();

 private:
  struct State;
  const SliceExchanges& slices_;
  Tape& tape_;
  Communicator& communicator_;
  std::shared_ptr<State> state_;
};

/// Splits the whole into slices: the constructor starts all of them, then call finish(0), finish(1), ...
class SplittingExchange {
 public:
  /// Starts to send all slices of x [input rows, F]. `slices` and `communicator` must outlive the tape.
  SplittingExchange(const SliceExchanges& slices, Tape& tape, Communicator& communicator, const Var& x);

  /// Slice `slice` [its output rows, F], after it has arrived.
  Var finish(std::size_t slice);

 private:
  struct State;
  const SliceExchanges& slices_;
  Tape& tape_;
  Communicator& communicator_;
  std::shared_ptr<State> state_;
};

}  // namespace strobe
