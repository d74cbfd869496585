#include "core/names_elsewhere.hpp"

#include <cctype>
#include <iterator>

namespace strobe {
std::string plain_name(const std::string& name) {
  std::string plain;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

namespace {

constexpr NameElsewhere table[] = {
    // models of events
    {"model", "tgn", "tgn-attn", "TGN with attention over neighbours; its other forms are not here"},
    {"model", "dyrep", "", "nearest are jodie and tgn-attn"},
    {"model", "apan", "", "nearest is tgn-attn"},
    {"model", "graphmixer", "", "nearest is tgat, which has no memory either"},
    {"model", "dygformer", "", "nearest is tgat"},
    {"model", "cawn", "", "nearest is tgat"},
    {"model", "tcl", "", "nearest is tgat"},
    {"model", "edgebank", "", "it learns nothing, so it is no model: rows hold it beside the metrics, as edgebank_auc"},
    // models of snapshots
    {"model", "evolvegcn", "evolve-gcn-o", "evolve-gcn-h is the other variant"},
    {"model", "egcn", "evolve-gcn-o", "evolve-gcn-h is the other variant"},
    {"model", "egcn-o", "evolve-gcn-o", ""},
    {"model", "egcn-h", "evolve-gcn-h", ""},
    {"model", "dcgru", "dcrnn", "the cell of DCRNN"},
    {"model", "roland", "", "nearest are t-gcn and evolve-gcn-o"},
    {"model", "gconvgru", "", "nearest is t-gcn"},
    {"model", "gconvlstm", "", "nearest is mpnn-lstm"},
    {"model", "gcrn", "", "nearest is mpnn-lstm"},
    {"model", "gc-lstm", "", "nearest is cd-gcn"},
    {"model", "a3tgcn", "", "nearest is t-gcn"},
    {"model", "stgcn", "", "nearest is t-gcn"},
    {"model", "wd-gcn", "", "nearest is cd-gcn"},
    {"model", "gat", "", "it has no time; nearest is dysat"},
    {"model", "graphsage", "", "it has no time; nearest is t-gcn"},
    // strategies
    {"strategy", "dgc", "chunk", "DGC's chunks; pss and vertex are its baselines"},
    {"strategy", "pgc", "chunk", "DGC's partitioning by graph chunks"},
    {"strategy", "pss-ts", "snapshot", ""},
    {"strategy", "pts", "vertex", "DGC's name for partitioning by vertices"},
    {"strategy", "esdg", "snapshot", "ESDG's snapshot partitioning; snapshot_groups is its section 6.5"},
    {"strategy", "hybrid", "hybrid_batch", "dynahb is the same with DynaHB's own choices"},
    {"strategy", "disttgl", "event_batch", "i, j and k of it are mini-batch, epoch and memory parallelism"},
    {"strategy", "tgl", "event_batch", "with i = ranks"},
    {"strategy", "memory-parallel", "event_batch", "its parameter k"},
    {"strategy", "memory-parallelism", "event_batch", "its parameter k"},
    {"strategy", "epoch-parallel", "event_batch", "its parameter j"},
    {"strategy", "epoch-parallelism", "event_batch", "its parameter j"},
    {"strategy", "mini-batch-parallel", "event_batch", "its parameter i"},
    {"strategy", "mini-batch-parallelism", "event_batch", "its parameter i"},
    {"strategy", "data-parallel", "hybrid_batch", "of models of events event_batch:i=RANKS"},
    {"strategy", "ddp", "hybrid_batch", "of models of events event_batch:i=RANKS"},
    {"strategy", "cagnet", "vertex", "its one-dimensional form; the others are not here"},
    {"strategy", "distdgl", "", "nearest is hybrid_batch"},
    {"strategy", "pipad", "", "nearest is snapshot"},
    {"strategy", "tensor-parallel", "", "no strategy here divides features or weights"},
    {"strategy", "model-parallel", "", "no strategy here divides features or weights"},
    {"strategy", "pipeline-parallel", "", "nearest is pss, whose ranks hand states on"},
    {"strategy", "none", "sequential", ""},
    // partitioners
    {"partitioner", "random", "hash", ""},
    {"partitioner", "parmetis", "metis", ""},
    {"partitioner", "zoltan", "hypergraph", ""},
    {"partitioner", "kahypar", "hypergraph", "which Zoltan partitions here"},
    // keys of a case
    {"key", "batch_size", "strategy.batch", "events of an evaluation are task.batch"},
    {"key", "lr", "optimizer.rate", ""},
    {"key", "learning_rate", "optimizer.rate", ""},
    {"key", "hidden_dim", "model.hidden", ""},
    {"key", "hidden_size", "model.hidden", ""},
    {"key", "num_layers", "model.layers", ""},
    {"key", "staleness", "strategy.stale", "as stale=static"},
    {"key", "partitioner", "strategy.partitioner", ""},
    {"key", "schedule", "strategy", "a strategy says by what it trains"},
    {"key", "gpus", "ranks", "a rank is a GPU where the device is one"},
    {"key", "world_size", "ranks", ""},
    {"key", "workers", "ranks", ""},
    {"key", "dataset", "workload", ""},
    {"key", "dtype", "precision", ""},
};

}  // namespace

const std::vector<NameElsewhere>& names_elsewhere() {
  static const std::vector<NameElsewhere> all(std::begin(table), std::end(table));
  return all;
}

const NameElsewhere* name_elsewhere(const std::string& kind, const std::string& name) {
  const std::string plain = plain_name(name);
  for (const NameElsewhere& entry : names_elsewhere())
    if (entry.kind == kind && plain_name(entry.name) == plain) return &entry;
  return nullptr;
}

}  // namespace strobe
