// The MPI library in this process: started on first use, finalised at exit.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/mpi/side_channel.hpp"

namespace strobe::mpi {

/// Whether mpirun, srun or a similar launcher started this process; reads the environment and does not ask MPI.
bool launched_by_mpi();

/// MPI communicators with one use each, so that messages of different purposes never mix. They belong to the whole
/// world or to a group.
struct Session {
  MPI_Comm headers = MPI_COMM_NULL;   // which collective each rank has entered
  MPI_Comm data = MPI_COMM_NULL;      // first phase of collectives
  MPI_Comm second = MPI_COMM_NULL;    // second phase, which is posted while waiting
  MPI_Comm messages = MPI_COMM_NULL;  // send and receive
  MPI_Comm side = MPI_COMM_NULL;      // questions and failures; the world's alone
  std::int64_t name = 0;              // its name in the side channel; 0: the world
};

class Runtime {
 public:
  /// Starts MPI. Throws SystemError when that fails.
  static Runtime& instance();

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The cores that this rank may use, shared with the ranks of its node (core_shares).
  double cores() const { return cores_; }
  /// The number of threads that each rank should compute with.
  const std::vector<int>& threads() const { return threads_; }

  /// Waits until every rank has called it. Throws RanksLost when ranks do not arrive within `seconds` (judge_wait),
  /// SystemError when they were lost earlier, and Interrupted on a stop signal; after that signal ranks count as lost.
  void await_all(double seconds);
  /// A communicator for one purpose; every rank calls this directly after await_all. Never freed: MPI ends with the
  /// process.
  MPI_Comm new_communicator() const;
  /// Marks ranks as gone: MPI is then aborted at exit, because finalising it would hang.
  void lose_ranks(const std::vector<int>& lost = {});

  /// Returns the strings of all ranks, by rank. Together they may have up to 2 TiB. Throws the same as await_all; MPI
  /// is then aborted at exit.
  std::vector<std::string> gather(const std::string& own, double seconds);
  /// Sends to[r] to rank r, and returns what the ranks sent here, by rank. Throws as gather, and SystemError for more
  /// than 2 TiB. If a rank lacks the memory, all throw: that one its own error, the others a SystemError.
  std::vector<std::string> all_to_all(const std::vector<std::string>& to, double seconds);

  /// await_all, then the session for the launch.
  Session& begin_launch(double seconds);
  /// A session for one more communicator of the ranks `members`, ascending, in this launch. Each of them calls it
  /// directly after all have met. MPI communicators are few, so they are kept: the n-th communicator of the same
  /// members in a later launch gets the same session.
  Session& group_session(const std::vector<int>& members);
  /// How long a rank waits for the outcome of the others, whose program may take longer than its own.
  struct EndPatience {
    double most_seconds;  // may be infinite
    double look_seconds;  // interval after which ranks that neither answer nor are seen running count as lost
  };
  /// Exchanges how each rank ended, while serving `side`. Returns an empty result when a rank did not report in that
  /// time; MPI is then aborted at exit, because finalising it would hang.
  std::vector<FailureReport> end_launch(const FailureReport& own, SideChannel& side, const EndPatience& patience);
  /// Those of the ranks that neither answer questions nor are seen running.
  std::vector<int> stopped_among(const std::vector<int>& silent) const;

  /// Keeps data that MPI may still write to until the process ends, and gives the next launch a new session.
  static void abandon(std::shared_ptr<void> buffers);
  void abandon_session() {
    session_ = {};
    group_sessions_.clear();
  }

 private:
  Runtime();
  ~Runtime();
  Session make_session() const;
  Session make_session(const std::vector<int>& members) const;
  void share_cores();
  void complete_or_lose(MPI_Request& request, double seconds);
  /// Throws at every rank if one has a failure.
  void agree(std::exception_ptr failure, double seconds);

  int rank_ = 0;
  int size_ = 1;
  double cores_ = 1;
  std::vector<int> threads_;
  bool owner_ = false;       // whether this object started MPI
  bool broken_ = false;      // ranks could not agree on how a launch ended
  bool first_lost_ = false;  // rank 0 is lost
  MPI_Comm control_ = MPI_COMM_NULL;
  MPI_Comm exchanges_ = MPI_COMM_NULL;  // of all_to_all: a rank that failed may gather meanwhile
  Session session_;
  std::map<std::vector<int>, int> group_uses_;                          // communicators in this launch, by members
  std::map<std::pair<std::vector<int>, int>, Session> group_sessions_;  // by members and their communicator's number
};

}  // namespace strobe::mpi
