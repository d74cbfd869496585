// Exchanges in slices that are under way while the ranks compute. Each is made of two kinds of records, start and
// finish; backward, a finish starts the reverse exchange and a start completes it, so gradients overlap alike.
// Every rank must start and finish the same slices in the same order, those without rows of its own included.
#pragma once

#include <memory>
#include <vector>

#include "harness/full_batch/exchange/exchange.hpp"

namespace strobe {

/// Exchanges of the slices of one tensor: either each brings its rows into the whole, or each takes its rows out of it.
/// No row of the whole belongs to two slices, and every row to one.
using SliceExchanges = std::vector<Exchange>;

/// Slices into the whole: start(0), start(1), ..., finish().
class JoiningExchange {
 public:
  /// `slices` and `communicator` must outlive the tape.
  JoiningExchange(const SliceExchanges& slices, Tape& tape, Communicator& communicator);

  /// Sends slice `slice` [its input rows, F] on its way.
  void start(std::size_t slice, const Var& x);
  /// The whole [output rows, F] when all slices are there.
  Var finish();

 private:
  struct State;
  const SliceExchanges& slices_;
  Tape& tape_;
  Communicator& communicator_;
  std::shared_ptr<State> state_;
};

/// The whole into slices: start of all of them, then finish(0), finish(1), ...
class SplittingExchange {
 public:
  /// Sends all slices of x [input rows, F] on their way. `slices` and `communicator` must outlive the tape.
  SplittingExchange(const SliceExchanges& slices, Tape& tape, Communicator& communicator, const Var& x);

  /// Slice `slice` [its output rows, F] when it is there.
  Var finish(std::size_t slice);

 private:
  struct State;
  const SliceExchanges& slices_;
  Tape& tape_;
  Communicator& communicator_;
  std::shared_ptr<State> state_;
};

}  // namespace strobe
