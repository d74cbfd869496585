// DynaHB's hybrid batches, and the baselines of its paper that differ only in their options.
#include <nlohmann/json.hpp>

#include "core/names_elsewhere.hpp"
#include "harness/hybrid_batches/strategies/hybrid_options.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {
namespace {

constexpr const char* paper = "Song et al., DynaHB, VLDB'24";

/// The whole system.
struct DynaHbDefaults : HybridDefaults {
  static constexpr const char* averaging = "async";
  static constexpr const char* adjuster = "dqn";
};

/// The options that the baselines have in common.
struct BaselineDefaults : HybridDefaults {
  static constexpr const char* generator = "inline";
  static constexpr bool reservoir = false;
};

struct PydDefaults : BaselineDefaults {
  static constexpr const char* vertices = "100%";
  static constexpr const char* snapshots = "100%";
};

struct DbovDefaults : BaselineDefaults {
  static constexpr const char* snapshots = "100%";
};

struct DbosDefaults : BaselineDefaults {
  static constexpr const char* vertices = "100%";
};

struct DynaGraphDefaults : DbosDefaults {
  static constexpr const char* cut = "steps";
};

struct BvrDefaults : HybridDefaults {
  static constexpr const char* snapshots = "100%";
};

template <class Defaults>
Entry<StrategyTag::Value> with_defaults(const char* name, const char* description) {
  return {
      name, description, paper, hybrid_fields<HybridOptionsOf<Defaults>>(), StrategyTag::Value("hybrid_batches", true),
      {}};
}

template <class Defaults>
Entry<StrategyTag::Value> preset(const char* name, const char* description) {
  Entry<StrategyTag::Value> entry = with_defaults<Defaults>(name, description);
  entry.value = std::move(entry.value).as_preset();
  return entry;
}

/// With averaged models, a search tries the default interval and a longer one. A given interval stays.
std::vector<StrategyTag::Searched> searched_intervals(const Json& parameters, std::int64_t, std::int64_t) {
  const HybridOptions defaults;
  if (parameters.at("averaging") != "async" || parameters.at("interval") != defaults.interval) return {{}};
  return {{{{"interval", 10}}, {}}, {{{"interval", 50}}, {}}};
}

const Register<StrategyTag> hybrid_batch_registered{{
    "hybrid_batch",
    "batches of some of a rank's own vertices in a window of steps; the cells they read are cached, so "
    "no embedding crosses ranks",
    paper,
    hybrid_fields<HybridOptions>(),
    StrategyTag::Value("hybrid_batches", true).searching(searched_intervals),
    {},
}};

const Register<StrategyTag> dynahb_registered{with_defaults<DynaHbDefaults>(
    "dynahb", "hybrid_batch with sizes chosen by deep Q-learning and models averaged at intervals")};
const Register<StrategyTag> pyd_registered{
    preset<PydDefaults>("pyd", "hybrid_batch with all vertices and all steps: full batches on cached vertices (PyD)")};
const Register<StrategyTag> dbov_registered{
    preset<DbovDefaults>("dbov", "hybrid_batch with all steps: batches of vertices (DBoV)")};
const Register<StrategyTag> dbos_registered{
    preset<DbosDefaults>("dbos", "hybrid_batch with all vertices: batches of snapshots (DBoS)")};
const Register<StrategyTag> dynagraph_registered{preset<DynaGraphDefaults>(
    "dynagraph", "hybrid_batch with windows of all vertices dealt to ranks: DynaGraph's sliding windows of snapshots")};
const Register<StrategyTag> bvr_registered{
    preset<BvrDefaults>("bvr", "hybrid_batch with all steps: batches of vertices from a reservoir (BVR)")};

const RegisterNames hybrid_batch_elsewhere{
    "strategy",
    {{"hybrid", "hybrid_batch", "dynahb is the same with DynaHB's own choices"},
     {"data-parallel", "hybrid_batch", "of models of events event_batch:i=RANKS"},
     {"dp", "hybrid_batch", "of models of events event_batch:i=RANKS"},
     {"ddp", "hybrid_batch", "of models of events event_batch:i=RANKS"},
     {"distdgl", "", "nearest is hybrid_batch"}}};

}  // namespace
}  // namespace strobe
