// Communicator: collectives between the ranks of one case. Every collective can be started and waited for, leaves a
// span with the bytes it sends to other ranks, and ends with CollectiveTimeout instead of hanging.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/device.hpp"
#include "backends/host/channel.hpp"
#include "backends/peer_list.hpp"
#include "core/ids.hpp"

namespace strobe {

/// The members' ranks in the whole launch, ascending, indexed by rank in the communicator; null: all ranks. The members
/// share it.
using MemberRanks = std::shared_ptr<const std::vector<int>>;

/// The rank in the whole launch of `rank` among `members`.
inline int world_rank(const MemberRanks& members, int rank) { return members == nullptr ? rank : (*members)[rank]; }

/// Disjoint groups of a communicator's ranks: each has at least one, ascending.
using RankGroups = std::vector<std::vector<int>>;

/// One entry for each of `ranks` ranks; ranks without rows get {0, 0}.
std::vector<PeerRows> rows_of_ranks(const PeerParts& parts, int ranks);

/// Rows for each peer as pieces: the pieces of list q, in order, go to or come from rank q. [P] lists.
using PeerPieces = std::vector<std::vector<Run>>;

/// The pieces of one exchange; when null, each peer's rows are one range. Shared, because an exchange is used often.
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
  Tensor send, receive;                // each function of Communicator says which it uses
  std::vector<PeerRows> send_rows;     // per peer, in `send`
  std::vector<PeerRows> receive_rows;  // per peer, in `receive`
  int peer = 0;                        // root, destination or source
  int tag = 0;
  std::uint64_t sent_bytes = 0;  // by the conventions below
  std::uint32_t messages = 0;
  ExchangePieces pieces = {};  // for an all_to_all_v: replace the ranges above, whose counts are then their sums
  // The same rows as lists. An all_to_all_v has both. A communicator that lists peers gets no rows per peer: a gather
  // has `receives` and a scatter has `sends`. Else null.
  SharedPeers sends = nullptr, receives = nullptr;
  Reduction reduction = Reduction::sum;  // for an all_reduce
  std::uint64_t groups = 0;              // for the barrier of a split: the fingerprint of the groups; 0: no split
};

/// A collective under way; pass it to `wait` exactly once.
struct Request {
  std::shared_ptr<void> state;  // backend's own
  Collective collective;
  double started_seconds = 0;
  bool active = false;
};

/// A backend's report of a completed collective, on the rank's clock. All ranks had arrived at `ready_seconds`: waiting
/// ends and communication begins there. The data was complete at `end_seconds`. Data that only moves when a rank calls
/// in began to move at `moved_seconds`. The time from readiness to that moment does not count as hidden communication.
/// 0 = moved as soon as it was ready.
struct Completion {
  double ready_seconds = 0;
  double end_seconds = 0;
  double moved_seconds = 0;
};

/// Collectives among `size()` ranks. All ranks must call the same collectives in the same order. NVI: the public
/// functions check arguments, count bytes and leave spans in one place; backends fill in do_start, do_wait, do_split.
///
/// A communicator belongs to the whole launch or to a group (`split`). Collectives of several communicators may be
/// under way at once and are never confused. Ranks that share several communicators start their collectives in one
/// order, and wait for them in one order. Ranks in arguments and results are ranks of this communicator; errors always
/// name ranks of the whole launch (`world_rank`).
///
/// Bytes sent, the same for every backend (E = bytes of the buffer, P = ranks, to other ranks only, summed over ranks):
/// all_to_all_v and send: the rows' bytes; all_gather_v: own bytes x (P-1); broadcast: E (P-1) by the root;
/// all_reduce: 2 E (P-1) in all, rank r counting 2 (E - share_r); reduce_scatter: E (P-1) in all, rank r counting
/// E - its receive part; barrier: 0. (Ring volumes; no algorithm sends less.)
class Communicator {
 public:
  /// Makes the communicator of the whole launch.
  Communicator(Device& device, int rank, int size, double timeout_seconds)
      : device_(device), rank_(rank), size_(size), timeout_seconds_(timeout_seconds) {}
  /// Makes the communicator of a group; `rank` is the place among `members`.
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

  /// This rank's end of channel `channel` to helper `helper`, both numbered by the launch. Throws Error when the
  /// channel belongs to another rank.
  TrainerChannel& channel(std::size_t helper, std::size_t channel) const;
  /// For launchers.
  void take_channels(TrainerChannels channels) { channels_ = std::move(channels); }

  /// The communicator of the caller's group, or null when the caller is in none. Ranks in it are places in the group's
  /// list. Every rank calls this, in the same order among its collectives, with the same groups. The ranks meet in it
  /// as in a barrier, and it leaves a barrier's span. The result uses the same device and must end before this
  /// communicator and the device. It may end on one rank while others still use theirs, and may be split again. Make
  /// groups once: a backend frees their resources only when the launch ends.
  /// Throws Error before anything is sent when groups are empty, not ascending, not disjoint or beyond the ranks, and
  /// when ranks disagree about them; Unavailable when the backend makes no groups; and whatever `wait` throws.
  std::unique_ptr<Communicator> split(const RankGroups& groups);

