// `strobe report`: its page shows the values of the rows, whatever their names.
#include "tests/cli/support/report.hpp"

#include <fmt/format.h>

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

TEST_F(Report, IsOneWholePageWithoutANetwork) {
  ASSERT_EQ(strobe({"run", two_strategies(), "--out", "o"}).status, 0);
  const Outcome outcome = strobe({"report", "o", "--out", "page.html"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string page = read_text(folder_ / "page.html");
  const Json rows = read_json(folder_ / "o/summary.json").at("rows");
  for (const Json& row : rows)
    EXPECT_NE(page.find("id=\"" + row.at("case_id").get<std::string>() + "\""), std::string::npos);
  for (const char* part : {"Which strategy is best", "Where an epoch", "Training loss", "Bytes an epoch",
                           "Not shown:", "prefers-color-scheme:dark", "role=\"img\"", "@media print"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  const Outcome checked = python(check_page);
  EXPECT_EQ(checked.status, 0) << checked.err;
  EXPECT_EQ(strobe({"report", "o"}).status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "o/report.html"));
}

TEST_F(Report, HostileNamesAreText) {
  const std::string name = "<script>alert(1)<\"&.csv";
  std::string rows = "source,target,time\n";
  for (int i = 0; i < 90; ++i)
    rows += std::to_string(i % 7) + "," + std::to_string((3 * i + 1) % 11) + "," + std::to_string(i) + "\n";
  write_text(folder_ / name, rows);
  const Outcome ran = strobe({"run", "--workload", name + ":window_count=6", "--epochs", "2", "--out", "o"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  ASSERT_EQ(strobe({"report", "o", "--out", "page.html", "--title", "</title><b>"}).status, 0);
  const std::string page = read_text(folder_ / "page.html");
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("</title><b>"), std::string::npos);
  const Outcome checked = python(check_page);
  EXPECT_EQ(checked.status, 0) << checked.err;
}

TEST_F(Report, TheCommandOfARowMakesItsCase) {
  ASSERT_EQ(strobe({"run", two_strategies(), "--out", "o"}).status, 0);
  const Outcome commands =
      python("from report import runs\nfor row in runs.read_runs(['o'])[0]: print(runs.again(row))\n");
  ASSERT_EQ(commands.status, 0) << commands.err;
  std::istringstream lines(commands.out);
  std::size_t number = 0;
  const Json rows = read_json(folder_ / "o/summary.json").at("rows");
  for (std::string line; std::getline(lines, line); ++number) {
    ASSERT_EQ(line.rfind("strobe ", 0), 0u) << line;
    const Outcome planned = finish(
        start_shell("cd '" + folder_.string() + "' && '" STROBE_BINARY "' " + line.substr(7) + " --dry-run --json"));
    ASSERT_EQ(planned.status, 0) << line << "\n" << planned.err;
    EXPECT_EQ(Json::parse(planned.out).at("cases").at(0).at("case_id"), rows.at(number).at("case_id"));
  }
  EXPECT_EQ(number, rows.size());
}

/// The page's first sentences and first table are those of `compare`, `run` and `show`.
TEST_F(Report, AnswersAsTheOtherCommandsDo) {
  const Outcome ran = strobe({"run", "--workload", tiny, "--vary", "strategy=snapshot,vertex,hybrid_batch", "--ranks",
                              "2", "--device", "sim", "--epochs", "2", "--model", "t-gcn", "--out", "o"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  ASSERT_EQ(strobe({"report", "o", "--out", "page.html"}).status, 0);
  const std::string page = read_text(folder_ / "page.html");
  const Json question = Json::parse(strobe({"compare", "o", "--by", "strategy", "--json"}).out).at("questions").at(0);
  EXPECT_EQ(question.at("unit"), "cell") << "an epoch of hybrid batches has other work";
  for (const Json& sentence : question.at("sentences")) {
    EXPECT_NE(page.find(sentence.get<std::string>()), std::string::npos) << sentence;
    EXPECT_NE(ran.out.find(sentence.get<std::string>()), std::string::npos) << sentence;
  }
  for (const Json& one : question.at("contenders")) {
    if (!one.at("times_the_fastest").at("ratio").is_number()) continue;
    const std::string cell = fmt::format("{:.2f}<small>", one.at("times_the_fastest").at("ratio").get<double>());
    EXPECT_NE(page.find(cell), std::string::npos) << cell;
  }
}

TEST_F(Report, AThousandRowsStayBelowTwoMegabytes) {
  ASSERT_EQ(strobe({"run", two_strategies(), "--trace", "--out", "o"}).status, 0);
  make_a_thousand_rows("o");
  ASSERT_EQ(strobe({"report", "o", "--out", "page.html"}).status, 0);
  EXPECT_LT(fs::file_size(folder_ / "page.html"), 2'000'000u);
  const Outcome checked = python(check_page);
  EXPECT_EQ(checked.status, 0) << checked.err;
}

/// A browser opens this and then the page: its title becomes what is wrong with the page as it is shown.
constexpr const char* probe = R"js(<script>
const problems = [];
addEventListener('error', event => problems.push('script: ' + event.message));
const level = colour => { const [r, g, b] = colour.match(/[\d.]+/g).map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
addEventListener('load', () => {
  const page = level(getComputedStyle(document.body).backgroundColor);
  let texts = 0;
  for (const one of document.querySelectorAll('body *')) {
    if (!['svg', 'text', 'p', 'th', 'td', 'a', 'li', 'figcaption', 'small', 'h1', 'h2'].includes(one.localName) || !one.textContent) continue;
    const style = getComputedStyle(one), colour = one.localName === 'text' ? style.fill : style.color, ratio = contrast(level(colour), page);
    ++texts;
    if (ratio < 4.5) problems.push(`contrast ${ratio.toFixed(2)} of ${one.localName} ${one.textContent.slice(0, 20)}`);
  }
  for (const line of document.querySelectorAll('svg [style*="currentColor"]'))
    if (contrast(level(getComputedStyle(line).color), page) < 4.5) problems.push('an axis that is not seen');
  if (document.documentElement.scrollWidth > innerWidth) problems.push(`${document.documentElement.scrollWidth} wide of ${innerWidth}`);
  const head = document.querySelector('table.sortable thead th:nth-child(2)');
  head.click();
  if (head.getAttribute('aria-sort') !== 'ascending') problems.push('a click on a heading does not sort');
  const again = document.querySelector('details.again');
  again.open = true;
  setTimeout(() => {
    if (!again.querySelector('code').textContent.startsWith('strobe run --')) problems.push('no command');
    document.title = `dark ${matchMedia('(prefers-color-scheme: dark)').matches}, wide ${innerWidth}, svg ${
      document.querySelectorAll('svg[role=img]').length > 4}, texts ${texts > 200}: ${problems.slice(0, 5).join('; ')}.`;
    parent.document.title = document.title;
  }, 200);
});
</script>)js";

/// A browser draws the page in the light, in the dark and as wide as a phone: texts and axes have contrast, nothing is
/// wider than the window, and scripts work. A window of a browser is at least 500 wide, so the phone is a frame.
TEST_F(Report, ABrowserDrawsItInTheLightInTheDarkAndOnAPhone) {
  if (std::system("command -v chromium > /dev/null 2>&1") != 0) GTEST_SKIP() << "chromium is not there";
  ASSERT_EQ(strobe({"run", two_strategies(), "--trace", "--out", "o"}).status, 0);
  ASSERT_EQ(strobe({"report", "o", "--out", "page.html"}).status, 0);
  write_text(folder_ / "probe.html", probe + read_text(folder_ / "page.html"));
  write_text(folder_ / "phone.html",
             "<body style='margin:0'><iframe src='probe.html' style='border:0;width:390px;height:3000px'></iframe>");
  const auto draw = [&](const std::string& scheme, const std::string& file, const std::string& what) {
    return finish(start({"timeout", "100", "chromium", "--headless", "--no-sandbox", "--disable-gpu",
                         "--allow-file-access-from-files", "--enable-logging=stderr", "--virtual-time-budget=10000",
                         "--window-size=1200,3000", "--blink-settings=preferredColorScheme=" + scheme, what,
                         "file://" + path(file)}));
  };
  for (const auto& [scheme, file, expected] : {std::tuple{"1", "probe.html", "dark false, wide 1"},
                                               {"0", "probe.html", "dark true, wide 1"},
                                               {"1", "phone.html", "dark false, wide 390"},
                                               {"0", "phone.html", "dark true, wide 390"}}) {
    const Outcome drawn = draw(scheme, file, "--dump-dom");
    ASSERT_EQ(drawn.status, 0) << drawn.err;
    const std::size_t at = drawn.out.find("<title>dark ");
    const std::string title = at == std::string::npos ? drawn.out.substr(0, 500) : drawn.out.substr(at + 7, 300);
    EXPECT_TRUE(title.starts_with(expected)) << title;
    EXPECT_NE(title.find(", svg true, texts true: ."), std::string::npos) << file << ": " << title;
    EXPECT_EQ(drawn.err.find("Uncaught"), std::string::npos) << drawn.err;
  }
  ASSERT_EQ(draw("0", "phone.html", "--screenshot=" + path("page.png")).status, 0);
  EXPECT_GT(fs::file_size(folder_ / "page.png"), 20'000u);
}

TEST_F(Report, WhatIsNoRunIsRefused) {
  expect_refusal(strobe({"report"}), 2, {"RUN"});
  expect_refusal(strobe({"report", "nowhere"}), 2, {"nowhere"});
  expect_refusal(strobe({"report", "."}), 2, {"summary.json"});
  fs::create_directory(folder_ / "damaged");
  write_text(folder_ / "damaged/summary.json", "{\"rows\": 3}");
  expect_refusal(strobe({"report", "damaged"}), 2, {"damaged/summary.json"});
}

}  // namespace
}  // namespace strobe::cli_test
