// World: the ranks of one simulated job. Matches their collectives, moves values, and gives each collective its time.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "backends/communicator.hpp"
#include "backends/sim/flight.hpp"
#include "backends/sim/scheduler.hpp"
#include "backends/sim/sim_device.hpp"

namespace strobe::sim {

class World {
 public:
  /// Throws InvalidRequest when the devices are not `sim` devices or the ranks do not fit the cluster.
  World(const LaunchRequest& request, ScheduleOrder order);

  /// Runs `program` on every rank; rethrows the first cause when ranks failed.
  void run(const RankProgram& program);

  /// Publishes the rank's part of a collective; does not block.
  std::shared_ptr<Flight> enter(int rank, const Collective& collective);
  /// Blocks the rank until the flight is done and advances its clock to the end.
  Completion await(int rank, Flight& flight, const Collective& collective);

 private:
  /// Sender, receiver, tag.
  using Lane = std::tuple<int, int, int>;
  struct LaneState {
    std::deque<std::shared_ptr<Flight>> open;
    double free_seconds = 0;
  };

  std::shared_ptr<Flight> enter_collective(int rank, const Collective& collective);
  std::shared_ptr<Flight> enter_message(int rank, const Collective& collective);
  /// Gives a complete flight its times; the links are free from `free_seconds` on and are so again when it ends.
  void settle(Flight& flight, double& free_seconds);
  void run_rank(int rank, const RankProgram& program);
  void fail(int rank, std::exception_ptr cause, bool because_of_peer, const char* text);
  void wake_all();
  void end_deadlock();

  const LaunchRequest& request_;
  Topology topology_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<SimDevice*> clocks_;
  Scheduler scheduler_;

  std::vector<std::uint64_t> entered_;                         // collectives that each rank has entered
  std::map<std::uint64_t, std::shared_ptr<Flight>> open_;      // collectives that some rank has yet to enter
  double collectives_free_seconds_ = 0;                        // end of the last collective
  std::map<Lane, LaneState> lanes_;

  std::vector<Flight*> blocked_in_;
  std::vector<std::vector<int>> never_came_;  // per rank: whom it waits for in vain; empty: nobody
  std::string failure_;                       // what the others are told; empty while all is well
  std::exception_ptr cause_;                  // first failure that is not the echo of another
  std::exception_ptr echo_;
};

/// Runs `program` on request.ranks simulated ranks. `order` is for tests: times and values do not depend on it.
void launch_simulated(const LaunchRequest& request, const RankProgram& program,
                      ScheduleOrder order = ScheduleOrder::smallest_clock);

}  // namespace strobe::sim
