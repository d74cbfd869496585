// The simulated job. A collective begins when its last member has arrived and the collectives that its members entered
// before it have ended, and lasts by its cost model; it occupies the communicate stream of its members meanwhile, so
// collectives of disjoint groups run in parallel. A message begins when both sides have arrived; messages of one
// channel (sender, receiver, tag) follow each other. Different channels run in parallel with each other and with
// collectives. A rank issues its messages one after the other, in all channels together. Invariants: times depend on
// what the ranks do, not on the order in which they are scheduled; nobody waits for ever, because a rank that no one
// can free gets an error. Cost: O(members + entries with rows) per collective, O(log ranks) per blocking wait.
#include "backends/sim/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/host/helpers.hpp"
#include "core/system/interrupt.hpp"

namespace strobe::sim {
namespace {

class SimCommunicator final : public Communicator {
 public:
  SimCommunicator(Device& device, int rank, const LaunchRequest& request, World& world)
      : Communicator(device, rank, request.ranks, request.timeout_seconds),
        world_(world),
        circle_(world.whole()),
        moves_pieces_(shares_memory(request.device.cluster.get())) {}
  SimCommunicator(SimCommunicator& parent, Circle& circle, int rank)
      : Communicator(parent.device(), rank, circle.ranks, parent.timeout_seconds()),
        world_(parent.world_),
        circle_(circle),
        moves_pieces_(parent.moves_pieces_) {}

  bool moves_pieces() const override { return moves_pieces_; }
  bool lists_peers() const override { return true; }

 private:
  std::unique_ptr<Communicator> do_split(const RankGroups& groups, const OwnGroup& own) override {
    if (own.rank < 0) return nullptr;
    return std::make_unique<SimCommunicator>(*this, circle_.group(own.split, own.index, groups), own.rank);
  }
  std::shared_ptr<void> do_start(const Collective& collective) override {
    return world_.enter(circle_, rank(), collective);
  }
  Completion do_wait(const Collective& collective, const std::shared_ptr<void>& state) override {
    return world_.await(world_rank(rank()), *static_cast<Flight*>(state.get()), collective);
  }

  World& world_;
  Circle& circle_;
  bool moves_pieces_;
};

std::vector<Topology> topologies_of(const LaunchRequest& request) {
  if (request.device.cluster == nullptr) {
    throw InvalidRequest("--cluster", "communicator sim needs a cluster, which device sim takes");
  }
  std::vector<Topology> topologies;
  for (const auto& cluster : lanes_of(request.device)) topologies.push_back(make_topology(*cluster, request.ranks));
  return topologies;
}

}  // namespace

World::World(const LaunchRequest& request, ScheduleOrder order)
    : request_(request),
      clusters_(lanes_of(request.device)),
      whole_(topologies_of(request), nullptr),
      scheduler_(
          actors(), order, [this](int actor) { return clock_of(actor); }, [this] { end_deadlock(); }),
      lines_(static_cast<std::size_t>(request.ranks)),
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
      throw InvalidRequest("--comm", "communicator sim needs --device sim, because it joins devices of virtual time");
    }
    clocks_.back()->attach(*this, rank);
  }
  VirtualWaits& waits = *this;
  for (const HelperRequest& helper : request.helpers) {
    const int actor = request.ranks + static_cast<int>(posts_.size());
    posts_.push_back(std::make_unique<SimPost>(helper, actor, request.ranks, clusters_, waits));
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
    Device& device = *devices_[rank];
    SimCommunicator communicator(device, rank, request_, *this);
    communicator.take_channels(simulated_channels(posts_, rank, *clocks_[rank]));
    program(device, communicator);
  });
  for (const std::unique_ptr<SimPost>& post : posts_) {
    for (std::size_t i = 0; i < post->channels().size(); ++i) {
      if (post->channels()[i].trainer == rank) post->state(i)->close();
    }
  }
}

void World::run_helper(std::size_t helper) {
  const HelperRequest& request = request_.helpers[helper];
  bool failed = true;
  run_actor("helper " + request.name, [&] {
    run_helper_program(request, *posts_[helper]);
    failed = false;
  });
  posts_[helper]->end(failed);
}

double World::clock_of(int actor) const {
  if (actor < request_.ranks) return clocks_[actor]->program_seconds();
  return posts_[actor - request_.ranks]->seconds();
}