  /// send_rows[q] of `send` go to rank q and arrive in q's receive_rows[this rank] of `receive`. Both lists have size()
  /// entries; the own entry must be empty on both sides (own rows are copied by the caller, they are not sent).
  /// With `pieces`, a peer's rows lie where the pieces say, and the lists only give their numbers, as ranges from 0.
  /// Only a communicator with `moves_pieces` takes them. Each rank decides for itself, and for each direction.
  Request start_all_to_all_v(const Tensor& send, std::vector<PeerRows> send_rows, const Tensor& receive,
                             std::vector<PeerRows> receive_rows, Traffic traffic, ExchangePieces pieces = {});
  /// The same with peers as a list. With `pieces`, only the counts of its ranges matter.
  Request start_all_to_all_v(const Tensor& send, SharedPeers sends, const Tensor& receive, SharedPeers receives,
                             Traffic traffic, ExchangePieces pieces = {});
  /// Whether an exchange can read rows from, and write them to, several places of a tensor, without packing.
  virtual bool moves_pieces() const { return false; }
  /// Whether the backend reads `sends` and `receives`; otherwise it gets the rows of every rank.
  virtual bool lists_peers() const { return false; }
  /// In place: every rank's `tensor` becomes the elementwise sum over ranks, added in rank order (same bits on every
  /// rank), or their maximum. Types: f32, f64, i64. +0 and -0 are equal in a maximum, and the first rank's zero stays.
  /// A NaN on any rank makes the sum NaN, and also the maximum if `max_keeps_nan`. Bytes and spans are the same for
  /// both.
  Request start_all_reduce(const Tensor& tensor, Traffic traffic, Reduction reduction = Reduction::sum);
  /// Whether a maximum is NaN wherever a rank brings one; otherwise a NaN may be ignored.
  virtual bool max_keeps_nan() const { return true; }
  /// `receive` gets rank q's rows at receive_rows[q]; `send` has receive_rows[rank()].count rows.
  Request start_all_gather_v(const Tensor& send, const Tensor& receive, std::vector<PeerRows> receive_rows,
                             Traffic traffic);
  /// The same with rows as a list, which includes this rank if it has rows.
  Request start_all_gather_v(const Tensor& send, const Tensor& receive, SharedPeers receives, Traffic traffic);
  /// Rank q's `receive` gets the sum over ranks (in rank order) of rows send_rows[q] of `send`.
  Request start_reduce_scatter(const Tensor& send, std::vector<PeerRows> send_rows, const Tensor& receive,
                               Traffic traffic);
  /// Every rank's `tensor` becomes root's.
  Request start_broadcast(const Tensor& tensor, int root, Traffic traffic);
  Request start_send(const Tensor& tensor, int destination, int tag, Traffic traffic);
  Request start_receive(const Tensor& tensor, int source, int tag, Traffic traffic);

  /// Returns when the collective's result is ready and its buffers may be used again. Throws CollectiveTimeout naming
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
    std::size_t index = 0;    // the group's number
    int rank = -1;            // the caller's place in the group; -1: in none
    std::uint64_t split = 0;  // number of earlier splits of this communicator
  };
  const MemberRanks& members() const { return members_; }
  /// A group of this communicator as ranks of the whole launch.
  MemberRanks members_of(const std::vector<int>& group) const;

 private:
  /// Makes the communicator of the caller's group, null when the caller is in none. All ranks have met before, and
  /// agree.
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
  TrainerChannels channels_;
  MemberRanks members_;
  std::uint64_t splits_ = 0;
};

/// The program that each rank runs.
using RankProgram = std::function<void(Device&, Communicator&)>;

/// How ranks are started.
struct LaunchRequest {
  int ranks = 1;
  double timeout_seconds = 60;  // of one collective
  DeviceRequest device;         // rank and ranks are filled in per rank
  DeviceTag::Value make_device;
  std::vector<HelperRequest> helpers;  // started in addition to the ranks, which are their trainers
};

struct CommunicatorTag {
  static constexpr const char* kind = "communicator";
  /// Runs `program` once per rank that this process hosts and returns when all of them are done. When ranks fail, it
  /// rethrows the first cause (a PeerFailed only when there is nothing better).
  /// Throws Unavailable when the ranks do not exist here (mpi: the launched world has another size).
  struct Value {
    void (*launch)(const LaunchRequest&, const RankProgram&) = nullptr;
    /// Rank of this process in an externally launched world (mpirun, srun), 0 otherwise. Only rank 0 writes results.
    int (*process_rank)() = nullptr;
    /// Number of ranks in this process's world; 0 = as many as asked for.
    int (*world_size)() = nullptr;
    /// The value of `Communicator::moves_pieces` on its ranks when devices have no memory of their own; null = false.
    /// `cluster` describes the devices' cluster, or is null.
    bool (*moves_pieces)(const Cluster* cluster) = nullptr;
    /// Kernel threads for each rank of an externally launched world: the cores that it may use, shared with the ranks
    /// of its node (core_shares). All its processes call it. Null when ranks are threads.
    std::vector<int> (*shared_threads)() = nullptr;
    /// Every process of an externally launched world passes `own` and gets the strings of all, by rank, outside of any
    /// launch. All processes call it the same number of times, in the same order. Throws SystemError when a process
    /// does not arrive within `seconds`, Interrupted on a stop signal. Null when ranks are threads.
    std::vector<std::string> (*gather)(const std::string& own, double seconds) = nullptr;
    /// The same with a string for each process: every process gets those that are meant for it, by rank.
    std::vector<std::string> (*all_to_all)(const std::vector<std::string>& to, double seconds) = nullptr;

    /// Whether all ranks of every launch run in this process.
    bool in_one_process() const { return gather == nullptr; }
  };
};
using CommunicatorRegistry = Registry<CommunicatorTag>;

}  // namespace strobe
