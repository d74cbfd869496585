// Keys of rows that are hybrid batches' own: what they hold and compute more than once.
#include <nlohmann/json.hpp>

#include "results/row/facts.hpp"

namespace strobe {
namespace {

Json count() { return {{"type", "integer"}, {"minimum", 0}}; }
Json number() { return {{"type", "number"}, {"minimum", 0}}; }

const Register<FactsTag> hybrid_batch_facts{
    {"hybrid_batches",
     "what hybrid batches hold and compute more than once",
     "",
     {},
     {{{"cached_bytes",
        "bytes",
        "Of hybrid batches: what the vertices of other ranks take that each rank keeps, so that all its batches find "
        "what they read: row offsets, columns and values of matrices, and features of all training steps.",
        {{"type", "array"}, {"items", count()}}},
       {"distributed_bytes", "bytes",
        "Likewise: what their one distribution before training moves, all ranks together; in no epoch's bytes.",
        count()},
       {"duplication", "1",
        "Likewise: vertices of other ranks that ranks keep, over the vertices that they own; 0: nothing is kept twice.",
        number()},
       {"redundant_computation", "1",
        "Likewise: cells that the layers of a batch compute beyond its targets, over the target cells of all layers; "
        "mean of a few batches of the first size, drawn while planning.",
        number()}},
      ""},
     {}}};

}  // namespace
}  // namespace strobe
