// Invariant: a row on disk has the samples of all its rounds on disk.
#include "harness/cli/validation/validation_keeper.hpp"

#include <nlohmann/json.hpp>

#include "harness/process/output_path.hpp"
#include "results/run/environment.hpp"
#include "results/run/files.hpp"

namespace strobe {

ValidationKeeper::ValidationKeeper(const std::string& folder, const std::vector<ValidationPair>& pairs,
                                   const Json& measured_environment)
    : folder_(folder) {
  std::vector<Case> measured, simulated;
  for (const ValidationPair& pair : pairs) {
    measured.push_back(pair.measured);
    simulated.push_back(pair.simulated);
  }
  make_output_folder("--out", folder);
  measured_ = std::make_unique<RunDirectory>(folder + "/measured", plan_json(measured), measured_environment, false);
  predicted_ = std::make_unique<RunDirectory>(folder + "/predicted", plan_json(simulated), environment(), false);
}

void ValidationKeeper::keep(const PairResult& result) {
  const auto [samples, first] = samples_kept_.emplace(result.pair.id, 0);
  const std::vector<EpochSample>& all = result.measured.samples;
  measured_->append_samples(result.pair.id, {all.begin() + static_cast<std::ptrdiff_t>(samples->second), all.end()});
  measured_->add_row(measured_row(result));
  samples->second = all.size();
  if (!first) return;  // only the first round simulates
  const Case& c = result.pair.simulated;
  const std::string id = case_id(c);
  predicted_->append_samples(id, result.simulated.samples);
  predicted_->add_row(summarise(case_to_json(c), id, result.simulated));
}

void ValidationKeeper::write(const Judgement& judgement, const Json& report) const {
  write_file_atomically(folder_ + "/validation.json", report.dump(2) + "\n");
  write_file_atomically(folder_ + "/validation.csv", validation_csv(judgement));
}

}  // namespace strobe
