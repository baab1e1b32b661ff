#include "measurement/program/generate_command.hpp"

#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "base/error.hpp"
#include "measurement/complaint.hpp"
#include "measurement/program/crawl_writer.hpp"

namespace prophecy::measurement {
namespace {

int generate(const GenerateOptions& options) {
  const SyntheticCrawl crawl(options.plan);
  const CrawlFormat format = options.format == "warc"  ? CrawlFormat::warc
                             : options.format == "har" ? CrawlFormat::har
                                                       : CrawlFormat::sketch_log;
  if (options.output == "-") {
    write_crawl(crawl, format, std::cout);
    std::cout.flush();
    return std::cout ? 0 : kUnusable;
  }
  std::ofstream file(options.output, std::ios::binary);
  write_crawl(crawl, format, file);
  file.close();
  if (!file) {
    std::cerr << "prophecy-measure: " << io_error(options.output).message << '\n';
    return kUnusable;
  }
  std::cout << fmt::format("{{\"urls\": {}, \"answers\": {}, \"transitions\": {}}}\n",
                           options.plan.urls, crawl.answers(), crawl.transitions());
  return 0;
}

}  // namespace

void add_generate(const Command& program, GenerateOptions& options) {
  const Command command = program.add_command(
      "generate", "Writes a made-up crawl whose transitions are known, and prints how many.");
  command.add("OUTPUT", options.output, "the file; -: standard output").required();
  command.add("--format", options.format, "warc, har or sketch-log (warc)")
      .one_of({"warc", "har", "sketch-log"});
  command.add("--urls", options.plan.urls, "so many URLs (100)").between(1, 100'000'000);
  command.add("--rounds", options.plan.rounds, "each is asked for so often (30)")
      .between(1, 1'000'000);
  command.add("--body", options.plan.body_bytes, "bytes of a body, about (8192)")
      .between(0, 1 << 30);
  command.add("--seed", options.plan.seed, "another number makes another crawl (1)");
  command.on_run([&options] { return generate(options); });
}

}  // namespace prophecy::measurement
