// Address prefixes as sites, plots of figures, made-up crawls, and progress.
#include <catch2/catch.hpp>

#include "measurement/analysis/address_prefixes.hpp"
#include "measurement/progress.hpp"
#include "measurement/svg_plot.hpp"
#include "measurement/synthetic_crawl.hpp"

namespace prophecy::measurement {
namespace {

std::string name_of(const AddressPrefixes& prefixes, std::string_view address) {
  const auto found = prefixes.find(IpAddress::parse(address).value());
  return found ? prefixes.name_of(*found) : "none";
}

}  // namespace

TEST_CASE("the longest prefix counts") {
  AddressPrefixes prefixes;
  for (const std::string_view line :
       {"# sites", "", "10.0.0.0/8 Ten", "10.1.0.0/16,Ten one # a comment", "10.1.2.3/32",
        "2001:db8::/32 Docs\r", "0.0.0.0/0 rest", "10.9.8.7/9 with bits beyond"}) {
    CHECK(prefixes.add_line(line));
  }
  for (const std::string_view wrong : {"10.0.0.0", "10.0.0.0/33", "::/129", "x/8", "10.0.0.0/"})
    CHECK_FALSE(prefixes.add_line(wrong));
  prefixes.sort();
  CHECK(prefixes.size() == 6);
  CHECK(name_of(prefixes, "10.200.0.1") == "Ten");
  CHECK(name_of(prefixes, "10.1.9.9") == "Ten one");
  CHECK(name_of(prefixes, "10.1.2.3") == "10.1.2.3/32");
  CHECK(name_of(prefixes, "10.64.0.1") == "with bits beyond");
  CHECK(name_of(prefixes, "192.0.2.1") == "rest");
  CHECK(name_of(prefixes, "2001:db8:1::1") == "Docs");
  CHECK(name_of(prefixes, "2001:db9::1") == "none");
}

TEST_CASE("an IPv6 prefix holds no IPv4 address") {
  AddressPrefixes prefixes;
  CHECK(prefixes.add_line("::/0 six"));
  prefixes.sort();
  CHECK(name_of(prefixes, "::1") == "six");
  CHECK(name_of(prefixes, "10.0.0.1") == "none");
}

TEST_CASE("texts in a page") {
  CHECK(escaped("a<b>&\"c\"\n") == "a&lt;b&gt;&amp;&quot;c&quot;\n");
  CHECK(escaped("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80") == "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  const std::string no = "\xef\xbf\xbd";
  CHECK(escaped(std::string_view("\0", 1)) == no);
  CHECK(escaped("\xe9x") == no + "x");
  CHECK(escaped("\xed\xa0\x80") == no + no + no);
  CHECK(escaped("\xf0\x9f\x98") == no + no + no);
  CHECK(escaped("\xc0\xaf") == no + no);
}

TEST_CASE("a plot has a line for each curve") {
  const std::vector<double> shares = {0.5, 0.5, 1};
  Plot plot{"T<", "x", "y", {{"one", shares}, {"two", shares}}};
  const std::string svg = svg_of(plot, true);
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.find("xmlns") != std::string::npos);
  CHECK(svg.find("T&lt;") != std::string::npos);
  // From the left edge at one half, to the right edge at the top.
  CHECK(svg.find("d=\"M48.0 138.0H378.0V30.0\"") != std::string::npos);
  CHECK(svg.find(">two<") != std::string::npos);
  plot.lines.clear();
  CHECK(svg_of(plot, false).find("no URL") != std::string::npos);
}

TEST_CASE("a made-up crawl has the transitions that it says") {
  const SyntheticCrawl crawl({.urls = 200, .rounds = 40, .body_bytes = 500, .seed = 3});
  std::uint64_t transitions = 0;
  std::uint64_t unchanged = 0;
  SyntheticAnswer answer;
  for (std::uint32_t url = 0; url < 200; ++url) {
    std::string last;
    std::uint64_t changes = 0;
    for (std::uint32_t round = 0; round < 40; ++round) {
      crawl.make(url, round, answer);
      const std::string now = answer.fields + answer.body;
      if (round > 0 && now != last) ++changes;
      last = now;
      CHECK(answer.body.size() >= 500);
    }
    transitions += changes;
    unchanged += changes == 0 ? 1 : 0;
  }
  CHECK(transitions == crawl.transitions());
  CHECK(unchanged > 80);
  CHECK(unchanged < 120);
}

TEST_CASE("progress, and how long it still takes") {
  using std::chrono::seconds;
  CHECK(progress_text(0, 10, seconds(3)) == "[" + std::string(30, '-') + "] 0 %");
  CHECK(progress_text(5, 20, seconds(4)) ==
        "[" + std::string(7, '#') + std::string(23, '-') + "] 25 %, 12 s left");
  CHECK(progress_text(7, 7, seconds(4)) == "[" + std::string(30, '#') + "] 100 %, 0 s left");
}

}  // namespace prophecy::measurement
