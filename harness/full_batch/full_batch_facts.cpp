// Keys of rows and files that only full batches have: stale exchanges, chunks, and who owns which cell.
#include <nlohmann/json.hpp>

#include "harness/request/output_files.hpp"
#include "results/row/facts.hpp"

namespace strobe {
namespace {

constexpr const char* no_chunks = "the strategy has no chunks";
constexpr const char* nothing_stale = "no exchange uses stale rows";

Json list_of(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }
Json count() { return {{"type", "integer"}, {"minimum", 0}}; }

const Register<FactsTag> full_batch_facts{
    {"full_batch",
     "stale exchanges and chunks",
     "",
     {},
     {{{"sent_share", "1",
        "For stale exchanges, per epoch of the first repetition, warm-up included: bytes that they sent, as a share of "
        "the bytes that an exact run sends through them. What they sent includes what tells readers which rows come, "
        "and the all-reduce of the largest distance.",
        list_of({{"type", {"number", "null"}}}), nothing_stale},
       {"sent_bytes_by_epoch", "bytes",
        "For stale exchanges: bytes of all purposes that ranks sent to each other in each of these epochs, "
        "summed over ranks.",
        list_of(count()), nothing_stale},
       {"fusion_units", "1",
        "For strategies with chunks: units of chunks that each rank's spatial stages walk one by one, in the block of "
        "steps where it has most; 1: all together.",
        list_of(count()), no_chunks},
       {"loaded_bytes", "bytes",
        "For strategies with chunks, per epoch and summed over ranks: bytes that spatial stages load each time that "
        "they are computed. These are rows of A, and rows of the inputs of layers that read neighbours. A row "
        "counts once for each unit that loads it.",
        count(), no_chunks},
       {"padded_share",
        "1",
        "For strategies with chunks: share of padding in the rows of bins that recurrences and attentions "
        "over time walk; 0 where timelines are rectangles.",
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
