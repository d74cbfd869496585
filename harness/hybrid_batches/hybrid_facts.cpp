// Keys of rows that only hybrid batches have: data that they hold, and cells that they compute, more than once.
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
        "For hybrid batches: bytes of the other ranks' vertices that each rank keeps for its batches to "
        "read: row offsets, columns and values of matrices, and features of all training steps.",
        {{"type", "array"}, {"items", count()}}},
       {"distributed_bytes", "bytes",
        "For hybrid batches: bytes that distributing these vertices once before training moves, all ranks "
        "together; not part of any epoch's bytes.",
        count()},
       {"evaluation_bytes",
        "bytes",
        "For hybrid batches: most accounted memory of each rank while its weights are evaluated, in blocks of "
        "steps; it is not in peak_bytes, which is that of training.",
        {{"type", "array"}, {"items", count()}},
        "no weights were evaluated"},
       {"duplication", "1",
        "For hybrid batches: vertices of other ranks that ranks keep, over the vertices that they own; with "
        "cut=steps, training steps instead of vertices; 0: nothing is kept twice.",
        number()},
       {"redundant_computation", "1",
        "For hybrid batches: cells that the layers of a batch compute beyond its targets, over the target "
        "cells of all layers; mean of a few batches of the first size, drawn while planning. For full batches: "
        "rows of a layer that ranks compute for cells of others, over the cells of all layers.",
        number()}},
      ""},
     {}}};

}  // namespace
}  // namespace strobe
