#include "harness/event_batches/event_memory.hpp"

#include <algorithm>

#include "harness/event_batches/batches/static_memory.hpp"
#include "harness/event_batches/groups/remote_neighbours.hpp"
#include "harness/event_batches/trainer/evaluation_order.hpp"
#include "harness/schedule/file_content.hpp"

namespace strobe {
namespace {

/// Bytes of a clock (MemoryClock) and the tables of a drawer (BatchDrawer), for each vertex. Ranks that draw jointly
/// have neither.
constexpr double bytes_of_vertex = 4 * sizeof(double) + 3 * sizeof(std::uint32_t);

/// A draw: its lists, the features that come with it when ranks draw jointly, and what its drawer keeps while it draws.
struct DrawBytes {
  double lists = 0, features = 0, drawer = 0;
};

/// In the drawer, a last slot has its vertex and time; roots and other slots also have three numbers.
DrawBytes bytes_of_draw(const BatchDraw& drawn, double asked, const EventWidths& widths) {
  constexpr double of_root = sizeof(VertexId) + 4 * sizeof(double), of_last_slot = sizeof(VertexId) + sizeof(double);
  constexpr double of_sampled = sizeof(VertexId) + sizeof(std::uint32_t) + sizeof(std::int64_t);
  const auto bytes = [](const auto& list) { return static_cast<double>(list.size() * sizeof(list[0])); };
  double sum = 0, slots = 0;
  for (const auto* list : {&drawn.counts, &drawn.vertices, &drawn.mail_events, &drawn.root_rows, &drawn.written,
                           &drawn.own_rows, &drawn.other_rows})
    sum += bytes(*list);
  sum += bytes(drawn.mail_dt) + bytes(drawn.root_dt);
  for (const auto& codes : drawn.pair_codes) sum += bytes(codes);
  for (const DrawnLevel& level : drawn.levels) {
    slots += static_cast<double>(level.slots());
    sum += bytes(level.root_rows) + bytes(level.slot_rows) + bytes(level.offsets) + bytes(level.dt) +
           bytes(level.events) + bytes(level.numbers) + bytes(level.slot_roots) + bytes(level.slot_numbers);
  }
  const double last = drawn.levels.empty() ? 0 : static_cast<double>(drawn.levels.front().slots());
  const double of_events = (slots + static_cast<double>(drawn.mail_events.size())) * static_cast<double>(widths.edge),
               of_vertices = static_cast<double>(drawn.vertices.size()) * static_cast<double>(widths.vertex);
  return {sum, sizeof(float) * (of_events + of_vertices),
          of_root * (asked - last) + of_last_slot * last + of_sampled * slots};
}

/// Memory that has taken in all events.
class AllTaken final : public MemoryMoments {
 public:
  explicit AllTaken(EdgeId events) : events_(events) {}
  TakenEvents taken(std::int64_t /*sequence*/) const override { return {0, events_}; }
  EdgeId batch_begin(EdgeId event) const override { return event; }

