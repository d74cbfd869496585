// Exchange: one rank's side of an exchange plan on its device, as a differentiable operation. The backward pass of a
// redistribution is the reverse redistribution. The backward pass of a halo is the reverse exchange with accumulation.
#pragma once

#include <memory>

#include "backends/communicator.hpp"
#include "harness/full_batch/exchange/exchange_plan.hpp"
#include "models/tape/tape.hpp"

namespace strobe {

/// Which rows of a tensor a buffer holds, in the buffer's order. Where runs are short, a list of single rows is shorter
/// than a list of runs, and it serves both directions.
struct BufferRows {
  Tensor runs;  // i64 [moves, 3]: from, to, rows; in the direction of its ExchangeSide
  Tensor rows;  // i64 [buffer rows, 1] instead
};

/// Index lists of one direction: pack rows of the input into a send buffer, keep rows, unpack the receive buffer. The
/// plan says which rows go to which peer.
struct ExchangeSide {
  const PeerSide* send = nullptr;
  const PeerSide* receive = nullptr;
  bool receive_in_place = false;
  Tensor keep;              // i64 [moves, 3]; undefined when there is nothing to do
  BufferRows pack, unpack;  // undefined when there is nothing to do
  // The same rows for communicators that move pieces, which then need no buffer. Counts alone decide whether runs are
  // long enough. Lists of pieces exist only where there are values.
  bool send_in_pieces = false, receive_in_pieces = false;
  ExchangePieces pieces;
};

/// An exchange ready to run. Holds device memory for its index lists. On a rank that moves nothing it takes a few
/// words, because every rank holds as many hand-overs as there are ranks.
class Exchange {
 public:
  /// `plan` must have lists for `device.rank()` when the device holds values, and must outlive this.
  Exchange(Device& device, const ExchangePlan& plan, Traffic traffic);
  Exchange(Device& device, ExchangePlan&& plan, Traffic traffic) = delete;

  bool identity() const { return plan_->identity; }
  std::int64_t input_rows() const { return rank_->input_rows; }
  std::int64_t output_rows() const { return rank_->output_rows; }

  /// The exchanged rows [output_rows, F] of x [input_rows, F], recorded on the tape. All ranks must call it.
  Var apply(Tape& tape, Communicator& communicator, const Var& x) const;
  /// The same where some ranks' inputs are empty or carry no gradient: all ranks enter the backward exchange.
  Var apply_everywhere(Tape& tape, Communicator& communicator, const Var& x) const;

  /// The backward exchange alone, for a forward exchange that was not recorded. Returns the gradient [input_rows, F]
  /// for that of the exchanged rows [output_rows, F]. All ranks must call it.
  Tensor return_gradient(Device& device, Communicator& communicator, const Tensor& gradient) const;

  /// Forward moves rows as the plan says; backward moves their gradients in the opposite direction.
  enum class Way { forward, backward };
  /// The state between start and finish.
  struct Flight {
    Request request;
    Tensor receive;  // a buffer that waits to be unpacked, or undefined
    Tensor store;    // of this rank as a server, until readers have pulled its rows
  };
  /// The two halves of an exchange that moves rows of `from` into rows of `to`, and leaves the other rows of `to`
  /// alone. In between, the device may compute with anything except the arriving rows, and may not change `from`. Not
  /// for identities. All ranks must call both, in the same order.
  Flight start(Device& device, Communicator& communicator, Way way, const Tensor& from, const Tensor& to) const;
  void finish(Device& device, Communicator& communicator, Way way, Flight& flight, const Tensor& to) const;

 private:
  struct Sides {
    ExchangeSide forward, backward;
    PeerSide added;  // buffered rows of peers, where the plan has them in place but they must be added
  };
  /// The four one-way exchanges of a route through servers.
  struct Served;
  std::shared_ptr<const Sides> make_sides(Device& device) const;
  void add_backward(Device& device, Sides& sides) const;
  void find_pieces(const Device& device, Sides& sides) const;
  Tensor run_forward(Device& device, Communicator& communicator, const Var& x) const;
  void run_backward(Tape& tape, Communicator& communicator, const Var& x, const Variable& result) const;
  void run(Device& device, Communicator& communicator, Way way, const Tensor& from, const Tensor& to) const;
  const ExchangeSide& side(Way way) const;
  Flight start_push(Device& device, Communicator& communicator, Way way, const Tensor& from, const Tensor& to) const;
  void finish_pull(Device& device, Communicator& communicator, Way way, Flight& flight, const Tensor& to) const;

  const ExchangePlan* plan_;
  const RankExchange* rank_;
  Traffic traffic_;
  std::shared_ptr<const Sides> sides_;    // null where nothing is moved
  std::shared_ptr<const Served> served_;  // null: from peer to peer
};

}  // namespace strobe
