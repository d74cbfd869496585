// Keys of rows and files that are full batches' own: exchanges that may be stale, chunks, and who owns which cell.
#include <nlohmann/json.hpp>

#include "harness/request/output_files.hpp"
#include "results/row/facts.hpp"

namespace strobe {
namespace {

constexpr const char* no_chunks = "the strategy has no chunks";
constexpr const char* nothing_stale = "no exchange is under a policy of staleness";

Json list_of(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }
Json count() { return {{"type", "integer"}, {"minimum", 0}}; }

const Register<FactsTag> full_batch_facts{
    {"full_batch",
     "stale exchanges and chunks",
     "",
     {},
     {{{"sent_share", "1",
        "Where rows of exchanges may be stale, per epoch of the first repetition, warm-up included: bytes that these "
        "exchanges sent, with counts and places of rows, as a share of what the exact run sends through them.",
        list_of({{"type", {"number", "null"}}}), nothing_stale},
       {"sent_bytes_by_epoch", "bytes",
        "Likewise, bytes of all purposes sent to other ranks in each of these epochs, summed over ranks.",
        list_of(count()), nothing_stale},
       {"fusion_units", "1",
        "Of strategies with chunks: units of chunks that each rank's spatial stages walk one by one; 1: all together.",
        list_of(count()), no_chunks},
       {"loaded_bytes", "bytes",
        "Likewise, per epoch and summed over ranks: rows of A, and of the inputs of layers that read neighbours, that "
        "spatial stages load in forward passes, each as often as a unit loads it.",
        count(), no_chunks},
       {"padded_share",
        "1",
        "Likewise, of the rows of lanes that recurrences and attentions over time walk, those that only fill lanes up; "
        "0 where timelines are rectangles.",
        {{"type", {"number", "null"}}, {"minimum", 0}},
        no_chunks}},
      ""},
     {}}};

const Register<OutputFileTag> placement_registered{
    {"placement",
     "write who owns which cell under the strategy of the one case to this .csv file (step, vertex, rank, "
     "temporal_rank), in a dry run too",
     "",
     {},
     {"cells to place", "a model of snapshots", true},
     {}}};

}  // namespace
}  // namespace strobe
