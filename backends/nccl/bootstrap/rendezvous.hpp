// Where the ranks of several processes exchange a few bytes: NCCL's unique id before a launch, each rank's outcome
// after it, and news of failures in between. Uses neither NCCL nor CUDA.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/nccl/bootstrap/launch_place.hpp"

namespace strobe::nccl {

/// The strings of all ranks, by rank; nothing for a rank that did not arrive.
using Brought = std::vector<std::optional<std::string>>;

/// One rank's end. All ranks call `gather` the same number of times. Not thread-safe.
class Rendezvous {
 public:
  Rendezvous(int rank, int size) : rank_(rank), size_(size) {}
  virtual ~Rendezvous() = default;
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Every rank passes `own` and gets the strings of all. Ranks that have not arrived after `seconds`, or are gone, are
  /// missing. Once a rank has raised the alarm, ranks late by more than `alarm_seconds` are missing too. Throws
  /// Interrupted on a stop signal, and SystemError when rank 0 is gone, so that it cannot even ask.
  virtual Brought gather(const std::string& own, double seconds) = 0;

  /// Tells the others that this rank gave up; they learn it from `alarmed`. Never waits, never throws.
  virtual void alarm() noexcept = 0;
  /// Why this rank should give up: a rank raised the alarm, or is gone. "" otherwise. Cheap to call often.
  virtual std::string alarmed() = 0;

  static constexpr double alarm_seconds = 10;

 private:
  int rank_, size_;
};

/// Meets the other ranks as `place` says: by TCP with rank 0 listening, by files, or by MPI. Throws Unavailable when
/// rank 0's port is in use; SystemError naming the ranks that did not arrive within `seconds`; Interrupted on a stop
/// signal; InvalidRequest when the place chooses MPI and this program was built without it.
std::unique_ptr<Rendezvous> meet(const LaunchPlace& place, double seconds);
std::unique_ptr<Rendezvous> meet_by_tcp(const LaunchPlace& place, double seconds);
std::unique_ptr<Rendezvous> meet_by_files(const LaunchPlace& place);

/// Meets the ranks of the MPI world that this process belongs to; all of them must call it. backends/mpi sets it when
/// it is built in; otherwise it is null.
using MeetByMpi = std::unique_ptr<Rendezvous> (*)(double seconds);
inline MeetByMpi& meet_by_mpi() {
  static MeetByMpi way = nullptr;
  return way;
}

}  // namespace strobe::nccl
