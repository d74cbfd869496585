// The processes of this launch, as this machine's process list shows them. It shows which of them are stopped without
// asking them. MPI cannot do that before all have joined.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strobe {

/// `left`: runs, but has finished with the others (mark_as_left).
enum class MateState : std::uint8_t { running, stopped, unseen, left };

struct LaunchMates {
  int own = 0;
  std::vector<MateState> states;  // by rank; empty outside of a launch
  bool all_here = false;          // every process was started on this machine, so an unseen one is gone

  /// The lowest rank that runs; the own rank if no other is seen.
  int lowest_running() const;
};

/// The processes with the environment of the own launch (Open MPI, PMI, PMIx, Slurm) that run this same program file. A
/// process that a signal stopped is `stopped`. A process on another machine, of another user, or that has ended is
/// `unseen`.
/// Cost: one look at every process of this machine.
LaunchMates look_at_launch();

/// Shows the other processes on this machine that this process has left the launch and is ending.
void mark_as_left();

/// The state of a wait for others.
struct WaitVerdict {
  bool over = false;        // nobody should wait any longer
  std::vector<int> blamed;  // ranks
  std::string words;        // "rank 1 (stopped), rank 3 (gone)"

  void blame(const LaunchMates& mates, int rank);
};

/// A wait is over after `limit` seconds, or after ten times as long if all others are seen running. With
/// `elsewhere_works`, processes of other machines count as running.
WaitVerdict judge_wait(const LaunchMates& mates, double waited, double limit, bool elsewhere_works);

}  // namespace strobe
