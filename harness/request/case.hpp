// A case: one fully named thing to run. The command line and suites expand into cases; the run loop takes one at a
// time.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/kernel.hpp"
#include "core/fields.hpp"
#include "results/row/sample.hpp"

namespace strobe {

/// The device that computes on this machine's cores, for work that always runs here.
inline constexpr const char* host_device = "cpu";

/// Scalar settings of a case. Plug-in choices are objects {"name": ..., parameters...} completed with all defaults.
struct Case {
  Json workload, model, strategy, task, optimizer;  // each {"name", every parameter}
  std::string device = host_device;                 // DeviceRegistry
  std::string comm = "local";                       // CommunicatorRegistry; "sim" goes with device sim
  std::string cluster;                              // name or file; only with device sim
  std::string software = "strobe";                  // the predicted software (backends/software.hpp); device sim only
  std::string numerics = "cpu";                     // none | cpu: `sim` computes with this (default none for sim)
  std::string precision = "fp32";                   // fp32 | fp64
  std::int64_t ranks = 1;
  std::int64_t seed = 1;
  std::int64_t epochs = 5;          // measured epochs
  std::int64_t warmup = 1;          // earlier epochs: trained and recorded, but not in the statistics
  std::int64_t repeat = 1;          // whole runs from fresh parameters
  std::int64_t threads = 0;         // kernel threads of a rank; 0 = its share of the cores, at least 1
  std::int64_t host_threads = 1;    // workers of a rank's host work; not for full batches, which have none
  std::string kernels;              // "" = best variant of each kernel, "plain" = the reference kernels
  std::string presence = "all";     // cells that exist: all | seen | lifetime | active (workloads/graph/presence.hpp)
  std::string inputs = "streamed";  // streamed: inputs move to the device each epoch; resident: once
  std::string transfer = "direct";  // how snapshots reach the device: direct | full | difference | changed | least
  std::string transfer_format = "csr32";  // index format, unless direct: coo64 (the paper's) | csr32
  std::string nb = "1";                   // blocks of the checkpointed timeline (1 = all steps at once), or auto
  std::int64_t overlap = 1;               // slices of a block's steps, to overlap exchanges with compute
  bool rerun_last = true;                 // with blocks: also recompute the last one before its backward pass
  std::string load_model;                 // safetensors file to start from; "" = seeded initial weights
  double timeout = 60;                    // seconds a collective may wait for missing ranks
  double memory_limit_gib = 0;            // per rank; 0 = the device's own
  double host_memory_limit_gib = 0;       // of all processes of a node, and the graph stays in a file; 0 = none
  std::int64_t draws = 0;                 // drawn clusters in which a predicted epoch is timed as well; device sim only
  std::string until;                      // ends training before `epochs`: "converged[:...]", "auc=0.8"; "" = never
};

/// Files that a run writes in addition to its rows; "" = not requested. Without values (numerics none) there is nothing
/// to write.
struct ModelOutputs {
  std::string weights;                       // safetensors: the trained weights
  std::map<std::string, std::string> files;  // paths by name in OutputFileRegistry, such as "embeddings"
  std::string checkpoint;                    // safetensors: state of training, with weights and optimiser state
  std::int64_t checkpoint_every = 0;         // epochs from one checkpoint to the next; 0 = only after the last epoch
  bool resume_training = false;              // start from `checkpoint`, not from the beginning
  bool checkpoint_on_signal = true;          // also write the checkpoint when a signal ends the run
  bool planned_memory = false;               // also plan the memory of every rank, for the row
  bool resume_over = false;                  // with `resume_training`: training that is already over gives its row
};

/// Field table of the scalar settings above (not of the plug-in objects).
const FieldTable& case_fields();

/// The kernels that compute values on a device; `none` for one that this build lacks.
Numerics kernel_numerics(const std::string& device);
/// Whether the device is this machine's cores and memory; false for one that this build lacks.
bool is_on_host(const std::string& device);
/// Whether all ranks of the case run in one process; those of a communicator that this build lacks do not.
bool in_one_process(const Case& c);

/// The number of blocks that the case requests; 0 for auto. Throws InvalidRequest when `nb` is neither auto nor a
/// number of at least 1.
std::int64_t block_count(const Case& c);

/// The place where a case runs. A case that ran elsewhere may name a device, communicator or kernels that this build
/// lacks.
enum class CaseRuns : std::uint8_t { here, elsewhere };

/// Converts a case to canonical JSON (every field, plug-ins first) and back. `case_from_json` checks every key and
/// completes plug-in parameters from their registries. It throws InvalidRequest with the JSON pointer under `pointer`.
/// For cases that run here, it also throws Unavailable when a backend is not built.
Json case_to_json(const Case& c);
Case case_from_json(const Json& json, const std::string& pointer, CaseRuns runs = CaseRuns::here);

/// "chess/tm-gcn/snapshot/cpu/r4#a1b2c3": readable key and the first 6 hex digits of the canonical JSON's SHA-256.
std::string case_id(const Case& c);

}  // namespace strobe
