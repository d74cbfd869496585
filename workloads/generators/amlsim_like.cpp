// Bank transfers like those of AMLSim: power-law accounts, recurring counterparties, laundering patterns with labels.
// Returns T snapshots over N accounts; an edge's value is the number of its transfers in that step, features are
// degrees with multiplicity. Accounts have ranks; out-degree and in-degree over all steps fall with the rank: a
// lognormal body, a power-law tail, and a few hubs that are large on both sides. Ordinary transfers pair the outgoing
// and the incoming places of accounts at random (configuration model). A share `overlap` of them repeats a pair of the
// step before, a share `recurring` one of an earlier step. Flagged accounts form fan-ins, fan-outs and cycles, each
// link a burst of transfers in one step; a cycle's links follow each other in time. vertex_label = 1 for flagged
// accounts; cell_label[t * N + v] = 1 from the first step at which v takes part in a pattern.
// Invariants: the sum of all transfers, the number of flagged accounts and the mean step overlap are the parameters',
// not draws. The overlap is exact up to transfers that meet in one edge. Ordinary transfers are no self-loops, and do
// not repeat a pair of the step before beyond `overlap`.
// Cost: O(T N + E log m) time, m = transfers of a step; 17 bytes a cell, 8 an edge; cores share the drawing. Defaults
// are fitted to the bundled amlsim-20k.
// Source: Weber et al., "Scalable Graph Learning for Anti-Money Laundering", 2018, and github.com/IBM/AMLSim for the
// parts. The degree profile and the times of patterns are our own reading of its sample.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "workloads/generators/degree_profile.hpp"
#include "workloads/generators/generation.hpp"
#include "workloads/graph/plugins.hpp"
#include "workloads/preparation/transfer_patterns.hpp"

namespace strobe {
namespace {

enum AmlsimLikeChannel : std::uint32_t {
  out_order = 64,
  tied_ranks = 65,
  in_order = 66,
  out_places = 67,
  in_places = 68,
  members = 69,
  patterns = 70,
  keeping = 71,
  earlier = 72,
  redraws = 73
};

struct AmlsimLikeParameters {
  std::int64_t steps = 149;
  std::int64_t vertices = 19980;
  double transfers = 6.034;
  double rise = 0.36;
  double fall = 0.34;
  double overlap = 4.42e-5;
  double recurring = 0.004;
  double mutual = 0.53;
  double hubs = 0.002;
  double out_spread = 0.5;
  double out_tail = 0;
  double out_exponent = 2.85;
  double out_hub = 16.2;
  double out_hub_exponent = 7;
  double in_spread = 0.62;
  double in_tail = 0.12;
  double in_exponent = 2.9;
  double in_hub = 16.5;
  double in_hub_exponent = 8.5;
  double flagged = 0.0903;
  std::int64_t pattern_smallest = 3;
  std::int64_t pattern_largest = 6;
  std::int64_t pattern_steps = 90;
  std::int64_t burst = 5;
  double fan_in = 1;
  double fan_out = 0;
  double cycle = 1;
};

FieldTable make_table() {
  using P = AmlsimLikeParameters;
  return make_fields<P>()
      .integer("steps", &P::steps, "", "number of snapshots T", 1, most_generated_steps)
      .integer("vertices", &P::vertices, "", "number of accounts N", 2, 2147483647)
      .real("transfers", &P::transfers, "", "transfers per account over all steps, patterns included", 0, 1e6)
      .real("rise", &P::rise, "", "share of the steps in which activity rises from 0 to its full rate", 0, 1)
      .real("fall", &P::fall, "", "share of the steps in which activity falls to 0 at the end", 0, 1)
      .real("overlap", &P::overlap, "", "share of a step's edges that the step before has, mean over steps", 0, 1)
      .real("recurring", &P::recurring, "",
            "share of a step's transfers between partners of an earlier, not the last, "
            "step",
            0, 1)
      .real("mutual", &P::mutual, "", "share of accounts with the same rank by in-degree as by out-degree", 0, 1)
      .real("hubs", &P::hubs, "", "share of accounts that are hubs on both sides", 0, 1)
      .real("out_spread", &P::out_spread, "", "standard deviation of the logarithm of out-degrees in the body", 0, 5)
      .real("out_tail", &P::out_tail, "", "share of accounts in the power-law tail of out-degrees, hubs included", 0, 1)
      .real("out_exponent", &P::out_exponent, "", "exponent of the out-degree density in the tail", 1.01, 100)
      .real("out_hub", &P::out_hub, "", "out-degree of the smallest hub, in mean degrees", 0, 1e9)
      .real("out_hub_exponent", &P::out_hub_exponent, "", "exponent of the out-degree density among hubs", 1.01, 100)
      .real("in_spread", &P::in_spread, "", "standard deviation of the logarithm of in-degrees in the body", 0, 5)
      .real("in_tail", &P::in_tail, "", "share of accounts in the power-law tail of in-degrees, hubs included", 0, 1)
      .real("in_exponent", &P::in_exponent, "", "exponent of the in-degree density in the tail", 1.01, 100)
      .real("in_hub", &P::in_hub, "", "in-degree of the smallest hub, in mean degrees", 0, 1e9)
      .real("in_hub_exponent", &P::in_hub_exponent, "", "exponent of the in-degree density among hubs", 1.01, 100)
      .real("flagged", &P::flagged, "", "share of accounts that take part in a pattern", 0, 1)
      .integer("pattern_smallest", &P::pattern_smallest, "", "accounts of the smallest pattern", 2, 1e6)
      .integer("pattern_largest", &P::pattern_largest, "", "accounts of the largest pattern", 2, 1e6)
      .integer("pattern_steps", &P::pattern_steps, "steps", "steps within which a pattern's links lie", 1, 1e9)
      .integer("burst", &P::burst, "", "most transfers of a pattern's link, all in one step; uniform from 1", 1, 1e6)
      .real("fan_in", &P::fan_in, "", "weight of fan-ins among the patterns", 0, 1e9)
      .real("fan_out", &P::fan_out, "", "weight of fan-outs among the patterns", 0, 1e9)
      .real("cycle", &P::cycle, "", "weight of cycles among the patterns", 0, 1e9);
}

const FieldTable& amlsim_like_fields() {
  static const FieldTable table = make_table();
  return table;
}

/// One side of the accounts: which account has a rank, and which rank has one of the numbered places of transfers.
struct Side {
  std::vector<VertexId> account;  // [N] by rank
  DegreePlaces places;

