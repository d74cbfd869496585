// The strategy `external`: a training program of one's own, measured in the same rounds as Strobe's cases. Workload,
// model and task of its case say what the program trains. Strobe does not check them.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "harness/external/external_run.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/request/schedule_tag.hpp"
#include "harness/schedule/schedule.hpp"
#include "results/row/facts.hpp"

namespace strobe {
namespace {

const FieldTable& external_fields() {
  static const FieldTable table =
      make_fields<ExternalParameters>()
          .text("command", &ExternalParameters::command,
                "the program, as a line for /bin/sh; {ranks}, {epochs} (with warm-up) and {seed} are replaced")
          .text("program", &ExternalParameters::program, "name of the program in tables; empty = external")
          .text("version", &ExternalParameters::version, "version of the program, for the row")
          .choice("network", &ExternalParameters::network, {"shared", "own"},
                  "whose bytes are counted: shared = all interfaces of the machine, other programs included; own = a "
                  "network namespace of the program, with a loopback interface alone")
          .real("patience", &ExternalParameters::patience, "s", "time without an epoch after which it is ended", 0.1,
                1e7);
  return table;
}

class ExternalPlan final : public SchedulePlan {
 public:
  explicit ExternalPlan(const Case& c)
      : case_(c), parameters_(from_json<ExternalParameters>(external_fields(), c.strategy, "/strategy")) {
    summary_.items = {0, "events_per_second", 0, 0};
    summary_.approximations = {"another program computes, and Strobe does not check its values"};
  }

  const PlanSummary& summary() const override { return summary_; }
  ByteBudget budget(std::int64_t) const override {
    ByteBudget budget;
    for (Promise& promise : budget.promise) promise = Promise::as_measured;
    return budget;
  }
  Json describe() const override { return {{"schedule", {{"kind", "external"}, {"command", parameters_.command}}}}; }
  std::string digest() const override { return sha256_hex(case_to_json(case_).dump()); }
  bool is_outside() const override { return true; }
  void train_outside(const OutsideRequest& request, CaseResult& result) const override {
    run_external(case_, parameters_, request, result);
  }
  std::unique_ptr<Trainer> trainer(Device&, Communicator&) const override {
    throw InvalidRequest("/strategy", "strategy external trains in another program, which Strobe cannot rehearse");
  }

 private:
  Case case_;
  ExternalParameters parameters_;
  PlanSummary summary_;
};

void check_external(const Case& c) {
  if (c.strategy.value("command", "").empty())
    throw InvalidRequest("/strategy/command", "name the program to measure, such as 'python train.py'");
  if (c.device != host_device || c.comm != "local")
    throw InvalidRequest(c.device != host_device ? "/device" : "/comm",
                         "strategy external runs a program on this machine, which chooses its own device and "
                         "communicator; leave it out");
  if (c.repeat > 1) throw InvalidRequest("/repeat", "strategy external runs its program once; use --rounds instead");
  if (!c.until.empty()) throw InvalidRequest("/until", "strategy external trains as long as its program does");
  if (!c.load_model.empty()) throw InvalidRequest("/load_model", "strategy external reads no weights");
}

class ExternalPlanner final : public SchedulePlanner {
 public:
  explicit ExternalPlanner(const Case& c) : case_(c) { check_external(c); }
  std::shared_ptr<const SchedulePlan> plan(std::int64_t) override { return std::make_shared<ExternalPlan>(case_); }

 private:
  Case case_;
};

std::unique_ptr<SchedulePlanner> external_planner(const Case& c, PlanUse, const DataCache&) {
  return std::make_unique<ExternalPlanner>(c);
}

const Register<ScheduleTag> external_schedule{
    {"external", "epochs of another program", "Strobe", {}, {"snapshots", external_planner}, {}}};
const Register<ScheduleTag> external_events_schedule{{"external_events",
                                                      "epochs of another program, for a model of events",
                                                      "Strobe",
                                                      {},
                                                      {"events", external_planner},
                                                      {}}};

const Register<StrategyTag> external_strategy{
    {"external",
     "another program, whose epochs are measured in the same rounds",
     "Strobe",
     external_fields(),
     StrategyTag::Value("external").with_events("external_events", {}).as_preset(),
     {}}};

Json amount() { return {{"type", "number"}, {"minimum", 0}}; }

const Register<FactsTag> external_facts{
    {"external",
     "what is seen of another program from outside",
     "",
     {},
     {{{"program_peak_bytes", "bytes",
        "For strategy external: the most resident memory without a file (RssAnon and RssShmem) that the program's "
        "processes had together, looked at ten times a second at most; GPU memory is not in it.",
        amount()},
       {"program_processor_seconds", "s",
        "For strategy external: processor time of all its processes per measured epoch, counted between the ends of "
        "the last warm-up epoch and the last epoch.",
        amount()},
       {"program_network_bytes", "bytes",
        "For strategy external: bytes that network interfaces sent per measured epoch in that time, loopback included; "
        "the strategy's `network` says whose. Shared memory and GPU links are not in it.",
        amount()}},
      "Other programs"},
     {}}};

}  // namespace
}  // namespace strobe
