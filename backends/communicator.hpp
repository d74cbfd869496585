// Communicator: collectives between the ranks of one case. Every collective can be started and waited for, leaves a
// span with the bytes it sends to other ranks, and ends with CollectiveTimeout instead of hanging.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/device.hpp"
#include "backends/host/lane.hpp"
#include "backends/peer_list.hpp"
#include "core/ids.hpp"

namespace strobe {

/// Ranks of the whole launch, ascending, by their rank in a communicator; null: all there are. Shared by its ranks.
using MemberRanks = std::shared_ptr<const std::vector<int>>;

/// The rank in the whole launch of `rank` among `members`.
inline int world_rank(const MemberRanks& members, int rank) {
  return members == nullptr ? rank : (*members)[static_cast<std::size_t>(rank)];
}

/// Disjoint groups of a communicator's ranks: each has at least one, ascending.
using RankGroups = std::vector<std::vector<int>>;

/// One entry for each of `ranks` ranks; ranks without rows have {0, 0}.
std::vector<PeerRows> rows_of_ranks(const PeerParts& parts, int ranks);

/// Rows for each peer piece by piece: piece after piece of list q is what goes to, or comes from, rank q. [P] lists.
using PeerPieces = std::vector<std::vector<Run>>;

/// The pieces of one exchange; where null, each peer's rows are one range. Shared, because an exchange is used often.
struct ExchangePieces {
  std::shared_ptr<const PeerPieces> send = nullptr, receive = nullptr;
};

enum class CollectiveKind : std::uint8_t {
  all_to_all_v,
  all_reduce,
  all_gather_v,
  reduce_scatter,
  broadcast,
  send,
  receive,
  barrier
};
inline constexpr std::string_view collective_names[] = {"all_to_all_v", "all_reduce", "all_gather_v", "reduce_scatter",
                                                        "broadcast",    "send",       "receive",      "barrier"};

/// One collective call of one rank, as the backend sees it. Tensors without values stand for their shapes.
struct Collective {
  CollectiveKind kind = CollectiveKind::barrier;
  Traffic traffic = Traffic::other;
  Tensor send, receive;                // see the functions of Communicator for which is used
  std::vector<PeerRows> send_rows;     // per peer, in `send`
  std::vector<PeerRows> receive_rows;  // per peer, in `receive`
  int peer = 0;                        // root, destination or source
  int tag = 0;
  std::uint64_t sent_bytes = 0;  // by the conventions below
  std::uint32_t messages = 0;
  ExchangePieces pieces = {};  // of an all_to_all_v, in place of the ranges above, whose counts are their sums
  // The same as lists: both of an all_to_all_v, and for a communicator that lists peers, which gets no rows per peer,
  // those of a gather's receive buffer and of a scatter's send buffer; else null.
  SharedPeers sends = nullptr, receives = nullptr;
  Reduction reduction = Reduction::sum;  // of an all_reduce
  std::uint64_t groups = 0;              // of the barrier in which ranks split: stands for the groups; 0: no split
};

/// A collective under way; pass it to `wait` exactly once.
struct Request {
  std::shared_ptr<void> state;  // backend's own
  Collective collective;
  double started_seconds = 0;
  bool active = false;
};

/// What a backend reports when a collective has completed, on the rank's clock: all ranks had arrived at
/// `ready_seconds` (wait ends, communication begins), data was complete at `end_seconds`. Data that only moves when a
/// rank lends its hands began to move at `moved_seconds`; what lies between readiness and that is not hidden
/// communication, but nothing. 0 = as soon as it was ready.
struct Completion {
  double ready_seconds = 0;
  double end_seconds = 0;
  double moved_seconds = 0;
};

/// Collectives among `size()` ranks. All ranks must call the same collectives in the same order. NVI: the public
/// functions check arguments, count bytes and leave spans in one place; backends fill in do_start, do_wait, do_split.
///
/// A communicator is the whole launch's or a group's (`split`). Collectives of several may be under way at once and are
/// never taken for each other's; ranks that have several in common start theirs in one order, and wait for them in one
/// order. Ranks in the arguments and results of the functions are ranks of this communicator; those that errors name
/// are always ranks of the whole launch (`world_rank`).
///
/// Bytes sent, the same for every backend (E = bytes of the buffer, P = ranks, to other ranks only, summed over ranks):
/// all_to_all_v and send: the rows' bytes; all_gather_v: own bytes x (P-1); broadcast: E (P-1) by the root;
/// all_reduce: 2 E (P-1) in all, rank r counting 2 (E - share_r); reduce_scatter: E (P-1) in all, rank r counting
/// E - its receive part; barrier: 0. (Ring volumes; no algorithm sends less.)
class Communicator {
 public:
  /// Of the whole launch.
  Communicator(Device& device, int rank, int size, double timeout_seconds)
      : device_(device), rank_(rank), size_(size), timeout_seconds_(timeout_seconds) {}
  /// Of a group; `rank` is the place among `members`.
  Communicator(Device& device, int rank, MemberRanks members, double timeout_seconds);
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The rank in the whole launch of this communicator's `rank`.
  int world_rank(int rank) const { return strobe::world_rank(members_, rank); }
  double timeout_seconds() const { return timeout_seconds_; }
  Device& device() { return device_; }