  VertexId owner(std::uint64_t place) const { return account[places.rank(place)]; }
};

/// Accounts by out-rank, in random order, and by in-rank: hubs and a random share of the others keep their rank.
std::pair<Side, Side> make_sides(const AmlsimLikeParameters& parameters, std::int64_t total, std::uint64_t seed) {
  const std::uint64_t n = parameters.vertices;
  const std::uint64_t hubs = std::llround(parameters.hubs * static_cast<double>(n));
  Side out, in;
  const KeyedPermutation order(n, generator_stream(seed, out_order));
  for (std::uint64_t r = 0; r < n; ++r) out.account.push_back(static_cast<VertexId>(order(r)));
  in.account = out.account;
  const RandomStream tied = generator_stream(seed, tied_ranks);
  std::vector<std::uint64_t> loose;
  for (std::uint64_t r = hubs; r < n; ++r) {
    if (tied.uniform(r) >= parameters.mutual) loose.push_back(r);
  }
  const KeyedPermutation mixed(loose.size(), generator_stream(seed, in_order));
  for (std::uint64_t i = 0; i < loose.size(); ++i) in.account[loose[i]] = out.account[loose[mixed(i)]];
  out.places = DegreePlaces(degrees_by_rank({parameters.out_spread, parameters.out_tail, parameters.out_exponent,
                                             parameters.hubs, parameters.out_hub, parameters.out_hub_exponent},
                                            parameters.vertices, total, "/out_hub"));
  in.places = DegreePlaces(degrees_by_rank({parameters.in_spread, parameters.in_tail, parameters.in_exponent,
                                            parameters.hubs, parameters.in_hub, parameters.in_hub_exponent},
                                           parameters.vertices, total, "/in_hub"));
  return {std::move(out), std::move(in)};
}

/// Patterns whose members are numbered, not yet accounts.
TransferPatterns draw_patterns(const AmlsimLikeParameters& parameters, std::uint64_t seed) {
  const PatternOptions options{std::llround(parameters.flagged * static_cast<double>(parameters.vertices)),
                               parameters.steps,
                               parameters.pattern_smallest,
                               parameters.pattern_largest,
                               parameters.pattern_steps,
                               parameters.burst,
                               parameters.fan_in,
                               parameters.fan_out,
                               parameters.cycle};
  return draw_transfer_patterns(options, generator_stream(seed, patterns));
}

/// Turns members into accounts, drawn in proportion to their out-degree, each for one place in one pattern.
void name_members(TransferPatterns& patterns, const Side& out, std::uint64_t seed) {
  const auto places = out.places.total();
  const KeyedPermutation order(places, generator_stream(seed, members));
  std::vector<bool> taken(out.account.size(), false);
  std::size_t named = 0;
  const auto take = [&](VertexId account) {
    if (named == patterns.accounts.size() || taken[account]) return;
    taken[account] = true;
    patterns.accounts[named++] = account;
  };
  for (std::uint64_t place = 0; place < places && named < patterns.accounts.size(); ++place)
    take(out.owner(order(place)));
  for (const VertexId account : out.account) take(account);
  for (TransferLink& link : patterns.links) {
    link.source = patterns.accounts[link.source];
    link.target = patterns.accounts[link.target];
  }
}

/// The number of transfers of each sort in each step.
struct Plan {
  std::vector<std::int64_t> ordinary, kept, earlier, first_fresh;  // [T]; first_fresh [T + 1]
  std::vector<std::vector<std::uint64_t>> bursts;                  // [T] edge codes with multiplicity, after naming
};

Plan make_plan(const AmlsimLikeParameters& parameters, const TransferPatterns& patterns) {
  const std::size_t steps = parameters.steps;
  const auto total = std::llround(parameters.transfers * static_cast<double>(parameters.vertices));
  if (total < patterns.transfers) {
    throw InvalidRequest("/transfers",
                         fmt::format("patterns alone make {} transfers, the accounts {}", patterns.transfers, total));
  }
  std::vector<double> rate;
  for (std::size_t t = 0; t < steps; ++t) {
    const double now = (static_cast<double>(t) + 0.5) / static_cast<double>(steps);
    const double up = parameters.rise > 0 ? now / parameters.rise : 1;
    const double down = parameters.fall > 0 ? (1 - now) / parameters.fall : 1;
    rate.push_back(std::min({1.0, up, down}));
  }
  Plan plan{apportion(total - patterns.transfers, rate), {}, {}, {0}, {}};
  std::vector<std::int64_t> edges = plan.ordinary;
  for (const TransferLink& link : patterns.links) ++edges[link.step];
  plan.kept = edges_to_keep(edges, parameters.overlap, "/overlap");
  for (std::size_t t = 0; t < steps; ++t) {
    const std::int64_t ordinary = plan.ordinary[t];
    plan.kept[t] = std::min(plan.kept[t], ordinary);
    const auto repeated = t < 2 ? 0 : std::llround(parameters.recurring * static_cast<double>(ordinary));
    plan.earlier.push_back(std::min<std::int64_t>(repeated, ordinary - plan.kept[t]));
    plan.first_fresh.push_back(plan.first_fresh[t] + ordinary - plan.kept[t] - plan.earlier[t]);
  }
  if (plan.first_fresh.back() == 0 && total > patterns.transfers)
    throw InvalidRequest("/recurring", "every transfer would repeat another; no step has a new pair");
  return plan;
}

bool has_edge(const Snapshot& snapshot, std::uint64_t code) {
  const std::size_t row = code >> 32;
  const auto begin = snapshot.columns.begin() + static_cast<std::ptrdiff_t>(snapshot.row_offsets[row]);
  const auto end = snapshot.columns.begin() + static_cast<std::ptrdiff_t>(snapshot.row_offsets[row + 1]);
  return std::binary_search(begin, end, static_cast<VertexId>(code & 0xFFFFFFFFu));
}

/// Draws the ordinary transfers of one step after the other.
class Ledger {
 public:
  Ledger(const Plan& plan, const Side& out, const Side& in, std::uint64_t seed)
      : plan_(plan),
        out_(out),
        in_(in),
        seed_(seed),
        out_order_(out.places.total(), generator_stream(seed, out_places)),
        in_order_(in.places.total(), generator_stream(seed, in_places)) {}

