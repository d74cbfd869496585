#include "harness/event_batches/trainer/batch_pass.hpp"

#include "backends/host/host_work.hpp"
#include "core/system/process_memory.hpp"
#include "harness/event_batches/trainer/feature_pages.hpp"
#include "models/ops/ops.hpp"

namespace strobe {
namespace {

std::int64_t roots_of(const BatchRequest& request, const EventTaskData& task) {
  if (!request.scores) return 2 * request.count;
  const std::int64_t all = task.candidates == nullptr ? 0 : static_cast<std::int64_t>(task.candidates->pool().size());
  const std::int64_t others = request.group >= 0       ? task.training_negatives
                              : request.candidates < 0 ? all
                                                       : request.candidates;
  return request.count * (2 + others);
}

}  // namespace

Work drawing_work(const EventCase& c, const EventData& data, const BatchRequest& request) {
  const EventModelTraits traits = c.model->traits();
  double asked = static_cast<double>(roots_of(request, *data.task)), slots = 0;
  for (int level = 0; level < traits.levels; ++level) {
    const double more = asked * static_cast<double>(traits.neighbours);
    slots += more, asked += more;
  }
  const std::int64_t paired = request.scores ? data.task->pair_history : 0;
  if (paired > 0) slots += static_cast<double>(paired) * static_cast<double>(roots_of(request, *data.task));
  const double entries = data.neighbours->entries.size();
  const double read = slots * sizeof(TimedNeighbour);
  return {20.0 * asked, read + 8.0 * asked, 40.0 * slots,
          Gather{read, read, entries * sizeof(TimedNeighbour),
                 static_cast<double>(traits.neighbours) * sizeof(TimedNeighbour)}};
}

PassOutput compute_batch(const EventCase& c, Tape& tape, const Parameters& parameters, const BatchDraw& drawn,
                         BatchInput& input, const MemoryRows& rows, const Pass& pass) {
  spare_heap();
  PassOutput output;
  if (rows.memory.defined()) {
    const std::int64_t with_mail = drawn.mails, all = rows.memory.rows();
    Var updated = Tape::constant(rows.memory);
    if (with_mail > 0) {
      const Var changed = c.model->update(
          tape, parameters, {rows.memory.slice_rows(0, with_mail), rows.mail, input.mail_dt, input.mail_edge});
      updated = with_mail == all
                    ? changed
                    : concat_rows(tape, {changed, Tape::constant(rows.memory.slice_rows(with_mail, all - with_mail))});
    }
    output.updated = updated->value;
    input.embed.memory = updated;
  }
  if (!drawn.request.scores) return output;
  input.embed.pass = pass;
  output.embeddings = c.model->embed(tape, parameters, input.embed);
  const std::int64_t events = drawn.request.count;
  output.outputs =
      c.task->head(tape, parameters, slice_rows(tape, output.embeddings, 0, events),
                   slice_rows(tape, output.embeddings, events, events * drawn.candidates), input.pair_codes);
  return output;
}

EventWalk::EventWalk(const EventCase& c, const EventData& data, Device& device)
    : case_(c), data_(data), device_(device), state_(std::make_shared<DrawState>(c, data)), loader_(data, device) {
  const std::int64_t width = c.model->traits().memory;
  if (width > 0) memory_ = make_node_memory(device, data.graph->vertices, width, c.options.memory_on == "host");
  reset();
}

void EventWalk::reset() {
  state_->clock.reset();
  if (memory_ != nullptr) memory_->reset();
}

PendingDraw EventWalk::start_draw(const BatchRequest& request) {
  PendingDraw pending{std::make_shared<BatchDraw>(), {}};
  HostWork work;
  work.name = "draw_batch";
  work.work = drawing_work(case_, data_, request);
  work.body = [state = state_, drawn = pending.drawn, request, &data = data_](Workers& workers) {
    state->drawer.draw(request, state->clock, workers, *drawn);
    read_features_ahead(data, *drawn);
  };
  pending.ready = device_.run_on_host(std::move(work));
  return pending;
}

PassOutput EventWalk::pass(Tape& tape, const Parameters& parameters, const PendingDraw& draw, const Pass& pass,
                           const std::function<void()>& loaded) {
  device_.await(draw.ready);
  drawn_ = draw.drawn;
  BatchInput input = loader_.load(drawn_);
  input.await_on(device_);
  lists_ = input.lists;
  MemoryRows rows;
  if (memory_ != nullptr) rows = memory_->read(drawn_, lists_);
  if (loaded) loaded();
  return compute_batch(case_, tape, parameters, *drawn_, input, rows, pass);
}

void EventWalk::write(const PassOutput& output) {
  if (memory_ != nullptr) memory_->write(drawn_, lists_, output.updated);
}

}  // namespace strobe
