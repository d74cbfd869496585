// Small messages outside the collectives: "who has entered collective n of this communicator?" and "I have failed".
#pragma once

#include <mpi.h>

#include <chrono>
#include <list>
#include <map>
#include <optional>
#include <vector>

#include "backends/failure_report.hpp"

namespace strobe::mpi {

using Clock = std::chrono::steady_clock;

/// One rank's end. No function waits for a peer that does not answer; a rank answers whenever it waits for something.
class SideChannel {
 public:
  /// `communicator` is used for these messages only.
  SideChannel(MPI_Comm communicator, int rank, int size) : communicator_(communicator), rank_(rank), size_(size) {}
  ~SideChannel();
  SideChannel(const SideChannel&) = delete;
  SideChannel& operator=(const SideChannel&) = delete;

  /// Sets the number of collectives that this rank has entered in the communicator of the session `session` (its name),
  /// which answers the questions of others.
  void set_entered(std::int64_t session, std::int64_t collectives) { entered_[session] = collectives; }

  /// Receives what has arrived and answers questions. Cheap when nothing has.
  void serve();
  /// serve(), but at most once a millisecond.
  void serve_sometimes(Clock::time_point now);

  /// The first failure that a peer announced.
  const std::optional<FailureReport>& peer_failure() const { return peer_failure_; }
  /// Tells all peers that this rank has failed.
  void announce(const FailureReport& report);

  /// The ranks of `ranks` that have not entered collective number `collective` (from 0) of the session, or do not
  /// answer within `grace`.
  std::vector<int> ask_missing(const std::vector<int>& ranks, std::int64_t session, std::int64_t collective,
                               Clock::duration grace);
  /// The ranks that do not answer a question within a second.
  std::vector<int> silent_ranks();

 private:
  struct Note {
    std::int64_t question = 0;
    std::int64_t session = 0;
    std::int64_t number = 0;
  };
  struct Outgoing {
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<char> bytes;
  };

  void send(const void* bytes, std::size_t size, int to, int tag);
  void receive(const MPI_Status& status);

  MPI_Comm communicator_;
  int rank_;
  int size_;
  std::map<std::int64_t, std::int64_t> entered_;  // collectives, by session
  std::int64_t question_ = 0;                     // number of the last question that this rank asked
  std::vector<std::int64_t> answers_;             // per rank: collectives entered; -1 = no answer yet
  std::list<Outgoing> outgoing_;                  // until MPI has taken them
  std::optional<FailureReport> peer_failure_;
  Clock::time_point next_serve_{};
};

}  // namespace strobe::mpi
