// Simulated bank transfers with 200 fan-in and 200 cycle laundering patterns; steps are days, accounts carry isFraud.
#include "workloads/graph/plugins.hpp"

namespace strobe {
namespace {

const Register<DatasetTag> amlsim_20k_registered{
    {"amlsim-20k",
     "AMLSim sample 20K_fanin200cycle200: 120,558 transfers of 19,980 accounts, 149 steps (bundled)",
     "Weber et al., Scalable Graph Learning for Anti-Money Laundering, 2018; github.com/IBM/AMLSim",
     {},
     {.file = "amlsim-20k/transactions.csv.gz",
      .sha256 = "86c8e266bf96e2447981050d1036b1ff7853f78368642da851ae50e8acc09eaf",
      .origin = "github.com/IBM/AMLSim, sample/20K_fanin200cycle200.tgz",
      .licence = "Apache-2.0",
      .format = "amlsim",
      .windowing = {},
      .expected_vertices = 19980,
      .expected_events = 120558,
      .companion = "amlsim-20k/nodes.csv.gz",
      .companion_sha256 = "1f25e89a0f0adff28d52ffec1893af041bd728eaa8b3a42a7a9867d8d4a461f3"},
     {}}};

}  // namespace
}  // namespace strobe
