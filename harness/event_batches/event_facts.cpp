// The row keys and files that only event batches have: sizes of batches, mails lost to them, and their order.
#include <nlohmann/json.hpp>

#include "harness/request/output_files.hpp"
#include "results/row/facts.hpp"

namespace strobe {
namespace {

Json count() { return {{"type", "integer"}, {"minimum", 1}}; }
Json number() { return {{"type", {"number", "null"}}, {"minimum", 0}}; }

const Register<FactsTag> event_batch_facts{
    {"event_batches",
     "sizes of batches and what they cost node memory",
     "",
     {},
     {{{"local_batch", "1", "For models of events: events of one update on one rank.", count()},
       {"global_batch", "1", "For models of events: events of one update on all ranks.", count()},
       {"evaluation_batch", "1",
        "For future links: events that an evaluation scores before it refreshes the memory, or the step whose "
        "embeddings score them. Metrics of two sizes do not compare.",
        count()},
       {"negatives_sha256",
        "",
        "For future links with protocol tgb: SHA-256 of the file of stored negatives.",
        {{"type", "string"}, {"pattern", "^[0-9a-f]{64}$"}},
        "no stored negatives"},
       {"mails_lost_share", "1",
        "For models of events with memory: share of the training mails that never reach a memory, because a later "
        "event of their batch leaves a mail for the same vertex.",
        number()},
       {"mean_staleness_seconds", "s",
        "For models of events with memory: how old memory is. Time from the last event that a vertex's memory has seen "
        "to the vertex's last event before the current one; mean over both ends of all training events.",
        number()}},
      ""},
     {}}};

const Register<OutputFileTag> memory_registered{
    {"memory",
     "models of events: write node memory, last update, mails, their time and event, as the last evaluation leaves "
     "them, to this safetensors file",
     "",
     {},
     {"memory of vertices", "a model of events with memory"},
     {}}};

const Register<OutputFileTag> ranks_registered{
    {"ranks",
     "models of events: write the rank of each judged event's destination among its candidates, under the trained "
     "weights of the one case, to this .csv file (event, part, source, destination, candidates, rank, then ids and "
     "names of both)",
     "",
     {},
     {"ranks", "a model of events and task future-links"},
     {}}};

const Register<OutputFileTag> schedule_registered{
    {"schedule",
     "models of events: write which rank trains on which events in which iteration, and when memory is read and "
     "written, to this .csv file (iteration, trainer, copy, sweep, first_event, last_event, negatives, "
     "operation), in a dry run too",
     "",
     {},
     {"schedule of batches", "a model of events", true},
     {}}};

}  // namespace
}  // namespace strobe