 private:
  EdgeId events_;
};

/// The draw of the last events, which have the most neighbours, when all vertices with an event have a mail.
DrawBytes bytes_of_last_draw(const EventCase& c, const EventData& data, const BatchRequest& request) {
  BatchDrawer drawer(c, data, true);
  Workers workers(1);
  BatchDraw drawn;
  drawer.draw(request, AllTaken(data.graph->events()), 0, workers, drawn);
  return bytes_of_draw(drawn, static_cast<double>(drawer.asked().size()), data.widths);
}

double bytes_of_training_draws(const GroupPlan& plan) {
  const EventCase& c = *plan.events;
  const std::int64_t count = std::min(c.options.batch, c.training_events());
  const EdgeId first = c.training_events() - count;
  const DrawBytes one = bytes_of_last_draw(c, c.training, {first, count, first, true, 0, 0, true});
  if (!c.grouped()) return 2 * (one.lists + one.drawer);  // EventTrainer draws the next batch
  const bool jointly = plan.part != nullptr;
  const HeldDraws held = held_draws(c.options, plan.order.groups().j, jointly ? joint_draw_steps(c, c.training) : 0);
  // A rank that draws alone has one drawer.
  return static_cast<double>(held.made) * (one.lists + (jointly ? one.features : 0)) +
         static_cast<double>(jointly ? held.under_way : 1) * one.drawer;
}

double bytes_of_evaluation_draw(const EventCase& c, bool jointly) {
  const EvaluationOrder order = whole_evaluation(c);
  if (order.steps() == 0) return 0;
  const EvaluationStep last = order.step(order.steps() - 1);
  if (!last.scores) return 0;
  const DrawBytes one = bytes_of_last_draw(c, c.data, last.requests.front());
  return one.lists + one.drawer + (jointly ? one.features : 0);
}

/// The most candidates of a judged event next to its destination.
std::int64_t other_candidates(const EventCase& c) {
  const std::int64_t others = c.data.task->candidates == nullptr ? 0 : c.data.task->evaluation_candidates;
  return others < 0 ? static_cast<std::int64_t>(c.data.task->candidates->pool().size()) : others;
}

/// Scores of the judged events (ComingOutputs), and what metrics sort of one part of them.
double bytes_of_judging(const GroupPlan& plan, bool keeps_all) {
  constexpr double of_metrics = 64;  // bytes of an event: scores, labels and their order
  const EventCase& c = *plan.events;
  if (c.request.numerics == "none") return 0;
  const std::int64_t columns = 1 + other_candidates(c), most = keeps_all ? 0 : c.task->most_kept();
  const std::int64_t of_event = most == 0 ? 2 + columns : 3 + std::min(columns, most);
  const std::int64_t arriving = most == 0 ? 0 : columns * events_scored_at_once(c, c.data.task->evaluation_candidates);
  double scores = 0, metrics = 0;
  for (const EvaluatedEvents& events : judged_events(c)) {
    const double bytes =
        sizeof(double) * static_cast<double>(events.count() * of_event + std::min(arriving, events.count() * columns));
    scores = plan.evaluation.order == nullptr ? std::max(scores, bytes) : scores + bytes;
    metrics = std::max(metrics, of_metrics * static_cast<double>(events.count()));
  }
  return scores + metrics;
}

/// Memory and mails of all vertices.
double bytes_of_node_memory(const MemoryShape& shape) {
  return shape.values ? 3.0 * static_cast<double>(shape.vertices) * static_cast<double>(shape.row_bytes()) : 0;
}

/// Node memory on the hosts, which daemons keep for all ranks, with what daemons and ranks pass each other.
/// `evaluates`: whether it also has the memory of an evaluation.
double bytes_of_daemons(const GroupPlan& plan, bool evaluates) {
  const std::vector<HelperRequest> daemons = memory_daemons(plan);
  if (daemons.empty()) return 0;
  const std::int64_t copies = plan.order.groups().k + (evaluates ? 1 : 0);
  double sum = bytes_of_node_memory(plan.memory) * static_cast<double>(copies);
  for (const HelperRequest& daemon : daemons) {
    for (const ChannelShape& channel : daemon.channels)
      sum += static_cast<double>(channel.request_bytes + channel.answer_bytes);
  }
  return sum;
}

/// Static memory of a process, as an equal share of each of its ranks: what it keeps, and what its training takes.
struct StaticBytes {
  double kept = 0, training = 0;
};

bool trains_static_by_node(const GroupPlan& plan) { return plan.part != nullptr && plan.part->share().nodes > 1; }

/// `alone`: of a rank that trains all vectors.
StaticBytes static_bytes(const GroupPlan& plan, bool alone = false) {
  const EventCase& c = *plan.events;
  if (c.data.static_memory == nullptr || c.request.numerics == "none") return {};
  const bool by_node = trains_static_by_node(plan) && !alone;
  const std::int64_t sharing = by_node                     ? plan.remote->nodes()
                               : in_one_process(c.request) ? c.request.ranks
                                                           : std::int64_t{1};
  const double values =
      static_cast<double>(c.data.graph->vertices * c.data.static_memory->width()) / static_cast<double>(sharing);
  // Parameters, gradients and two moments of a value, and the vector that stays. A part begins with two lists in fp64.
  const double of_value = sizeof(float) + 4.0 * static_cast<double>(element_bytes(plan.memory.type));
  return {sizeof(float) * values, values * (by_node ? std::max(of_value, 24.0) : of_value)};
}

/// Bytes of each rank while static memory is trained: the walks and node memory that it has before its first epoch.
std::vector<double> start_bytes(const GroupPlan& plan, double training) {
  const EventCase& c = *plan.events;
  const auto ranks = static_cast<double>(c.request.ranks);
  const double walk = bytes_of_vertex * static_cast<double>(c.data.graph->vertices) + bytes_of_node_memory(plan.memory);
  std::vector<double> bytes(static_cast<std::size_t>(c.request.ranks),
                            training + bytes_of_daemons(plan, false) / ranks + (c.grouped() ? 0 : walk));
  if (plan.evaluation.order == nullptr) bytes.front() += walk;  // its evaluations
  return bytes;
}

/// The views of the last evaluation that go into files (EventViews), without ranks of destinations. A trainer hands
/// them over, so they exist once.
double bytes_of_views(const EventCase& c, const std::set<std::string>& files) {
  const EventModelTraits traits = c.model->traits();
  const double vertices = static_cast<double>(c.data.graph->vertices);
  double values = 0, embeddings = 0;
  if (files.count("embeddings") != 0)
    embeddings = content_bytes(c.node.get(), static_cast<std::size_t>(3 * c.data.graph->events() * traits.embedding));
  if (files.count("memory") != 0 && traits.memory > 0)
    values += vertices * (3 + 3 * static_cast<double>(traits.memory));
  for (const EvaluatedEvents& judged : judged_events(c)) {
    if (files.count("scores") != 0) values += static_cast<double>(judged.count() * (2 + other_candidates(c)));
  }
  return embeddings + sizeof(double) * values;
}

}  // namespace

EventMemory memory_of_events(const GroupPlan& plan, const std::set<std::string>& files) {
  const EventCase& c = *plan.events;
  const auto ranks = static_cast<std::size_t>(c.request.ranks);
  const double walk = bytes_of_vertex * static_cast<double>(c.data.graph->vertices);
  const double training = (plan.part == nullptr ? walk : 0) + bytes_of_training_draws(plan);
  const double evaluated =
      (plan.evaluation.part == nullptr ? walk : 0) + bytes_of_evaluation_draw(c, plan.evaluation.part != nullptr);
  const double daemons = bytes_of_daemons(plan, plan.evaluation.order != nullptr);
  EventMemory memory{std::vector<double>(ranks, training + daemons / static_cast<double>(ranks)),
                     std::vector<double>(ranks, 0.0)};
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (rank == 0 || plan.evaluation.order != nullptr) memory.bytes[rank] += evaluated;
  }
  if (const StaticBytes of_static = static_bytes(plan); of_static.training > 0) {
    memory.start = start_bytes(plan, of_static.training);
    for (double& bytes : memory.bytes) bytes += of_static.kept;
  }
  const double views = c.request.numerics == "none" ? 0 : bytes_of_views(c, files);
  if (plan.evaluation.part != nullptr && (files.count("embeddings") != 0 || files.count("memory") != 0))
    memory.bytes.front() += walk + bytes_of_node_memory(plan.memory) +
                            (trains_static_by_node(plan) ? static_bytes(plan, true).training : 0);  // rank 0 alone
  memory.bytes.front() += views + bytes_of_judging(plan, files.count("scores") != 0);
  return memory;
}

}  // namespace strobe
