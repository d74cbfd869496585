// The simulated job. A collective begins when its last member has arrived and the collective before it has ended, and
// lasts by its cost model; it occupies the communicate stream of all ranks meanwhile. A message begins when both sides
// have arrived; messages of one lane (sender, receiver, tag) follow each other, different lanes ride beside each other
// and beside collectives. Invariants: times depend on what the ranks do, not on the order in which they are scheduled;
// nobody waits for ever, because a rank that no one can free is told so. Cost: O(ranks + entries with rows) per
// collective, O(log ranks) per blocking wait.
#include "backends/sim/world.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/host/helpers.hpp"
#include "core/interrupt.hpp"

namespace strobe::sim {
namespace {

/// Whether the ranks are threads that compute in one memory, as those of communicator `local` are.
bool shares_memory(const Cluster* cluster) {
  return cluster != nullptr && cluster->shared_host_memory && cluster->nodes == 1;
}

class SimCommunicator final : public Communicator {
 public:
  SimCommunicator(Device& device, int rank, const LaunchRequest& request, World& world)
      : Communicator(device, rank, request.ranks, request.timeout_seconds),
        world_(world),
        moves_pieces_(shares_memory(request.device.cluster.get())) {}

  bool moves_pieces() const override { return moves_pieces_; }
  bool lists_peers() const override { return true; }

 private:
  std::shared_ptr<void> do_start(const Collective& collective) override { return world_.enter(rank(), collective); }
  Completion do_wait(const Collective& collective, const std::shared_ptr<void>& state) override {
    return world_.await(rank(), *static_cast<Flight*>(state.get()), collective);
  }