  /// All transfers of step t as ascending edge codes; `graph` has the steps before.
  std::vector<std::uint64_t> step(const SnapshotGraph& graph, std::size_t t, Workers& workers) {
    if (t > 0) reached_.push_back(reached_.back() + graph.snapshots[t - 1]->nonzeros());
    const Snapshot* before = t > 0 ? graph.snapshots[t - 1].get() : nullptr;
    const KeyedPermutation order(before_.size(), generator_stream(seed_, keeping, static_cast<std::int64_t>(t)));
    const auto kept = std::min<std::uint64_t>(static_cast<std::uint64_t>(plan_.kept[t]), before_.size());
    const std::uint64_t fresh = plan_.kept[t] + plan_.earlier[t];
    std::vector<std::uint64_t> codes(plan_.ordinary[t]);
    for_each_piece(&workers, codes.size(), [&](std::uint64_t first, std::uint64_t last) {
      for (std::uint64_t i = first; i < last; ++i) {
        if (i < kept)
          codes[i] = before_[order(i)];
        else if (i < fresh)
          codes[i] = i < static_cast<std::uint64_t>(plan_.kept[t]) ? redraw(before, t, i) : again(graph, before, t, i);
        else
          codes[i] = pair(before, t, i, static_cast<std::uint64_t>(plan_.first_fresh[t]) + i - fresh);
      }
    });
    codes.insert(codes.end(), plan_.bursts[t].begin(), plan_.bursts[t].end());
    std::sort(codes.begin(), codes.end());
    before_.clear();
    std::unique_copy(codes.begin(), codes.end(), std::back_inserter(before_));
    return codes;
  }

