// DynaHB's hybrid batches, and the baselines of its paper that differ from it by their options alone.
#include "harness/placement/hybrid_options.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {
namespace {

constexpr const char* paper = "Song et al., DynaHB, VLDB'24";

/// Full batches with cached vertices: PyG-T made distributed.
struct PydDefaults : DynaHbDefaults {
  static constexpr const char* vertices = "100%";
  static constexpr const char* snapshots = "100%";
};

/// Batches of vertices over all steps.
struct DbovDefaults : DynaHbDefaults {
  static constexpr const char* snapshots = "100%";
};

/// Batches of snapshots with all vertices.
struct DbosDefaults : DynaHbDefaults {
  static constexpr const char* vertices = "100%";
};

const Register<StrategyTag> hybrid_batch_registered{{
    "hybrid_batch",
    "batches of some of a rank's own vertices in a window of steps; what they read is cached, so no embedding crosses",
    paper,
    hybrid_fields<HybridOptions>(),
    StrategyTag::Value("hybrid_batches"),
    {},
}};

const Register<StrategyTag> pyd_registered{{
    "pyd",
    "hybrid_batch with all vertices and all steps: full batches on cached vertices (PyD)",
    paper,
    hybrid_fields<HybridOptionsOf<PydDefaults>>(),
    StrategyTag::Value("hybrid_batches"),
    {},
}};

const Register<StrategyTag> dbov_registered{{
    "dbov",
    "hybrid_batch with all steps: batches of vertices (DBoV)",
    paper,
    hybrid_fields<HybridOptionsOf<DbovDefaults>>(),
    StrategyTag::Value("hybrid_batches"),
    {},
}};

const Register<StrategyTag> dbos_registered{{
    "dbos",
    "hybrid_batch with all vertices: batches of snapshots (DBoS)",
    paper,
    hybrid_fields<HybridOptionsOf<DbosDefaults>>(),
    StrategyTag::Value("hybrid_batches"),
    {},
}};

}  // namespace
}  // namespace strobe
