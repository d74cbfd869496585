// `strobe plan`: finds the best strategies, clusters and node counts for a workload, within a deadline or a budget.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "backends/cluster.hpp"
#include "core/currency.hpp"
#include "core/shown_text.hpp"
#include "core/system/machine_limits.hpp"
#include "core/units.hpp"
#include "harness/advisor/gpu_counts.hpp"
#include "harness/advisor/plan_explain.hpp"
#include "harness/advisor/plan_report.hpp"
#include "harness/advisor/plan_search.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/figure.hpp"
#include "harness/cli/typed_names.hpp"
#include "harness/cli/validation/plan_pledge.hpp"
#include "harness/measure/run_request.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/process/narrate.hpp"
#include "harness/request/case_slots.hpp"
#include "harness/request/option_text.hpp"
#include "harness/request/typed_settings.hpp"
#include "harness/request/varied_values.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {
namespace {

struct PlanCommand {
  std::map<std::string, std::string> plugins;  // --workload, --model, ... as typed, by slot
  std::map<std::string, std::string> scalars;  // --precision, --seed, --draws
  std::map<std::string, std::string> advice;   // options of the rules that advise
  std::vector<std::string> strategies, clusters, sets, knobs;
  std::string nodes, gpus, deadline, budget, goal, until, figure, pledge;
  std::string start_up, billing_unit, explain;
  std::string epochs = "100", top, threads = "0";
  bool json = false, exhaustive = false;
};

std::int64_t whole(const std::string& text, const std::string& option, double least, double most) {
  const double number = number_from_text(text, option);
  if (number == std::floor(number) && number >= least && number <= most) return static_cast<std::int64_t>(number);
  throw InvalidRequest(option,
                       fmt::format("expected a whole number from {:.0f} to {:.0f}, found {}", least, most, text));
}

template <class Registry>
std::vector<StrategyChoice> choices_of(const std::vector<std::string>& texts, const std::string& option) {
  std::vector<StrategyChoice> choices;
  for (const std::string& text : texts) {
    NamedParameters named = split_named_parameters(text, Registry::instance().names(), option);
    Registry::instance().find(named.name, option);
    choices.push_back({named.name, std::move(named.parameters)});
  }
  return choices;
}

PlanSpace space_of(const PlanCommand& command) {
  PlanSpace space;
  std::map<std::string, std::string> plugins = command.plugins;
  const std::vector<std::string> models =
      plugins.count("model") == 0 ? std::vector<std::string>() : typed_names({plugins.at("model")});
  if (models.size() > 1) {
    space.models = choices_of<ModelRegistry>(models, "--model");
    plugins.erase("model");
  }
  space.settings = typed_settings(plugins, command.scalars, command.sets);
  space.strategies = choices_of<StrategyRegistry>(typed_names(command.strategies), "--strategy");
  space.until_metric = !command.until.empty();
  space.paper_sizes = true;
  space.clusters = typed_names(command.clusters);
  for (const std::string& cluster : space.clusters) check_cluster(cluster, "--clusters");
  for (const std::string& text : split_text(command.nodes, ',')) {
    space.nodes.push_back(static_cast<int>(whole(text, "--nodes", 1, 100000)));
  }
  if (!command.gpus.empty()) space.gpus = gpu_counts(command.gpus, space.clusters);
  if (!command.gpus.empty() && !command.nodes.empty())
    throw InvalidRequest("--gpus", "is another way to say --nodes; give one of them");
  for (const std::string& text : command.knobs) {
    const auto [path, values] = split_assignment(text, "--vary");
    space.knobs.push_back({path, varied_values(path, values), "--vary " + path});
    if (space.knobs.back().values.empty()) throw InvalidRequest("--vary", "no value is given for " + path);
  }
  return space;
}

/// The currencies of the prices of these points' clusters, sorted.
std::vector<std::string> currencies_of(const std::vector<PlanPoint>& points) {
  std::set<std::string> clusters, currencies;
  for (const PlanPoint& point : points) clusters.insert(point.cluster);
  for (const std::string& cluster : clusters) currencies.insert(load_cluster(cluster)->price_currency);
  currencies.erase("");  // not sold
  return {currencies.begin(), currencies.end()};
}

/// Reads a number with an optional currency code, with or without blanks between: "500usd", "5e2 USD", "1e10". Without
/// a code, the clusters must have only one currency.
void read_budget(const std::string& text, const std::vector<std::string>& currencies, PlanLimits& limits) {
  const auto refuse = [&text](const std::string& why) {
    throw InvalidRequest(
        "--budget", fmt::format("expected an amount above 0 with a currency, such as 500usd, found '{}'{}", text, why));
  };
  const auto amount = amount_from_text(text);
  if (!amount) refuse("");
  const std::string& currency = amount->second;
  if (!currency.empty() && currency_code(currency).empty()) refuse(": " + unknown_currency_message(currency));
  if (currency.empty() && currencies.size() > 1) {
    refuse(fmt::format(": the clusters are priced in {}; add the currency that you mean, such as 500usd",
                       fmt::join(currencies, " and ")));
  }
  if (currencies.empty()) throw InvalidRequest("--budget", "none of these clusters has a price");
  limits.budget = amount->first;
  limits.currency = currency.empty() ? currencies.front() : currency_code(currency);
  if (std::find(currencies.begin(), currencies.end(), limits.currency) == currencies.end())
    throw InvalidRequest("--budget", fmt::format("none of these clusters is priced in {}, but in {}", limits.currency,
                                                 fmt::join(currencies, " and ")));
}

double duration_from(const std::string& text, const std::string& option) {
  if (text.empty()) return 0;
  const double seconds = parse_duration_seconds(text, option);
  if (seconds >= 0) return seconds;
  throw InvalidRequest(option, fmt::format("expected a time of at least 0, found {}", text));
}

PlanLimits limits_of(const PlanCommand& command, const std::vector<std::string>& currencies) {
  PlanLimits limits;
  if (!command.deadline.empty()) {
    limits.deadline_seconds = parse_duration_seconds(command.deadline, "--deadline");
  }
  const double start_up = duration_from(command.start_up, "--start-up");
  if (limits.deadline_seconds && start_up >= *limits.deadline_seconds)
    throw InvalidRequest("--deadline",
                         fmt::format("the job starts after {} (--start-up), so no epoch is done within {}",
                                     command.start_up, command.deadline));
  if (!command.budget.empty()) read_budget(command.budget, currencies, limits);
  return limits;
}

/// By default, the cheapest point that meets the deadline is best, or without a deadline the fastest.
PlanGoal goal_of(const PlanCommand& command) {
  if (command.goal.empty()) {
    if (!command.deadline.empty()) return PlanGoal::dollars;
    return command.until.empty() ? PlanGoal::time : PlanGoal::time_to_metric;
  }
  std::vector<std::string> names;
  for (const PlanGoal goal : {PlanGoal::time, PlanGoal::dollars, PlanGoal::memory, PlanGoal::time_to_metric}) {
    names.push_back(goal_name(goal));
    if (names.back() != command.goal) continue;
    if (goal == PlanGoal::time_to_metric && command.until.empty())
      throw InvalidRequest("--goal", "time-to-metric needs a metric and its value; give --until, such as mrr=0.3");
    return goal;
  }
  throw InvalidRequest("--goal", unknown_name_message("goal", command.goal, names));
}

/// Refuses to look for the cheapest point among several currencies, or without any price. A budget keeps only points in
/// its currency.
void check_goal(PlanGoal goal, const PlanCommand& command, const std::vector<std::string>& currencies) {
  if (goal == PlanGoal::dollars && currencies.empty() && !command.goal.empty())
    throw InvalidRequest("--goal",
                         "none of these clusters has a price; ask for time or memory, or give one: "
                         "strobe cluster new --from NAME --set price_per_node_hour=12usd --out FILE");
  if (goal != PlanGoal::dollars || currencies.size() < 2 || !command.budget.empty()) return;
  throw InvalidRequest(
      command.goal.empty() ? "--deadline" : "--goal",
      fmt::format("the cheapest point is asked for, but the clusters are priced in {}, which do not compare; give "
                  "--budget with the currency that counts, clusters of one currency, or --goal time or memory",
                  fmt::join(currencies, " and ")));
}

Json request_json(const PlanCommand& command) {
  Json request = Json::object();
  for (const auto& [slot, text] : command.plugins) request[slot] = text;
  for (const auto& [name, text] : command.scalars) request[name] = text;
  const auto add = [&request](const char* key, const auto& value) {
    if (!value.empty()) request[key] = value;
  };
  add("strategy", command.strategies), add("clusters", command.clusters), add("nodes", command.nodes);
  add("gpus", command.gpus);
  add("set", command.sets), add("vary", command.knobs);
  add("deadline", command.deadline), add("budget", command.budget), add("until", command.until);
  add("start_up", command.start_up), add("billing_unit", command.billing_unit);
  for (const auto& [name, text] : command.advice) request[name] = text;
  return request;
}

/// Advice of all rules that apply. A rule may replace points by those that it compares.
std::map<std::string, std::shared_ptr<const PlanAdvice>> advice_of(const PlanCommand& command, const PlanSpace& space,
                                                                   const DataCache& cache,
                                                                   std::vector<PlanPoint>& points) {
  std::map<std::string, std::shared_ptr<const PlanAdvice>> all;
  for (const auto& [rule, entry] : PlanAdviceRegistry::instance().entries()) {
    std::map<std::string, std::string> own;
    for (const PlanAdviceTag::Option& option : entry.value.options) {
      const auto typed = command.advice.find(option.name);
      if (typed != command.advice.end()) own.insert(*typed);
    }
    if (auto advice = entry.value.advise(space, own, cache, points)) all[rule] = std::move(advice);
  }
  return all;
}

/// Simulates points and reports progress.
std::vector<PlanOutcome> simulated(const std::vector<PlanPoint>& points, std::int64_t epochs, int threads, bool more,
                                   MetricJob* metric, const DataCache& cache) {
  narrate(fmt::format("simulating {}{}", counted(points.size(), more ? "more point" : "point"),
                      more ? " with other settings" : ""));
  const std::size_t tenth = std::max<std::size_t>(1, points.size() / 10);
  const auto progress = [&](std::size_t done) {
    if (done % tenth == 0 || done == points.size()) narrate(fmt::format("{} of {} points", done, points.size()));
  };
  return evaluate(points, epochs, threads, progress, metric, cache);
}

/// Fills the report with outcomes, costs and verdicts of all points.
void fill_report(const PlanCommand& command, const std::vector<PlanPoint>& points, const std::string& wanted,
                 const DataCache& cache, PlanReport& report) {
  std::int64_t threads = whole(command.threads, "--threads", 0, 4096);
  if (threads == 0) threads = usable_cores();
  std::unique_ptr<MetricJob> metric;
  if (!report.until.empty()) metric = std::make_unique<MetricJob>(report.until, report.epochs);
  SearchResult found = search_settings(
      points, {command.exhaustive, report.limits, report.costs, report.goal, wanted, !command.gpus.empty()},
      [&, more = false](const std::vector<PlanPoint>& some) mutable {
        return simulated(some, report.epochs, static_cast<int>(threads), std::exchange(more, true), metric.get(),
                         cache);
      });
  report.outcomes = std::move(found.outcomes);
  report.search = std::move(found.counts);
  add_costs(report.costs, report.outcomes);
  judge_points(report);
  if (!command.gpus.empty()) report.gpu_tables = gpu_tables(report.outcomes, report.limits, report.goal, cache);
  if (report.best() == nullptr) return;
  report.study = study_scaling(report.best()->point, cache);
  if (report.until.empty() && wanted.empty())
    report.turning =
        study_turning(report.outcomes, report.verdicts,
                      {report.limits, report.costs, report.goal, report.epochs, static_cast<int>(threads)}, cache);
}

/// Dominated points to show after the front; nothing: not even the front.
std::optional<std::size_t> shown_points(const PlanCommand& command) {
  if (command.top.empty() && !command.gpus.empty()) return std::nullopt;
  return static_cast<std::size_t>(whole(command.top.empty() ? "10" : command.top, "--top", 0, 1e6));
}

std::string reported(const PlanCommand& command, const PlanReport& report, const Json& json,
                     const std::string& wanted) {
  if (command.json) return json.dump(2) + "\n";
  return shown_lines(command.explain.empty() ? plan_text(report, shown_points(command))
                                             : explain_point(report, wanted));
}

int plan(const PlanCommand& command) {
  if (!command.figure.empty()) check_figure_path(command.figure);
  check_pledge_path(command.pledge);
  PlanReport report;
  report.request = request_json(command);
  report.epochs = whole(command.epochs, "--epochs", 1, 1e9);
  report.goal = goal_of(command);
  report.until = command.until;
  shown_points(command);
  whole(command.threads, "--threads", 0, 4096);
  report.costs = {duration_from(command.start_up, "--start-up"), duration_from(command.billing_unit, "--billing-unit")};
  const PlanSpace space = space_of(command);
  std::vector<PlanPoint> points = plan_points(space);
  const std::vector<std::string> currencies = currencies_of(points);
  report.limits = limits_of(command, currencies);
  check_goal(report.goal, command, currencies);
  const DataCache cache;
  report.advice = advice_of(command, space, cache, points);
  const std::string wanted = command.explain.empty() ? "" : id_called(points, command.explain);
  fill_report(command, points, wanted, cache, report);
  pledge_plan(report, command.pledge);
  const Json json = plan_to_json(report);
  if (!command.figure.empty()) draw_figure("plan", json, command.figure);
  print_data(reported(command, report, json, wanted));
  return report.best() == nullptr ? 1 : 0;
}

/// Adds the plug-ins of a case, except the strategy, which is searched.
void add_slots(CommandOptions& options, PlanCommand& command) {
  for (const CaseSlot& slot : case_slots()) {
    const std::string name = slot.name;
    if (name == "strategy") continue;
    std::string help = "name, or NAME:key=value,...; see `strobe list`";
    if (!slot.default_plugin.empty()) help += fmt::format(" (default {})", slot.default_plugin);
    if (name == "model") help += "; several, separated by commas, are searched together";
    if (name == "workload") help = "data set, generator (NAME:key=value,...), shape or file";
    options.named("--" + name, command.plugins, name, help, "NAME");
  }
}

void define_space(CommandOptions& options, PlanCommand& command) {
  options.group("What is planned");
  add_slots(options, command);
  options.repeated("--set", command.sets, "key.path=value for every point, such as model.hidden=16", "KEY=VALUE");
  options.named("--precision", command.scalars, "precision", "fp32 | fp64 (default fp32)", "fp32|fp64");
  options.named("--seed", command.scalars, "seed", "seed of generators, samples and partitioners (default 1)", "N");
  options.named("--draws", command.scalars, "draws", "predict in N draws of uncertain constants too", "N");
  options.group("What is searched");
  options.repeated("--strategy", command.strategies, "strategies to try: names, or NAME:key=value,... (default all)",
                   "NAMES");
  options.repeated("--clusters", command.clusters,
                   "clusters to try: names or files, or NAME:key=value,... with what-ifs (default all)", "NAMES");
  options.text("--nodes", command.nodes,
               "node counts to try, such as 1,2,4 (default: powers of two up to each cluster's size)", "N,...");
  options.text(
      "--gpus", command.gpus,
      "numbers of GPUs instead of nodes, such as 8,16,32 or 8..128; prints a table of the best strategy of each",
      "N,...");
  options.repeated("--vary", command.knobs, "key.path=a,b,...: try these values, such as nb=1,4 or model.window=3..5",
                   "KEY=VALUES");
  options.toggle("--exhaustive", command.exhaustive,
                 "simulate every combination of inputs, transfer and overlap, even if it cannot be faster or cheaper "
                 "than others");
  for (const auto& [rule, entry] : PlanAdviceRegistry::instance().entries())
    for (const PlanAdviceTag::Option& option : entry.value.options)
      options.named(advice_flag(option.name), command.advice, option.name, option.help, option.value);
}

void define_job(CommandOptions& options, PlanCommand& command) {
  options.group("The job and its limits");
  options.text("--epochs", command.epochs, "epochs of a job, with --until at most (default 100)", "N");
  options.text(
      "--until", command.until,
      "a job ends when a metric of the validation samples reaches a value, such as mrr=0.3; training is simulated "
      "with values, so that kinds of training with different epochs compare",
      "METRIC=X");
  options.text("--start-up", command.start_up,
               "time before the first epoch, part of time and cost (default: reading, as rates predict)", "TIME");
  options.text("--billing-unit", command.billing_unit,
               "nodes are paid for in whole units of this time, such as 1h (default: as long as the job lasts)",
               "TIME");
  options.text("--deadline", command.deadline, "the job must be done within this time, such as 2h", "TIME");
  options.text(
      "--budget", command.budget,
      "the most that the job may cost, such as 500usd; a bare number is in the clusters' currency; the table shows "
      "how many epochs it pays for",
      "AMOUNT");
  options.text("--goal", command.goal,
               "what to minimise: time | dollars | memory | time-to-metric (default: dollars with a deadline, "
               "time-to-metric with --until, else time)",
               "GOAL");
}

CommandAction define_plan(CommandOptions& options) {
  const auto command = std::make_shared<PlanCommand>();
  define_space(options, *command);
  define_job(options, *command);
  options.group("What is printed");
  options.text("--top", command->top,
               "points that others beat, to show after the front (default 10); with --gpus the front is shown only if "
               "this is given",
               "N");
  options.text(
      "--explain", command->explain,
      "say why this point is kept or left out, and which point is better; name its id, or a part that only this id has",
      "ID");
  options.text("--threads", command->threads, "points simulated at a time (default 0: all cores)", "N");
  options.text("--figure", command->figure, "draw the front and the scaling as this .png or .svg (writes both)",
               "FILE");
  add_pledge_option(options, command->pledge);
  options.toggle("--json", command->json, "print every point as JSON");
  options.example(
      "Exits with 1 when no point is within the limits.\n"
      "Examples: strobe plan --workload amazon --model tm-gcn --deadline 2h --budget 500usd --clusters all\n"
      "          strobe plan --workload chess --clusters aimos-v100 --strategy snapshot --vary nb=1,2,4\n"
      "          strobe plan --workload ucsocial:window=1d --model t-gcn,jodie --task future-links --until mrr=0.3");
  return [command] { return plan(*command); };
}

const Register<CommandTag> plan_registered{
    {"plan", "strategies, clusters and node counts worth taking, by simulation", "", {}, define_plan, {}}};

}  // namespace
}  // namespace strobe