std::string World::name_of(int actor) const {
  if (actor < request_.ranks) return fmt::format("rank {}", actor);
  return "helper " + request_.helpers[actor - request_.ranks].name;
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

std::shared_ptr<Flight> World::enter(Circle& circle, int member, const Collective& collective) {
  const bool message = collective.kind == CollectiveKind::send || collective.kind == CollectiveKind::receive;
  return message ? enter_message(circle, member, collective) : enter_collective(circle, member, collective);
}

std::shared_ptr<Flight> World::enter_collective(Circle& circle, int member, const Collective& collective) {
  const auto place = static_cast<std::size_t>(member),
             rank = static_cast<std::size_t>(world_rank(circle.ranks, member));
  const std::uint64_t number = circle.entered[place]++;
  std::shared_ptr<Flight>& opened = circle.open[number];
  if (opened == nullptr) {
    opened = std::make_shared<Flight>();
    opened->calls.resize(circle.entered.size());
    opened->members = circle.ranks;
    opened->topologies = &circle.topologies;
  }
  const std::shared_ptr<Flight> flight = opened;
  flight->calls[place] = make_call(collective, clocks_[rank]->arrival());
  ++flight->arrived;
  if (lines_[rank].flights.empty()) ++flight->next;
  lines_[rank].flights.push_back(flight);
  if (flight->complete()) {
    circle.open.erase(number);
    settle_collectives(flight);
  }
  return flight;
}

std::shared_ptr<Flight> World::enter_message(Circle& circle, int member, const Collective& collective) {
  const bool sends = collective.kind == CollectiveKind::send;
  const int from = sends ? member : collective.peer, to = sends ? collective.peer : member;
  const std::size_t side = sends ? 0 : 1;
  Circle::ChannelState& channel = circle.channels[{from, to, collective.tag}];
  auto place = std::find_if(channel.open.begin(), channel.open.end(),
                            [side](const auto& flight) { return !flight->calls[side].arrived; });
  if (place == channel.open.end()) {
    auto opened = std::make_shared<Flight>();
    opened->calls.resize(2);
    opened->ranks = {from, to};
    opened->members = circle.ranks;
    place = channel.open.insert(channel.open.end(), std::move(opened));
  }
  const std::shared_ptr<Flight> flight = *place;
  const std::size_t rank = world_rank(circle.ranks, member);
  flight->calls[side] = make_call(collective, issue(rank, side, from, to, circle.topologies));
  ++flight->arrived;
  if (flight->complete()) {
    channel.open.erase(place);
    channel.free = settle(*flight, circle.topologies, channel.free);
  }
  return flight;
}

void World::settle_collectives(std::shared_ptr<Flight> flight) {
  std::vector<std::shared_ptr<Flight>> can_go = {std::move(flight)};
  while (!can_go.empty()) {
    const std::shared_ptr<Flight> going = std::move(can_go.back());
    can_go.pop_back();
    const auto members = static_cast<int>(going->calls.size());
    if (!going->complete() || going->next < members) continue;
    Instant free;
    const auto line_of = [&](int member) -> Line& { return lines_[going->rank_of(member)]; };
    for (int member = 0; member < members; ++member) free.raise(line_of(member).free);
    const Instant& end = settle(*going, *going->topologies, free);
    for (int member = 0; member < members; ++member) {
      Line& line = line_of(member);
      line.free = end;
      line.flights.erase(line.flights.begin());
      if (line.flights.empty()) continue;
      Flight& behind = *line.flights.front();
      if (++behind.next == static_cast<int>(behind.calls.size())) can_go.push_back(line.flights.front());
    }
  }
}

void World::refuse_to_wait(int actor, const std::string& what) const {
  if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
  if (in_vain_[actor]) return;
  if (crossed_) throw Error("ranks started collectives of several communicators in different orders");
  if (!failure_.empty()) throw PeerFailed(fmt::format("{} gives up {}: {}", name_of(actor), what, failure_));
}

void World::await(int actor, SimEvent& event, std::string_view what) {
  const std::size_t self = actor;
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
  const std::size_t self = rank;
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
  return complete(self, flight, collective.kind == CollectiveKind::barrier);
}

std::vector<int> World::missing_for(const Flight& flight) const {
  // A flight that all members have entered waits for those before it in their lines.
  std::vector<const Flight*> awaited = {&flight};
  std::set<int> missing;
  for (std::size_t f = 0; f < awaited.size(); ++f) {
    const std::vector<int> absent = awaited[f]->missing_ranks();
    missing.insert(absent.begin(), absent.end());
    if (!awaited[f]->complete()) continue;
    for (int member = 0; member < static_cast<int>(awaited[f]->calls.size()); ++member) {
      const Line& line = lines_[awaited[f]->rank_of(member)];
      const Flight* const first = line.flights.front().get();
      if (std::find(awaited.begin(), awaited.end(), first) == awaited.end()) awaited.push_back(first);
    }
  }
  return {missing.begin(), missing.end()};
}

std::vector<int> World::missing_for(int actor) const {
  const Blocked& blocked = blocked_in_[actor];
  if (blocked.flight != nullptr) return missing_for(*blocked.flight);
  if (blocked.event == nullptr || blocked.event->expected_of() < 0) return {};
  return {blocked.event->expected_of()};
}

void World::end_deadlock() {
  bool someone_ended = false;  // a missing actor that has ended is the cause; without one, actors wait in a circle
  crossed_ = true;
  std::vector<int> blocked;
  for (int actor = 0; actor < actors(); ++actor) {
    if (scheduler_.blocked(actor)) blocked.push_back(actor);
  }
  const auto ended = [this](int actor) { return scheduler_.finished(actor); };
  for (const int actor : blocked) {
    const std::vector<int> missing = missing_for(actor);
    crossed_ = crossed_ && missing.empty() && blocked_in_[actor].flight != nullptr;
    someone_ended = someone_ended || std::any_of(missing.begin(), missing.end(), ended);
  }
  bool someone_waits_in_vain = false;
  for (const int actor : blocked) {
    std::vector<int> missing = missing_for(actor);
    const bool root = someone_ended ? std::any_of(missing.begin(), missing.end(), ended) : !missing.empty();
    if (!root) continue;
    someone_waits_in_vain = in_vain_[actor] = true;
    never_came_[actor] = std::move(missing);
  }
  for (const int actor : blocked) {
    if (!someone_waits_in_vain && !crossed_) in_vain_[actor] = true;
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
    "ranks are fibres in the virtual time of a cluster; cost models say how long collectives take",
    "Hockney, Parallel Computing 20(3), 1994; Thakur, Rabenseifner and Gropp, IJHPCA 2005",
    {},
    {[](const LaunchRequest& request, const RankProgram& program) { launch_simulated(request, program); },
     [] { return 0; }, [] { return 0; }, shares_memory},
    {},
}};

}  // namespace
}  // namespace strobe::sim
