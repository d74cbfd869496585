// StaleExchange: an exchange under a staleness policy (DGC, SIGMOD'23, section 5.2; decisions G10, G11).
#pragma once

#include <memory>
#include <vector>

#include "harness/full_batch/exchange/exchange.hpp"
#include "harness/full_batch/exchange/stale_rows.hpp"
#include "harness/full_batch/exchange/stale_threshold.hpp"

namespace strobe {

/// One rank's side of an exchange that sends rows again only when they have moved far. The sender keeps each row as it
/// was sent last. The reader keeps each row as it came last. Both are on the device, except that the paper's form keeps
/// the sender's rows on the host.
///
/// The first epoch sends all rows as the exchange does. In each later one
///   D = the maximum over ranks of |row now - row as sent last|    (all_reduce of one number)
///   rows with a distance above StaleThreshold::share() * D go to all of their readers: first a header for each peer,
///   then, where any pair of ranks may need them, lists of the rows that come (SubsetHeader), and then the rows
///   themselves.
/// All of this is traffic of the exchange's own kind. Backward, readers return the gradients of the rows sent in this
/// epoch, and treat other rows as constants. With `gradient_always` they return the gradients of all rows. A checkpoint
/// block makes a second pass over the same input in an epoch. That pass reuses the decisions of the first and sends
/// nothing, because readers hold the rows. A constant input does not move: it is sent in the first epoch only, and
/// nobody compares it.
///
/// Memory: the rows that anybody reads, once, and the rows that arrive, once. An epoch adds two transfers to the
/// exchange's own cost: distances of the read rows leave the device, and lists of rows to send return to it.
class StaleExchange {
 public:
  struct Input {
    bool constant = false;     // the same values in every epoch
    double assumed_share = 1;  // share of the rows sent in later epochs, for runs without values
  };

  /// `plan` must have lists for `device.rank()` when the device holds values. `plan` and `threshold` must outlive this.
  /// Not for identities.
  StaleExchange(Device& device, const ExchangePlan& plan, Traffic traffic, const StaleThreshold& threshold,
                const Input& input);

  /// The exchanged rows [output_rows, F] of x [input_rows, F] in epoch `epoch`, recorded on the tape. All ranks must
  /// call it.
  Var apply(Tape& tape, Communicator& communicator, const Var& x, std::int64_t epoch);

  /// Rows that all ranks together hold of each other.
  std::int64_t held_rows() const { return plan_->total_rows(); }
  /// The rows [held_rows(), F] that all ranks hold of other ranks, rank by rank. Undefined before the first epoch. All
  /// ranks must call it.
  Tensor gather(Device& device, Communicator& communicator) const;
  /// The reverse of gather: sets this rank's rows from `all`, which was gathered under the same plan.
  void restore(Device& device, const Tensor& all);

  /// The most bytes by which an epoch can exceed one that sends all rows: the all-reduce of the largest distance, and
  /// the headers of all pairs of ranks. Summed over ranks.
  static std::uint64_t added_bytes(const ExchangePlan& plan);

 private:
  /// The rows that travelled forward in the current epoch.
  struct Sent {
    bool all = false;              // whether the whole exchange was sent
    std::int64_t out = 0, in = 0;  // rows
    PeerParts send, receive;
    Tensor input_rows, output_rows;  // i64 [out, 1], [in, 1]: rows of the input, and of the output
  };
  struct OnHost;  // data that host work reads and writes; shared, so that it outlives work under way

  void advance(Device& device, Communicator& communicator, const Tensor& x);
  void send_all(Device& device, Communicator& communicator, const Tensor& x);
  void send_moved(Device& device, Communicator& communicator, const Tensor& x);
  void keep_compared(Device& device, const Tensor& current);
  void measure(Device& device, const Tensor& current);
  void choose(Device& device, const Tensor& current, double threshold);
  void carry(Device& device, Communicator& communicator, const Tensor& current);
  PeerSubsets tell_subsets(Device& device, Communicator& communicator) const;
  void take_in(Device& device, const PeerSubsets& subsets, const Tensor& rows, Sent& sent);
  Tensor compared_rows(Device& device, const Tensor& x) const;
  Tensor assemble(Device& device, const Tensor& x) const;
  Tensor return_gradient(Device& device, Communicator& communicator, const Tensor& gradient, const Sent& sent) const;
  void keep_own(Device& device, const Tensor& from, const Tensor& to, bool reversed) const;

  const ExchangePlan* plan_;
  const RankExchange* rank_;
  Traffic traffic_;
  const StaleThreshold* threshold_;
  Input input_;
  Exchange exchange_;  // of all rows
  std::shared_ptr<OnHost> host_;
  Tensor keep_, keep_back_;        // i64 [moves, 3]: own rows to the output, and back
  Tensor compared_, output_rows_;  // i64 [compared, 1], [received, 1]
  Tensor last_;                    // [compared, F]: as sent last; only if the device keeps them
  Tensor received_;                // [received, F]: as they came last
  std::shared_ptr<const Sent> sent_;
  std::int64_t epoch_ = -1;  // the last epoch with a decision
  bool lists_ = false;       // whether any pair of ranks may need a list of rows
};

}  // namespace strobe
