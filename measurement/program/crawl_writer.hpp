// `write_crawl` writes a synthetic crawl as one file, in one of the formats that `analyze` reads.
#pragma once

#include <ostream>
#include <string_view>

#include "measurement/synthetic_crawl.hpp"

namespace prophecy::measurement {

enum class CrawlFormat : std::uint8_t { warc, har, sketch_log };

void write_crawl(const SyntheticCrawl& crawl, CrawlFormat format, std::ostream& out);

}  // namespace prophecy::measurement
