// World: the ranks of one simulated job. Matches their collectives, moves values, and gives each collective its time.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/communicator.hpp"
#include "backends/sim/circle.hpp"
#include "backends/sim/scheduler.hpp"
#include "backends/sim/sim_device.hpp"
#include "backends/sim/sim_helpers.hpp"

namespace strobe::sim {

/// Whether the ranks are threads that compute in one memory, as those of communicator `local` are.
bool shares_memory(const Cluster* cluster);

class World : private VirtualWaits {
 public:
  /// Throws InvalidRequest when the devices are not `sim` devices, or when the ranks or a helper's trainers do not fit
  /// the cluster.
  World(const LaunchRequest& request, ScheduleOrder order);

  /// Runs `program` on every rank, together with the helpers; rethrows the first cause when ranks failed.
  void run(const RankProgram& program);

  /// All ranks.
  Circle& whole() { return whole_; }
  /// Publishes the call of the circle's rank `member` in a collective; does not block.
  std::shared_ptr<Flight> enter(Circle& circle, int member, const Collective& collective);
  /// Blocks the rank until the flight is done and advances its clock to the end.
  Completion await(int rank, Flight& flight, const Collective& collective);

 private:
  std::shared_ptr<Flight> enter_collective(Circle& circle, int member, const Collective& collective);
  std::shared_ptr<Flight> enter_message(Circle& circle, int member, const Collective& collective);
  /// Settles the flight, and the later ones in the lines of its members, as far as possible.
  void settle_collectives(std::shared_ptr<Flight> flight);
  /// The time at which a message that `rank` sends (side 0) or receives (side 1) now is issued: after its earlier
  /// messages on that side. It goes from member `from` to member `to` of a circle with these links.
  Instant issue(std::size_t rank, std::size_t side, int from, int to, const std::vector<Topology>& topologies);
  /// Gives a complete flight its times; its links (by lane) are free from `free` on. Returns when it ends.
  const Instant& settle(Flight& flight, const std::vector<Topology>& topologies, const Instant& free);
  /// Seconds that a framework's program adds to a flight that moves `load`.
  double software_seconds(const Cluster& cluster, const Flight& flight, const CollectiveLoad& load) const;
  /// The ranks that must still arrive before the flight can be done.
  std::vector<int> missing_for(const Flight& flight) const;
  void run_rank(int rank, const RankProgram& program);
  void run_helper(std::size_t helper);
  /// Runs an actor's `body`; an exception that it throws counts as the failure of `who`.
  void run_actor(const std::string& who, const std::function<void()>& body);
  void fail(const std::string& who, std::exception_ptr cause, bool because_of_peer, const char* text);
  void await(int actor, SimEvent& event, std::string_view what) override;
  void catch_up(int actor, double seconds) override { scheduler_.catch_up(actor, seconds); }
  /// Throws the reason to end an actor's wait: a stop signal, or another actor's failure.
  void refuse_to_wait(int actor, const std::string& what) const;
  double clock_of(int actor) const;
  std::string name_of(int actor) const;
  int actors() const { return request_.ranks + static_cast<int>(request_.helpers.size()); }
  std::vector<int> missing_for(int actor) const;
  void wake_all();
  void end_deadlock();

  /// The flight is done: its rank goes on at its end.
  Completion complete(std::size_t rank, const Flight& flight, bool holds_host);

  const LaunchRequest& request_;
  Lanes clusters_;
  Circle whole_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<SimDevice*> clocks_;
  std::vector<std::unique_ptr<SimPost>> posts_;  // the helpers' posts; their actors follow the ranks
  Scheduler scheduler_;

  /// Collectives that each rank has entered and that have not ended, in order, and the end of the one before.
  struct Line {
    std::vector<std::shared_ptr<Flight>> flights;
    Instant free;
    Instant issue[2];  // time until which earlier messages block it from sending, and from receiving
  };
  std::vector<Line> lines_;

  /// The flight or post that blocks an actor.
  struct Blocked {
    Flight* flight = nullptr;
    SimEvent* event = nullptr;
  };
  std::vector<Blocked> blocked_in_;
  std::vector<bool> in_vain_;                 // per actor: nothing will end its wait
  std::vector<std::vector<int>> never_came_;  // per actor: the ranks that it waits for in vain; empty: no particular
                                              // ones
  bool crossed_ = false;                      // ranks wait for each other in collectives that all have entered
  std::string failure_;                       // the message for the other ranks; empty while all is well
  std::exception_ptr cause_;                  // first failure that is not a consequence of another
  std::exception_ptr echo_;
};

/// Runs `program` on request.ranks simulated ranks. `order` is for tests: times and values do not depend on it.
void launch_simulated(const LaunchRequest& request, const RankProgram& program,
                      ScheduleOrder order = ScheduleOrder::smallest_clock);

}  // namespace strobe::sim
