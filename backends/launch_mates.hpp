// The processes of this launch as this machine's list of processes shows them: it tells who stands still without asking
// them, which MPI cannot before all have joined.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strobe {

/// `left`: runs, and has nothing to do with the others any more (mark_as_left).
enum class MateState : std::uint8_t { running, stopped, unseen, left };

struct LaunchMates {
  int own = 0;
  std::vector<MateState> states;  // by rank; empty outside of a launch
  bool all_here = false;          // every process was started on this machine, so one that is unseen is gone

  /// The lowest rank that runs; the own one where it stands alone.
  int lowest_running() const;
};

/// The processes with the environment of the own launch (Open MPI, PMI, PMIx, Slurm) that run this same program file.
/// One that a signal stopped is `stopped`. One on another machine, of another user, or that has ended is `unseen`.
/// Cost: one look at every process of this machine.
LaunchMates look_at_launch();

/// Shows the others of this machine that this process has left the launch and ends.
void mark_as_left();

/// How a wait for others stands.
struct WaitVerdict {
  bool over = false;        // nobody should wait any longer
  std::vector<int> blamed;  // ranks
  std::string words;        // "rank 1 (stopped), rank 3 (gone)"

  void blame(const LaunchMates& mates, int rank);
};

/// A wait is over after `limit` seconds, unless all others are seen running: these get ten times as long. Where
/// `elsewhere_works`, so do those of other machines.
WaitVerdict judge_wait(const LaunchMates& mates, double waited, double limit, bool elsewhere_works);

}  // namespace strobe