  World& world_;
  bool moves_pieces_;
};

Topology topology_of(const LaunchRequest& request) {
  if (request.device.cluster == nullptr) {
    throw InvalidRequest("--cluster", "communicator sim needs a cluster, which device sim takes");
  }
  return make_topology(*request.device.cluster, request.ranks);
}

}  // namespace

World::World(const LaunchRequest& request, ScheduleOrder order)
    : request_(request),
      topology_(topology_of(request)),
      scheduler_(
          actors(), order, [this](int actor) { return clock_of(actor); }, [this] { end_deadlock(); }),
      entered_(static_cast<std::size_t>(request.ranks), 0),
      blocked_in_(static_cast<std::size_t>(actors())),
      in_vain_(static_cast<std::size_t>(actors()), false),
      never_came_(static_cast<std::size_t>(actors())) {
  check_helpers(request.helpers, request.ranks);
  for (int rank = 0; rank < request.ranks; ++rank) {
    DeviceRequest wanted = request.device;
    wanted.rank = rank;
    wanted.ranks = request.ranks;
    devices_.push_back(request.make_device(wanted));
    clocks_.push_back(dynamic_cast<SimDevice*>(devices_.back().get()));
    if (clocks_.back() == nullptr) {
      throw InvalidRequest("--comm", "communicator sim joins devices of virtual time; use --device sim with it");
    }
    clocks_.back()->attach(*this, rank);
  }
  VirtualWaits& waits = *this;
  for (const HelperRequest& helper : request.helpers) {
    const int actor = request.ranks + static_cast<int>(posts_.size());
    posts_.push_back(std::make_unique<SimPost>(helper, actor, request.ranks, *request.device.cluster, waits));
  }
}

void World::run(const RankProgram& program) {
  scheduler_.run([this, &program](int actor) {
    if (actor < request_.ranks) return run_rank(actor, program);
    run_helper(static_cast<std::size_t>(actor - request_.ranks));
  });
  if (cause_ != nullptr) std::rethrow_exception(cause_);
  if (echo_ != nullptr) std::rethrow_exception(echo_);
}

void World::run_actor(const std::string& who, const std::function<void()>& body) {
  try {
    body();
  } catch (const PeerFailed& failure) {
    fail(who, std::current_exception(), true, failure.what());
  } catch (const std::exception& failure) {
    fail(who, std::current_exception(), false, failure.what());
  } catch (...) {
    fail(who, std::current_exception(), false, "an exception of unknown type");
  }
}

void World::run_rank(int rank, const RankProgram& program) {
  run_actor(name_of(rank), [&] {
    Device& device = *devices_[static_cast<std::size_t>(rank)];
    SimCommunicator communicator(device, rank, request_, *this);
    communicator.take_lanes(simulated_lanes(posts_, rank, device));
    program(device, communicator);
  });
  for (const std::unique_ptr<SimPost>& post : posts_) {
    for (std::size_t i = 0; i < post->lanes().size(); ++i) {
      if (post->lanes()[i].trainer == rank) post->state(i)->close();
    }
  }
}

void World::run_helper(std::size_t helper) {
  const HelperRequest& request = request_.helpers[helper];
  run_actor("helper " + request.name, [&] { run_helper_program(request, *posts_[helper]); });
  posts_[helper]->end();
}

double World::clock_of(int actor) const {
  if (actor < request_.ranks) return clocks_[static_cast<std::size_t>(actor)]->program_seconds();
  return posts_[static_cast<std::size_t>(actor - request_.ranks)]->seconds();
}

std::string World::name_of(int actor) const {
  if (actor < request_.ranks) return fmt::format("rank {}", actor);
  return "helper " + request_.helpers[static_cast<std::size_t>(actor - request_.ranks)].name;
}

void World::fail(const std::string& who, std::exception_ptr cause, bool because_of_peer, const char* text) {
  std::exception_ptr& first = because_of_peer ? echo_ : cause_;
  if (first == nullptr) first = std::move(cause);
  const std::string words = who + " failed";
  const bool said = std::string_view(text).substr(0, words.size()) == words;
  if (failure_.empty()) failure_ = said ? text : fmt::format("{}: {}", words, text);
  wake_all();
}

void World::wake_all() {
  for (int actor = 0; actor < actors(); ++actor) scheduler_.wake(actor);
}

std::shared_ptr<Flight> World::enter(int rank, const Collective& collective) {
  const bool message = collective.kind == CollectiveKind::send || collective.kind == CollectiveKind::receive;
  return message ? enter_message(rank, collective) : enter_collective(rank, collective);
}

std::shared_ptr<Flight> World::enter_collective(int rank, const Collective& collective) {
  const std::uint64_t number = entered_[static_cast<std::size_t>(rank)]++;
  std::shared_ptr<Flight>& place = open_[number];
  if (place == nullptr) {
    place = std::make_shared<Flight>();
    place->calls.resize(static_cast<std::size_t>(request_.ranks));
  }
  const std::shared_ptr<Flight> flight = place;
  flight->calls[static_cast<std::size_t>(rank)] =
      make_call(collective, clocks_[static_cast<std::size_t>(rank)]->arrival_seconds());
  ++flight->arrived;
  if (flight->complete()) {
    open_.erase(number);
    settle(*flight, collectives_free_seconds_);
  }
  return flight;
}

std::shared_ptr<Flight> World::enter_message(int rank, const Collective& collective) {
  const bool sends = collective.kind == CollectiveKind::send;
  const int from = sends ? rank : collective.peer, to = sends ? collective.peer : rank;
  const std::size_t member = sends ? 0 : 1;
  LaneState& lane = lanes_[{from, to, collective.tag}];
  auto place = std::find_if(lane.open.begin(), lane.open.end(),
                            [member](const auto& flight) { return !flight->calls[member].arrived; });
  if (place == lane.open.end()) {
    auto opened = std::make_shared<Flight>();
    opened->calls.resize(2);
    opened->ranks = {from, to};
    place = lane.open.insert(lane.open.end(), std::move(opened));
  }
  const std::shared_ptr<Flight> flight = *place;
  flight->calls[member] = make_call(collective, clocks_[static_cast<std::size_t>(rank)]->arrival_seconds());
  ++flight->arrived;
  if (flight->complete()) {
    lane.open.erase(place);
    settle(*flight, lane.free_seconds);
  }
  return flight;
}

void World::settle(Flight& flight, double& free_seconds) {
  flight.mismatch = find_disagreement(flight);
  flight.ready_seconds = std::max(flight.last_arrival_seconds(), free_seconds);
  flight.end_seconds = flight.ready_seconds;
  if (flight.mismatch.empty()) {
    move_values(flight);
    flight.end_seconds += collective_seconds(load_of(flight, topology_), topology_);
  }
  free_seconds = flight.end_seconds;
  flight.done = true;
  flight.calls.clear();
  for (const int rank : flight.waiting) scheduler_.wake(rank);
}

void World::refuse_to_wait(int actor, const std::string& what) const {
  if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
  if (in_vain_[static_cast<std::size_t>(actor)]) return;
  if (!failure_.empty()) throw PeerFailed(fmt::format("{} gives up {}: {}", name_of(actor), what, failure_));
}

void World::await(int actor, SimEvent& event, std::string_view what) {
  const auto self = static_cast<std::size_t>(actor);
  event.then([this, actor] { scheduler_.wake(actor); });
  while (!event.settled()) {
    const std::string words = event.what().empty() ? std::string(what) : event.what();
    refuse_to_wait(actor, words);
    if (in_vain_[self]) {
      in_vain_[self] = false;
      std::vector<int> missing;
      for (const int other : std::exchange(never_came_[self], {})) {
        if (other < request_.ranks) missing.push_back(other);
      }
      throw HelperTimeout(fmt::format("{} waits for {}, which never comes", name_of(actor), words), actor,
                          request_.timeout_seconds, std::move(missing));
    }
    blocked_in_[self] = {nullptr, &event};
    scheduler_.block(actor);
    blocked_in_[self] = {};
  }
}

Completion World::await(int rank, Flight& flight, const Collective& collective) {
  const auto self = static_cast<std::size_t>(rank);
  const std::string name(collective_names[static_cast<int>(collective.kind)]);
  while (!flight.done) {
    refuse_to_wait(rank, name);
    if (in_vain_[self]) {
      in_vain_[self] = false;
      throw CollectiveTimeout(name, rank, request_.timeout_seconds, std::exchange(never_came_[self], {}));
    }
    flight.waiting.push_back(rank);
    blocked_in_[self] = {&flight, nullptr};
    scheduler_.block(rank);
    blocked_in_[self] = {};
  }
  if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
  in_vain_[self] = false;
  never_came_[self].clear();
  if (!flight.mismatch.empty()) throw Error("ranks disagree: " + flight.mismatch);
  const double seconds = flight.end_seconds - flight.ready_seconds;
  // Threads of one memory move bytes with their own hands, when they come to wait for them.
  const double begin = shares_memory(request_.device.cluster.get())
                           ? std::max(flight.ready_seconds, clocks_[self]->now())
                           : flight.ready_seconds;
  clocks_[self]->complete_communication(begin, begin + seconds);
  return {begin, begin + seconds};
}

std::vector<int> World::missing_for(int actor) const {
  const Blocked& blocked = blocked_in_[static_cast<std::size_t>(actor)];
  if (blocked.flight != nullptr) return blocked.flight->missing_ranks();
  if (blocked.event == nullptr || blocked.event->expected_of() < 0) return {};
  return {blocked.event->expected_of()};
}

void World::end_deadlock() {
  bool someone_ended = false;  // a missing actor that has ended is the cause; without one, actors wait in a circle
  std::vector<int> blocked;
  for (int actor = 0; actor < actors(); ++actor) {
    if (scheduler_.blocked(actor)) blocked.push_back(actor);
  }
  const auto ended = [this](int actor) { return scheduler_.finished(actor); };
  for (const int actor : blocked) {
    const std::vector<int> missing = missing_for(actor);
    someone_ended = someone_ended || std::any_of(missing.begin(), missing.end(), ended);
  }
  bool someone_waits_in_vain = false;
  for (const int actor : blocked) {
    std::vector<int> missing = missing_for(actor);
    const bool root = someone_ended ? std::any_of(missing.begin(), missing.end(), ended) : !missing.empty();
    if (!root) continue;
    someone_waits_in_vain = in_vain_[static_cast<std::size_t>(actor)] = true;
    never_came_[static_cast<std::size_t>(actor)] = std::move(missing);
  }
  for (const int actor : blocked) {
    if (!someone_waits_in_vain) in_vain_[static_cast<std::size_t>(actor)] = true;
  }
  if (failure_.empty()) failure_ = "another rank waits for ranks that never come";
  wake_all();
}

void launch_simulated(const LaunchRequest& request, const RankProgram& program, ScheduleOrder order) {
  if (request.ranks < 1) throw InvalidRequest("--ranks", fmt::format("{} ranks; at least 1 is needed", request.ranks));
  World(request, order).run(program);
}

namespace {

const Register<CommunicatorTag> registered{{
    "sim",
    "ranks are fibres in the virtual time of a cluster; collectives last by their cost models",
    "Hockney, Parallel Computing 20(3), 1994; Thakur, Rabenseifner and Gropp, IJHPCA 2005",
    {},
    {[](const LaunchRequest& request, const RankProgram& program) { launch_simulated(request, program); },
     [] { return 0; }, [] { return 0; }, shares_memory},
    {},
}};

}  // namespace
}  // namespace strobe::sim
