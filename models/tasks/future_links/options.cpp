#include "models/tasks/future_links/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "models/tasks/future_links/first_meetings.hpp"
#include "models/tasks/protocols/protocol.hpp"

namespace strobe {

namespace {

/// Which events are judged, and against what.
FieldTableBuilder<FutureLinksOptions> judged_link_fields() {
  using P = FutureLinksOptions;
  return make_fields<P>()
      .text("candidates", &P::candidates,
            "vertices that a destination is ranked among: a number, drawn for each event, or all")
      .choice("ties", &P::ties, {"optimistic", "average", "pessimistic"},
              "rank of a destination among candidates of equal score: before, in the middle of, or after them")
      .integer(
          "batch", &P::batch, "",
          "events of an evaluation batch; a model's knowledge ends before the first of them: between two refreshes "
          "of the memory, or of the step whose embeddings score them",
          1, 1 << 30)
      .text("split", &P::split, "shares of the events for training, validation and test, by time")
      .choice("negatives", &P::negatives, {"auto", "sides", "targets", "any"},
              "vertices that may be negatives: targets of a two-sided graph, of any graph, or all vertices; auto = "
              "sides where the graph has them, else targets")
      .choice("evaluation_negatives", &P::evaluation_negatives, {"random", "historical", "inductive"},
              "candidates of an evaluation: random, or first the source's destinations in training (historical), or "
              "those in earlier batches of the same part that are new there (inductive)")
      .choice("links", &P::links, {"all", "new"},
              "events that metrics take: all, or new = those whose source and target had no event before")
      .choice("self_pairs", &P::self_pairs, {"allowed", "left_out"},
              "whether an event's source may be a candidate of its destination: allowed (as in TGB), or left_out");
}

}  // namespace

const FieldTable& future_links_fields() {
  using P = FutureLinksOptions;
  static const FieldTable table =
      judged_link_fields()
          .integer("negative_groups", &P::negative_groups, "",
                   "groups of training negatives; sweeps over the events take them in turn (models of snapshots take "
                   "the first)",
                   1, 1 << 20)
          .integer("training_negatives", &P::training_negatives, "", "negatives of each training event", 1, 1000)
          .real("kept_out", &P::kept_out, "",
                "share of the vertices that training never sees, drawn among those of validation and test events; "
                "their events are judged separately (inductive_mrr); less than 1 (models of events)",
                0, 0.999)
          .choice("score_with", &P::score_with, {"last_complete_step"},
                  "models of snapshots: which step's embeddings score the events of a batch; the last one that is over "
                  "when the batch begins")
          .choice("protocol", &P::protocol, {"none", "tgb", "dyglib", "tgn"},
                  "published protocol, which fixes split, candidates, ties and means over batches: tgb (stored "
                  "negatives, MRR), dyglib and tgn (one negative, AP of batches of 200, models of events)")
          .text("negatives_file", &P::negatives_file,
                "for protocol tgb: TGB's stored negatives, as python -m strobe.tgb_negatives writes them")
          .choice("history", &P::history, {"batch", "event"},
                  "what rules and pair_history know: events before the batch's first, or all of an earlier time")
          .integer("pair_history", &P::pair_history, "",
                   "recent events of each vertex from which the decoder reads when a pair last met; 0 = it reads none",
                   0, 1 << 20);
  return table;
}

FutureLinksOptions future_links_options(const Json& parameters) {
  const Json given = parameters.is_object() ? parameters : Json::object();
  return from_json<FutureLinksOptions>(future_links_fields(), with_protocol(given, given, "/task"), "/task");
}

EventCandidates event_candidates(const EventGraph& graph, const FutureLinksOptions& options, const TimeSplit& split,
                                 std::uint64_t seed) {
  EventCandidates candidates(graph, options.negatives, seed,
                             options.self_pairs == "allowed" ? SelfPairs::allowed : SelfPairs::left_out);
  const std::string& kind = options.evaluation_negatives;
  candidates.sample({kind == "historical"  ? NegativeSampling::historical
                     : kind == "inductive" ? NegativeSampling::inductive
                                           : NegativeSampling::random,
                     split, options.batch});
  return candidates;
}

std::vector<char> judged_flags(const EventGraph& graph, const FutureLinksOptions& options, const TimeSplit& split) {
  if (options.links == "all") return {};
  std::vector<char> flags = first_meeting_flags(graph);
  if (std::find(flags.begin() + split.validation_end, flags.end(), 1) != flags.end()) return flags;
  throw InvalidRequest("/task/links", fmt::format("links=new leaves nothing to judge: in all of the {} test events the "
                                                  "source has hit the target before; take links=all",
                                                  format_count(graph.events() - split.validation_end)));
}

std::int64_t candidate_count(const std::string& text) {
  if (text == "all") return -1;
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, count);
  if (read.ec == std::errc() && read.ptr == end && count >= 1) return count;
  throw InvalidRequest("/task/candidates", fmt::format("expected a number of at least 1, or all, found '{}'", text));
}

}  // namespace strobe