 private:
  static bool allowed(const Snapshot* before, std::uint64_t code) {
    return (code >> 32) != (code & 0xFFFFFFFFu) && (before == nullptr || !has_edge(*before, code));
  }

  std::uint64_t code_of(std::uint64_t out_place, std::uint64_t in_place) const {
    return edge_code(static_cast<std::uint64_t>(in_.owner(in_place)),
                     static_cast<std::uint64_t>(out_.owner(out_place)));
  }

  /// The pair of outgoing and incoming place number `place`; drawn again when the pair is not allowed.
  std::uint64_t pair(const Snapshot* before, std::size_t t, std::uint64_t i, std::uint64_t place) const {
    const std::uint64_t code = code_of(out_order_(place), in_order_(place));
    return allowed(before, code) ? code : redraw(before, t, i);
  }

  /// A pair of random places; after many failures (a handful of accounts) any pair of different accounts.
  std::uint64_t redraw(const Snapshot* before, std::size_t t, std::uint64_t i) const {
    const RandomStream random = generator_stream(seed_, redraws, static_cast<std::int64_t>(t));
    std::uint64_t code = 0;
    for (std::uint64_t attempt = 0; attempt < 64; ++attempt) {
      const std::uint64_t draw = (i << 7) + 2 * attempt;
      code = code_of(random.below(draw, out_order_.size()), random.below(draw + 1, in_order_.size()));
      if (allowed(before, code)) return code;
    }
    const std::uint64_t target = code >> 32, source = code & 0xFFFFFFFFu;
    return edge_code(target, source != target ? source : (source + 1) % out_.account.size());
  }

  /// A random edge of the steps before the last that the last step does not have.
  std::uint64_t again(const SnapshotGraph& graph, const Snapshot* before, std::size_t t, std::uint64_t i) const {
    const RandomStream random = generator_stream(seed_, earlier, static_cast<std::int64_t>(t));
    const std::uint64_t edges = reached_[t - 1];
    for (std::uint64_t attempt = 0; attempt < 16 && edges > 0; ++attempt) {
      const std::int64_t edge = random.below((i << 4) + attempt, edges);
      const auto step = std::upper_bound(reached_.begin(), reached_.end(), edge) - reached_.begin() - 1;
      const Snapshot& snapshot = *graph.snapshots[step];
      const std::int64_t place = edge - reached_[step];
      const auto row = std::upper_bound(snapshot.row_offsets.begin(), snapshot.row_offsets.end(), place) -
                       snapshot.row_offsets.begin() - 1;
      const std::uint64_t code =
          edge_code(static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(snapshot.columns[place]));
      if (allowed(before, code)) return code;
    }
    return redraw(before, t, i);
  }

