// One collective under way over MPI, with everything that MPI reads or writes until it has completed.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "backends/agreement.hpp"
#include "backends/mpi/runtime.hpp"

namespace strobe::mpi {

/// Buffers up to this many bytes are described to MPI in bytes, larger ones in rows, because MPI counts are ints. Tests
/// lower it, so that small buffers take the path of large ones. The same on every rank.
inline std::int64_t most_bytes_per_count = std::numeric_limits<int>::max();

/// all_reduce gathers whole buffers (one phase) up to this many bytes over all ranks, and shares (two phases) above.
inline constexpr std::uint64_t most_gathered_bytes = 4u << 20;

/// Life: `post`, then poll `arrived` until it is true, check `mismatch`, then poll `finished` until it is true.
/// Must not be destroyed between post and finished (Runtime::abandon keeps it).
class Operation {
 public:
  /// `rank` and `size` are those in the communicator of `session`, whose ranks in the world are `members`.
  Operation(const Collective& collective, std::int64_t number, Device& device, int rank, int size, MemberRanks members,
            const Session& session)
      : collective_(collective),
        number_(number),
        device_(device),
        rank_(rank),
        size_(size),
        members_(std::move(members)),
        session_(session) {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// Posts the exchange of summaries, which completes when all ranks have entered, and the first phase of the data.
  void post();
  /// Whether all ranks have entered (for a message: whether the peer has).
  bool arrived();
  /// How the ranks disagree, or ""; call it only once arrived.
  std::string mismatch() const;
  /// Whether the result is ready. Posts the second phase and adds sums when it is time.
  bool finished();
  /// Lets MPI move the data of an exchange that nobody waits for yet, and notes when it was seen to be complete. It
  /// does so for exchanges only, because their data has one phase. Later phases of other collectives must be posted by
  /// all ranks in one order.
  void progress();
  /// When progress first saw that all ranks had entered, and that the result was ready; 0 = not yet.
  double seen_arrived_seconds() const { return seen_arrived_; }
  double seen_finished_seconds() const { return seen_finished_; }

  const Collective& collective() const { return collective_; }
  bool is_message() const {
    return collective_.kind == CollectiveKind::send || collective_.kind == CollectiveKind::receive;
  }
  /// Position among this rank's collectives in the communicator, from 0.
  std::int64_t number() const { return number_; }

 private:
  /// How a buffer is described to MPI: counts and displacements are in units of `bytes`.
  struct Unit {
    MPI_Datatype type = MPI_BYTE;
    std::int64_t bytes = 1;
  };
  struct Parts {
    std::vector<int> counts, offsets;  // per rank, in units
    Unit unit;
  };

  Unit unit_for(std::int64_t rows, std::uint64_t row_bytes);
  int in_units(std::int64_t rows, std::uint64_t row_bytes, const Unit& unit) const;
  Parts& parts_for(const std::vector<PeerRows>& rows, std::uint64_t row_bytes);
  std::vector<PeerRows> element_shares() const;

  void post_summaries();
  void post_message_summaries();
  void post_data();
  void post_message();
  void post_exchange();
  void post_gather();
  void post_broadcast();
  void post_all_reduce();
  void post_reduce_scatter();
  void exchange_for_sum(const std::vector<PeerRows>& send_parts, std::uint64_t row_bytes);
  void gather_shares();
  void add_up();
  void release();

  Collective collective_;  // keeps the buffers alive
  std::int64_t number_;
  Device& device_;
  int rank_, size_;
  MemberRanks members_;
  const Session session_;  // its handles: an operation may be kept beyond the session

  std::vector<CallSummary> own_summaries_, summaries_;
  MPI_Request entering_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Request data_ = MPI_REQUEST_NULL;
  std::vector<std::unique_ptr<Parts>> parts_;  // MPI reads them until completion
  std::vector<MPI_Datatype> types_;
  Tensor addends_;             // u8 [bytes, 1]: the parts to add, in rank order
  bool second_phase_ = false;  // all_reduce by shares has its second phase still to come
  bool done_ = false;
  double seen_arrived_ = 0, seen_finished_ = 0;
};

}  // namespace strobe::mpi
