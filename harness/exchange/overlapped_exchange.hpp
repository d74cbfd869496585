// Exchanges in chunks that are under way while the ranks compute. Each is made of two kinds of records, start and
// finish; backward, a finish starts the reverse exchange and a start completes it, so gradients overlap alike.
// Every rank must start and finish the same chunks in the same order, those without rows of its own included.
#pragma once

#include <memory>
#include <vector>

#include "harness/exchange/exchange.hpp"

namespace strobe {

/// Exchanges of the chunks of one tensor: either each brings its rows into the whole, or each takes its rows out of it.
/// No row of the whole belongs to two chunks, and every row to one.
using ChunkExchanges = std::vector<Exchange>;

/// Chunks into the whole: start(0), start(1), ..., finish().
class JoiningExchange {
 public:
  /// `chunks` and `communicator` must outlive the tape.
  JoiningExchange(const ChunkExchanges& chunks, Tape& tape, Communicator& communicator);

  /// Sends chunk `chunk` [its input rows, F] on its way.
  void start(std::size_t chunk, const Var& x);
  /// The whole [output rows, F] when all chunks are there.
  Var finish();

 private:
  struct State;
  const ChunkExchanges& chunks_;
  Tape& tape_;
  Communicator& communicator_;
  std::shared_ptr<State> state_;
};

/// The whole into chunks: start of all of them, then finish(0), finish(1), ...
class SplittingExchange {
 public:
  /// Sends all chunks of x [input rows, F] on their way. `chunks` and `communicator` must outlive the tape.
  SplittingExchange(const ChunkExchanges& chunks, Tape& tape, Communicator& communicator, const Var& x);

  /// Chunk `chunk` [its output rows, F] when it is there.
  Var finish(std::size_t chunk);

 private:
  struct State;
  const ChunkExchanges& chunks_;
  Tape& tape_;
  Communicator& communicator_;
  std::shared_ptr<State> state_;
};

}  // namespace strobe