  const Plan& plan_;
  const Side &out_, &in_;
  std::uint64_t seed_;
  KeyedPermutation out_order_, in_order_;
  std::vector<std::uint64_t> before_;     // distinct edges of the last step
  std::vector<std::int64_t> reached_{0};  // [t + 1] distinct edges before step t
};

void check_amlsim_like(const AmlsimLikeParameters& parameters) {
  const double n = parameters.vertices;
  if (parameters.rise + parameters.fall > 1) throw InvalidRequest("/fall", "rise and fall add up to more than 1");
  if (parameters.overlap + parameters.recurring > 1)
    throw InvalidRequest("/recurring", "overlap and recurring add up to more than 1");
  if (parameters.pattern_largest < parameters.pattern_smallest)
    throw InvalidRequest("/pattern_largest",
                         fmt::format("must be at least pattern_smallest, {}", parameters.pattern_smallest));
  const auto flagged = std::llround(parameters.flagged * n);
  if (flagged > 0 && flagged < parameters.pattern_smallest) {
    throw InvalidRequest("/flagged", fmt::format("{} flagged accounts do not fill a pattern of {}", flagged,
                                                 parameters.pattern_smallest));
  }
  if (flagged > 0 && parameters.fan_in + parameters.fan_out + parameters.cycle <= 0)
    throw InvalidRequest("/fan_in", "flagged accounts need a pattern: fan_in, fan_out or cycle must be above 0");
  const double edges = n * parameters.transfers;
  check_generated_size(parameters.vertices, parameters.steps, edges,
                       64 * n + 24 * edges / static_cast<double>(parameters.steps), "/transfers");
}

void set_labels(SnapshotGraph& graph, const TransferPatterns& patterns) {
  const auto vertices = static_cast<std::size_t>(graph.vertices), steps = graph.snapshots.size();
  graph.vertex_label.assign(vertices, 0);
  std::vector<std::int8_t> label(steps * vertices, 0);
  for (const VertexId account : patterns.accounts) graph.vertex_label[account] = 1;
  for (const TransferLink& link : patterns.links) {
    for (const VertexId account : {link.source, link.target})
      label[static_cast<std::size_t>(link.step) * vertices + static_cast<std::size_t>(account)] = 1;
  }
  for (std::size_t cell = vertices; cell < steps * vertices; ++cell) label[cell] |= label[cell - vertices];
  graph.cell_label = std::move(label);
}

SnapshotGraph generate_amlsim_like(const Json& json, std::uint64_t seed) {
  const auto parameters = from_json<AmlsimLikeParameters>(amlsim_like_fields(), json, "");
  check_amlsim_like(parameters);
  TransferPatterns patterns = draw_patterns(parameters, seed);
  Plan plan = make_plan(parameters, patterns);
  const auto [out, in] = make_sides(parameters, plan.first_fresh.back(), seed);
  name_members(patterns, out, seed);
  plan.bursts.resize(parameters.steps);
  for (const TransferLink& link : patterns.links) {
    plan.bursts[link.step].insert(
        plan.bursts[link.step].end(), link.transfers,
        edge_code(static_cast<std::uint64_t>(link.target), static_cast<std::uint64_t>(link.source)));
  }
  SnapshotGraph graph =
      start_graph("amlsim-like", amlsim_like_fields(), json, seed, parameters.vertices, parameters.steps);
  set_labels(graph, patterns);
  Workers workers(generator_threads());
  Ledger ledger(plan, out, in, seed);
  for (std::size_t t = 0; t < graph.snapshots.size(); ++t)
    set_step(graph, static_cast<std::int64_t>(t), ledger.step(graph, t, workers));
  return graph;
}

const Register<GeneratorTag> amlsim_like_registered{
    {"amlsim-like",
     "bank transfers: power-law accounts, recurring counterparties, fan-in, fan-out and cycle patterns with labels",
     "Weber et al., Scalable Graph Learning for Anti-Money Laundering, 2018; github.com/IBM/AMLSim",
     amlsim_like_fields(),
     generate_amlsim_like,
     {}}};

}  // namespace
}  // namespace strobe
