#include "core/fields.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/joined_fields.hpp"

namespace strobe {
namespace {

struct Params {
  int window = 5;
  double rate = 0.01;
  bool fast = true;
  std::string mode = "in";
};

const FieldTable& params_fields() {
  static const FieldTable table = make_fields<Params>()
                                      .integer("window", &Params::window, "steps", "M-transform window", 1, 1000)
                                      .real("rate", &Params::rate, "", "learning rate", 0.0, 1.0)
                                      .boolean("fast", &Params::fast, "use the fast form")
                                      .choice("mode", &Params::mode, {"in", "out"}, "orientation");
  return table;
}

TEST(Fields, DefaultsThenValues) {
  const Params params = from_json<Params>(params_fields(), Json::parse(R"({"window": 7, "mode": "out"})"), "");
  EXPECT_EQ(params.window, 7);
  EXPECT_EQ(params.mode, "out");
  EXPECT_DOUBLE_EQ(params.rate, 0.01);
}

TEST(Fields, UnknownKeyNamesPointerAndNearest) {
  try {
    from_json<Params>(params_fields(), Json::parse(R"({"windw": 7})"), "/model");
    FAIL() << "an unknown key was accepted";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/model/windw");
    EXPECT_NE(std::string(error.what()).find("'window'"), std::string::npos);
  }
}

TEST(Fields, WrongTypeRangeAndChoiceAreRefused) {
  for (const char* text : {R"({"window": 1.5})", R"({"window": 0})", R"({"rate": 2})", R"({"mode": "sideways"})",
                           R"({"fast": 1})", R"({"window": "7"})"}) {
    EXPECT_THROW(from_json<Params>(params_fields(), Json::parse(text), ""), InvalidRequest) << text;
  }
}

TEST(Fields, TextValuesConvertForSet) {
  Params params;
  params_fields().apply(&params, Json{{"window", "9"}, {"fast", "false"}, {"mode", "out"}}, "", true);
  EXPECT_EQ(params.window, 9);
  EXPECT_FALSE(params.fast);
}

TEST(Fields, CompletePrintsEveryField) {
  EXPECT_EQ(params_fields().complete(Json::parse(R"({"rate": 0.5})"), "").dump(),
            R"({"window":5,"rate":0.5,"fast":true,"mode":"in"})");
}

struct OtherParams {
  double share = 0.5;
  std::string note = "none";
};

TEST(Fields, JoinedTablesReadAndWriteAnObjectOfEach) {
  const FieldTable other = make_fields<OtherParams>()
                               .real("share", &OtherParams::share, "", "share", 0, 1)
                               .text("note", &OtherParams::note, "note");
  const FieldTable joined = joined_fields({params_fields(), FieldTable(), chosen_fields(other, {"note"})});
  EXPECT_EQ(joined.names(), (std::vector<std::string>{"window", "rate", "fast", "mode", "note"}));
  EXPECT_EQ(joined.complete({{"window", 9}, {"note", "a"}}, ""),
            Json::parse(R"({"window": 9, "rate": 0.01, "fast": true, "mode": "in", "note": "a"})"));
  EXPECT_EQ(joined.complete(Json::object(), "")["note"], "none") << "objects do not share their values";
  EXPECT_EQ(joined.schema()["window"]["default"], 5);
  EXPECT_THROW(joined.complete({{"share", 0.1}}, ""), InvalidRequest) << "not chosen";
  EXPECT_THROW(joined.complete({{"rate", 2}}, ""), InvalidRequest) << "ranges are those of the own table";
  EXPECT_EQ(chosen_fields(other, {"note", "share"}).names(), other.names()) << "in the order of the table";
}

const FieldTable& preset_fields() {
  static const FieldTable table = make_fields<Params>()
                                      .integer("window", &Params::window, "steps", "M-transform window", 1, 1000)
                                      .real("rate", &Params::rate, "", "learning rate", 0.0, 1.0)
                                      .choice("mode", &Params::mode, {"in", "out"}, "orientation")
                                      .preset("paper", "a paper", {{"window", 40}, {"mode", "out"}})
                                      .preset("fast", "nobody", {{"rate", 0.5}});
  return table;
}

TEST(Fields, APresetSetsItsValuesAndAnExplicitValueWinsWhereverItStands) {
  for (const char* text : {R"({"preset": "paper", "window": 7})", R"({"window": 7, "preset": "paper"})"}) {
    const Params params = from_json<Params>(preset_fields(), Json::parse(text), "");
    EXPECT_EQ(params.window, 7) << text;
    EXPECT_EQ(params.mode, "out") << text;
    EXPECT_DOUBLE_EQ(params.rate, 0.01) << text;
  }
  const Json complete = preset_fields().complete(Json{{"preset", "paper"}}, "");
  EXPECT_EQ(complete, (Json{{"window", 40}, {"rate", 0.01}, {"mode", "out"}})) << "the preset is resolved";
}

TEST(Fields, AnUnknownPresetNamesThoseThatExistAndATableWithoutAnyRefusesTheKey) {
  for (const Json& wrong : {Json("papr"), Json("small"), Json(3)}) {
    try {
      preset_fields().complete(Json{{"preset", wrong}}, "/model");
      FAIL() << wrong;
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), "/model/preset");
      if (wrong.is_string()) {
        EXPECT_NE(error.message().find("Known: paper, fast."), std::string::npos) << error.message();
      }
    }
  }
  EXPECT_THROW(params_fields().complete(Json{{"preset", "paper"}}, ""), InvalidRequest);
}

TEST(Fields, EveryMistakeIsNamedAndOneMistakeAloneIsAsBefore) {
  const std::vector<std::pair<std::string, Json>> wrong = {{"windw", 7},    {"rate", 2},     {"mode", "sideways"},
                                                           {"fast", "yes"}, {"window", 1.5}, {"other", 1}};
  for (std::size_t set = 1; set < (std::size_t{1} << wrong.size()); ++set) {
    Json values = Json::object();
    std::vector<std::string> places;
    for (std::size_t i = 0; i < wrong.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      values[wrong[i].first] = wrong[i].second;
      places.push_back("/model/" + wrong[i].first);
    }
    try {
      params_fields().complete(values, "/model");
      FAIL() << values;
    } catch (const InvalidRequest& error) {
      std::vector<std::string> named;
      for (const InvalidRequest& one : error.all()) named.push_back(one.where());
      if (places.size() == 1) named = {error.where()};
      EXPECT_EQ(error.all().size(), places.size() == 1 ? 0 : places.size());
      EXPECT_EQ(named, places) << error.what();
    }
  }
}

}  // namespace
}  // namespace strobe
