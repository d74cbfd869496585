// The scalar settings of a case: their names, ranges, help texts, and the names that others give their values.
#include <string>
#include <vector>

#include "backends/software.hpp"
#include "core/names_elsewhere.hpp"
#include "harness/request/case.hpp"
#include "workloads/graph/presence.hpp"

namespace strobe {
namespace {

constexpr const char* overlap_help =
    "full batches only: slices of a rank's steps of a block: the redistribution of one is under way while the spatial "
    "stages of others are computed; 1 = one after the other";
constexpr const char* presence_help =
    "models of snapshots only: which vertices a step has; others have no row, no part in statistics and no samples; a "
    "model forgets a vertex that is missing at a step. seen = from its first edge on; lifetime = from its first edge "
    "to its last; active = at steps at which it has an edge";
constexpr const char* transfer_help =
    "full batches only: how snapshots reach the device: direct = a rank's part of a block in one piece, in the form it "
    "is used in; full = one by one, whole; difference = against the snapshot before, with all values (ESDG); changed = "
    "with changed values only; least = whichever of these has the fewest bytes";
std::vector<std::string> searched_inputs(bool /*sizes_only*/) { return {"streamed", "resident"}; }
/// A shape has no values to compare, which `changed` and `least` need. For a graph, `least` never moves more than
/// `changed`.
std::vector<std::string> searched_transfers(bool sizes_only) {
  if (sizes_only) return {"direct", "full", "difference"};
  return {"direct", "full", "difference", "least"};
}
std::vector<std::string> searched_blocks(bool /*sizes_only*/) { return {"1", "2", "4", "8"}; }
/// For a shape, the rows that cross are unknown, so its exchanges cannot be cut into slices.
std::vector<std::string> searched_slices(bool sizes_only) {
  if (sizes_only) return {"1"};
  return {"1", "2", "4"};
}
constexpr const char* blocks_help =
    "full batches only: blocks of the timeline under gradient checkpoint: 1 = all steps at once, or auto = as few as "
    "fit memory_limit_gib and host_memory_limit_gib, or a simulated GPU";
constexpr const char* rerun_last_help =
    "full batches only: with blocks, compute the last one again before its backward pass, as ESDG counts it";
constexpr const char* host_memory_limit_help =
    "memory of all processes of a node together; the graph stays in a file, and blocks are read ahead of use; 0 = none";
constexpr const char* transfer_format_help =
    "full batches only: indices of moved snapshots: coo64 = rows and columns of 8 bytes, as ESDG's 20 bytes a "
    "non-zero; csr32 = 4 bytes";
constexpr const char* draws_help =
    "device sim only: also predict each epoch in this many draws of the cluster's uncertain constants, so that rows "
    "say in how many of them a case is first; all cases of a cluster have the same draws";
constexpr const char* until_help =
    "when training ends before its last epoch: converged, converged:metric=loss,patience=10, or a metric of the "
    "validation samples and its value, such as auc=0.8 or rmse=0.5, or a share of the way from the best rule to the "
    "best "
    "known, such as mrr=50% or mrr=50%,best=0.9; empty = never";

const RegisterNames devices_elsewhere{"device",
                                      {{"gpu", "cuda", "type --device cuda; --device sim predicts a GPU"},
                                       {"nvidia", "cuda", "type --device cuda; --device sim predicts a GPU"}}};

const RegisterNames communicators_elsewhere{
    "communicator", {{"gloo", "local", "threads of one process; mpi joins processes, nccl joins GPUs"}}};
const RegisterNames precisions_elsewhere{"value of precision",
                                         {{"float", "fp32", ""},
                                          {"float32", "fp32", ""},
                                          {"double", "fp64", ""},
                                          {"float64", "fp64", ""},
                                          {"fp16", "", "training is in fp32 or fp64"},
                                          {"float16", "", "training is in fp32 or fp64"},
                                          {"half", "", "training is in fp32 or fp64"},
                                          {"bf16", "", "training is in fp32 or fp64"},
                                          {"bfloat16", "", "training is in fp32 or fp64"}}};

}  // namespace

const FieldTable& case_fields() {
  static const FieldTable table =
      make_fields<Case>()
          .text("device", &Case::device, "where operations run: cpu, cuda, cuda-graphs or sim")
          .text("comm", &Case::comm, "how ranks talk: local (threads), mpi, nccl; sim belongs to device sim")
          .text("cluster", &Case::cluster,
                "simulated cluster: a name from `strobe list clusters` or a JSON file; "
                "for device sim empty = aimos-v100")
          .text("software", &Case::software, software_help)
          .choice("numerics", &Case::numerics, {"none", "cpu"}, "device sim: none = no values (its default), or cpu")
          .choice("precision", &Case::precision, {"fp32", "fp64"}, "floating-point type of tensors")
          .integer("ranks", &Case::ranks, "", "number of ranks", 1, 1 << 20)
          .integer("seed", &Case::seed, "", "seed of parameters, samples and generators", 0)
          .integer("epochs", &Case::epochs, "", "measured epochs", 1, 1e9)
          .integer("warmup", &Case::warmup, "", "epochs trained before the measured ones", 0, 1e9)
          .integer("repeat", &Case::repeat, "", "whole runs from fresh parameters", 1, 1e6)
          .integer("threads", &Case::threads, "", "kernel threads; 0 = the rank's share of usable cores", 0, 4096)
          .integer("host_threads", &Case::host_threads, "",
                   "mini-batches only: threads that share each piece of a rank's host work", 1, 4096)
          .text("kernels", &Case::kernels, "kernel variant, see `strobe list kernels`; empty = the best of each")
          .choice("presence", &Case::presence, presence_kinds(), presence_help)
          .choice("inputs", &Case::inputs, {"streamed", "resident"},
                  "full batches only: move inputs to the device each epoch, or once")
          .searched(searched_inputs)
          .choice("transfer", &Case::transfer, {"direct", "full", "difference", "changed", "least"}, transfer_help)
          .searched(searched_transfers)
          .choice("transfer_format", &Case::transfer_format, {"coo64", "csr32"}, transfer_format_help)
          .text("nb", &Case::nb, blocks_help)
          .searched(searched_blocks)
          .integer("overlap", &Case::overlap, "", overlap_help, 1, 1e6)
          .searched(searched_slices)
          .boolean("rerun_last", &Case::rerun_last, rerun_last_help)
          .text("load_model", &Case::load_model, "safetensors file to start from; empty = seeded initial weights")
          .real("timeout", &Case::timeout, "s", "time that a collective may wait for missing ranks", 1e-3, 1e9)
          .real("memory_limit_gib", &Case::memory_limit_gib, "GiB", "memory per rank; 0 = the device's own", 0, 1e9)
          .real("host_memory_limit_gib", &Case::host_memory_limit_gib, "GiB", host_memory_limit_help, 0, 1e9)
          .text("until", &Case::until, until_help)
          .integer("draws", &Case::draws, "", draws_help, 0, 10000);
  return table;
}

}  // namespace strobe
