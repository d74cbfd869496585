// Presets of models: every registered one gives a model, and the order of layers decides which sizes win.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/request/option_text.hpp"
#include "harness/request/suite.hpp"
#include "harness/request/typed_settings.hpp"
#include "models/events/event_model.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {
namespace {

Json model_of_settings(const std::vector<Setting>& more) {
  std::vector<Setting> settings = {{"workload", "chess", "--workload"}};
  settings.insert(settings.end(), more.begin(), more.end());
  return suite_from_settings(settings).cases.front().model;
}

TEST(Presets, EveryPresetOfEveryModelGivesAModelWithItsValues) {
  std::size_t papers = 0;
  for (const auto& [name, entry] : ModelRegistry::instance().entries()) {
    for (const Preset& preset : entry.parameters.presets()) {
      EXPECT_FALSE(preset.source.empty()) << name;
      Json complete = entry.parameters.complete(Json{{"preset", preset.name}}, "/model");
      for (const auto& [key, value] : preset.values)
        EXPECT_EQ(complete.at(key), std::visit([](const auto& held) { return Json(held); }, value)) << name << key;
      if (entry.value.family == "snapshots") {
        EXPECT_FALSE(entry.value(complete)->layers(2).empty());
      } else {
        EXPECT_NE(EventModelRegistry::instance().find(name).value(complete), nullptr);
      }
      complete["name"] = name;
      EXPECT_FALSE(preset_of(complete).empty());
      if (preset.name == "paper") {
        EXPECT_EQ(preset_of(complete), "paper");
        ++papers;
      }
    }
  }
  EXPECT_EQ(papers, 11u)
      << "dysat, tm-gcn, cd-gcn, evolve-gcn-o, evolve-gcn-h, t-gcn, mpnn-lstm, dcrnn, three of events";
}

TEST(Presets, APresetIsTheSameCaseAsItsValuesTyped) {
  const auto case_of = [](const std::vector<Setting>& settings) { return suite_from_settings(settings).cases.front(); };
  const Case by_name = case_of({{"workload", "chess", ""}, {"model", "dysat", ""}, {"model.preset", "paper", ""}});
  const Case by_value = case_of({{"workload", "chess", ""},
                                 {"model", "dysat", ""},
                                 {"model.hidden", "128", ""},
                                 {"model.structural_heads", "16", ""},
                                 {"model.temporal_heads", "16", ""}});
  EXPECT_EQ(case_to_json(by_name), case_to_json(by_value));
  EXPECT_EQ(case_id(by_name), case_id(by_value));
  EXPECT_FALSE(by_name.model.contains("preset"));
}

TEST(Presets, AnExplicitValueWinsInAnyOrderOfTheCommandLine) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Setting> settings = {
        {"model", "dysat", "--model"}, {"model.preset", "paper", "--model"}, {"model.hidden", "32", "--set"}};
    std::shuffle(settings.begin(), settings.end(), random);
    const Json model = model_of_settings(settings);
    EXPECT_EQ(model.at("hidden"), 32) << seed;
    EXPECT_EQ(model.at("temporal_heads"), 16) << seed;
  }
}

TEST(Presets, ALaterLayerOfASuiteWinsOverAnEarlierOne) {
  const auto hidden = [](const char* defaults, const char* own, const std::vector<Setting>& settings) {
    const Json suite = {{"name", "s"},
                        {"defaults", {{"workload", "chess"}, {"model", Json::parse(defaults)}}},
                        {"cases", {{{"model", Json::parse(own)}}}}};
    return expand_suite(suite, settings).cases.front().model.at("hidden");
  };
  const char *paper = R"({"name": "dysat", "preset": "paper"})", *wide = R"({"name": "dysat", "hidden": 64})";
  EXPECT_EQ(hidden(paper, wide, {}), 64);
  EXPECT_EQ(hidden(wide, paper, {}), 128);
  EXPECT_EQ(hidden(wide, wide, {{"model.preset", "paper", "--set"}}), 128);
  EXPECT_EQ(hidden(paper, paper, {{"model.hidden", "48", "--set"}}), 48);
  EXPECT_EQ(hidden(R"({"name": "dysat", "hidden": 64, "preset": "paper"})", R"({"name": "dysat"})", {}), 64);
  EXPECT_EQ(hidden(paper, R"({"name": "t-gcn"})", {}), 6) << "the preset was of another model";
}

TEST(Presets, AMatrixTriesPresets) {
  const Json suite = Json::parse(R"({"name": "s", "defaults": {"workload": "chess"}, "cases": [
    {"model": {"name": "t-gcn", "hidden": 9}, "matrix": {"model.preset": ["paper", "small"]}}]})");
  const Suite expanded = expand_suite(suite, {});
  ASSERT_EQ(expanded.cases.size(), 2u);
  EXPECT_EQ(expanded.cases[0].model.at("hidden"), 64);
  EXPECT_EQ(expanded.cases[1].model.at("hidden"), 6);
}

TEST(Presets, TypedParametersResolveThePreset) {
  const FieldTable table = ModelRegistry::instance().find("dcrnn").parameters;
  const Json typed = typed_parameters(table, {{"hops", "3"}, {"preset", "paper"}});
  EXPECT_EQ(typed, (Json{{"hops", 3}, {"hidden", 64}, {"layers", 2}}));
}

TEST(Presets, PaperSizesAreAddedOnlyWhereNoWidthIsTyped) {
  const auto hidden = [](std::vector<Setting> settings) {
    add_paper_sizes(settings);
    return model_of_settings(settings).at("hidden");
  };
  EXPECT_EQ(hidden({{"model", "dysat", ""}}), 128);
  EXPECT_EQ(hidden({{"model", "dysat", ""}, {"model.scale", "sqrt_T", ""}}), 128);
  EXPECT_EQ(hidden({{"model", "dysat", ""}, {"model.structural_heads", "4", ""}}), 128);
  EXPECT_EQ(hidden({{"model", "dysat", ""}, {"model.hidden", "12", ""}}), 12);
  EXPECT_EQ(hidden({{"model", "dysat", ""}, {"model.preset", "small", ""}}), 6);
  EXPECT_EQ(hidden({}), 6) << "tm-gcn, whose paper has 6";
}

TEST(Presets, UnknownOnesAreRefusedWithTheirOption) {
  try {
    model_of_settings({{"model", "dysat", "--model"}, {"model.preset", "papr", "--model preset"}});
    FAIL();
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "--model preset");
    EXPECT_NE(error.message().find("did you mean 'paper'?"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace strobe