  /// This rank's end of lane `lane` to helper `helper`, both as the launch lists them. Throws Error where another rank
  /// is its trainer.
  TrainerLane& lane(std::size_t helper, std::size_t lane) const;
  /// For launchers.
  void take_lanes(TrainerLanes lanes) { lanes_ = std::move(lanes); }

  /// The communicator of the caller's group, in which ranks are places in its list, or null when it is in none. Every
  /// rank calls it, in the same order among its collectives, with the same groups;
  /// it is met in as a barrier and leaves the span of one. The result uses the same device,
  /// must end before this communicator and the device, and may end on one rank while others still use theirs; it may be
  /// split again. Groups are best made once: what a backend takes for one is given back at the launch's end.
  /// Throws Error before anything is sent when groups are empty, not ascending, not disjoint or beyond the ranks, and
  /// when ranks disagree about them; Unavailable where the backend makes no groups; what `wait` throws.
  std::unique_ptr<Communicator> split(const RankGroups& groups);

  /// send_rows[q] of `send` go to rank q and arrive in q's receive_rows[this rank] of `receive`. Both lists have size()
  /// entries; the own entry must be empty on both sides (own rows are copied by the caller, they are not sent).
  /// With `pieces`, which only a communicator takes that `moves_pieces`, a peer's rows lie where the pieces say:
  /// the lists give their numbers alone, with ranges from 0. Each rank decides for itself and for either direction.
  Request start_all_to_all_v(const Tensor& send, std::vector<PeerRows> send_rows, const Tensor& receive,
                             std::vector<PeerRows> receive_rows, Traffic traffic, ExchangePieces pieces = {});
  /// The same for peers as a list, whose ranges with `pieces` are only counts.
  Request start_all_to_all_v(const Tensor& send, SharedPeers sends, const Tensor& receive, SharedPeers receives,
                             Traffic traffic, ExchangePieces pieces = {});
  /// Whether an exchange may take rows from, and put them to, several places of a tensor, so that nobody packs them.
  virtual bool moves_pieces() const { return false; }
  /// Whether the backend reads `sends` and `receives`; else it gets rows of every rank.
  virtual bool lists_peers() const { return false; }
  /// In place: every rank's `tensor` becomes the elementwise sum over ranks, added in rank order (same bits on every
  /// rank), or their maximum, of which +0 and -0 are equal and the first rank's stays. f32 or f64 or i64. A NaN of any
  /// rank makes the sum NaN, and the maximum too where `max_keeps_nan`. Bytes and spans are the same for both.
  Request start_all_reduce(const Tensor& tensor, Traffic traffic, Reduction reduction = Reduction::sum);
  /// Whether a maximum is NaN wherever a rank brings one; else such a rank's value may count as absent.
  virtual bool max_keeps_nan() const { return true; }
  /// `receive` gets rank q's rows at receive_rows[q]; `send` has receive_rows[rank()].count rows.
  Request start_all_gather_v(const Tensor& send, const Tensor& receive, std::vector<PeerRows> receive_rows,
                             Traffic traffic);
  /// The same for rows as a list, with an entry of this rank where it has rows.
  Request start_all_gather_v(const Tensor& send, const Tensor& receive, SharedPeers receives, Traffic traffic);
  /// Rank q's `receive` gets the sum over ranks (in rank order) of rows send_rows[q] of `send`.
  Request start_reduce_scatter(const Tensor& send, std::vector<PeerRows> send_rows, const Tensor& receive,
                               Traffic traffic);
  /// Every rank's `tensor` becomes root's.
  Request start_broadcast(const Tensor& tensor, int root, Traffic traffic);
  Request start_send(const Tensor& tensor, int destination, int tag, Traffic traffic);
  Request start_receive(const Tensor& tensor, int source, int tag, Traffic traffic);

  /// Returns when the collective's result is there and its buffers may be used again. Throws CollectiveTimeout naming
  /// the ranks that never entered it; PeerFailed when another rank failed; Interrupted on a stop signal.
  void wait(Request& request);

  void all_to_all_v(const Tensor& send, std::vector<PeerRows> send_rows, const Tensor& receive,
                    std::vector<PeerRows> receive_rows, Traffic traffic);
  void all_reduce(const Tensor& tensor, Traffic traffic, Reduction reduction = Reduction::sum);
  void all_gather_v(const Tensor& send, const Tensor& receive, std::vector<PeerRows> receive_rows, Traffic traffic);
  void all_gather_v(const Tensor& send, const Tensor& receive, SharedPeers receives, Traffic traffic);
  void reduce_scatter(const Tensor& send, std::vector<PeerRows> send_rows, const Tensor& receive, Traffic traffic);
  void broadcast(const Tensor& tensor, int root, Traffic traffic);
  void send(const Tensor& tensor, int destination, int tag, Traffic traffic);
  void receive(const Tensor& tensor, int source, int tag, Traffic traffic);
  void barrier();

 protected:
  /// The caller's place in a split.
  struct OwnGroup {
    std::size_t index = 0;    // of its group
    int rank = -1;            // in it; -1: it is in none
    std::uint64_t split = 0;  // how many splits of this communicator came before
  };
  const MemberRanks& members() const { return members_; }
  /// A group of this communicator as ranks of the whole launch.
  MemberRanks members_of(const std::vector<int>& group) const;

 private:
  /// Makes the communicator of the caller's group, null when it is in none. All ranks have met before, and agree.
  virtual std::unique_ptr<Communicator> do_split(const RankGroups& groups, const OwnGroup& own);
  /// Posts the collective; must not wait for other ranks. Returns the backend's state.
  virtual std::shared_ptr<void> do_start(const Collective& collective) = 0;
  /// Completes it. `state` is what do_start returned.
  virtual Completion do_wait(const Collective& collective, const std::shared_ptr<void>& state) = 0;

  Request start(Collective collective);
  Request start_exchange(Collective collective);
  void check_peers(const Tensor& tensor, const PeerList& peers, bool in_pieces, std::string_view what) const;
  void check_not_sent_to_self(const PeerList& peers) const;
  void check_rows(const Tensor& tensor, const std::vector<PeerRows>& rows, std::string_view what) const;
  void check_pieces(const Tensor& tensor, const std::vector<PeerRows>& rows, const PeerPieces& pieces) const;

  Device& device_;
  int rank_;
  int size_;
  double timeout_seconds_;
  TrainerLanes lanes_;
  MemberRanks members_;
  std::uint64_t splits_ = 0;
};

/// What one rank runs.
using RankProgram = std::function<void(Device&, Communicator&)>;

/// How ranks are started.
struct LaunchRequest {
  int ranks = 1;
  double timeout_seconds = 60;  // of one collective
  DeviceRequest device;         // rank and ranks are filled in per rank
  DeviceTag::Value make_device;
  std::vector<HelperRequest> helpers;  // started beside the ranks, which are trainers
};

struct CommunicatorTag {
  static constexpr const char* kind = "communicator";
  /// Runs `program` once per rank that this process hosts and returns when all of them are done. When ranks fail the
  /// first cause is rethrown (a PeerFailed only when there is nothing better).
  /// Throws Unavailable when the ranks cannot be had here (mpi: the launched world has another size).
  struct Value {
    void (*launch)(const LaunchRequest&, const RankProgram&) = nullptr;
    /// Rank of this process in an externally launched world (mpirun, srun), 0 otherwise. Only rank 0 writes results.
    int (*process_rank)() = nullptr;
    /// Ranks that this process's world offers: 0 = as many as asked for.
    int (*world_size)() = nullptr;
    /// What `Communicator::moves_pieces` of its ranks will say where devices have no memory of their own; null = false.
    /// `cluster` is their devices', or null.
    bool (*moves_pieces)(const Cluster* cluster) = nullptr;
    /// Kernel threads that each rank of an externally launched world should take: the cores that it may use, shared
    /// with the ranks of its node (core_shares). All its processes ask. Null where ranks are threads.
    std::vector<int> (*shared_threads)() = nullptr;
    /// Every process of an externally launched world brings `own` and gets what all brought, by rank; outside of any
    /// launch. All processes call it the same number of times, in the same order. Throws SystemError when a process
    /// does not come within `seconds`, Interrupted on a stop signal. Null where ranks are threads.
    std::vector<std::string> (*gather)(const std::string& own, double seconds) = nullptr;

    /// Whether all ranks of every launch run in this process.
    bool in_one_process() const { return gather == nullptr; }
  };
};
using CommunicatorRegistry = Registry<CommunicatorTag>;

}  // namespace strobe
