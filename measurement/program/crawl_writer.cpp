#include "measurement/program/crawl_writer.hpp"

#include <vector>

#include <fmt/format.h>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "base/json_text.hpp"
#include "measurement/analysis/answer_sketcher.hpp"
#include "measurement/input/base64.hpp"
#include "measurement/progress.hpp"
#include "measurement/readers/sketch_log.hpp"

namespace prophecy::measurement {
namespace {

std::string synthetic_head(const SyntheticAnswer& answer) {
  return fmt::format("HTTP/1.1 200 OK\r\n{}Content-Length: {}\r\n\r\n", answer.fields,
                     answer.body.size());
}

// Calls `write` for each answer in the order of time.
template <class Write>
void for_each(const SyntheticCrawl& crawl, Progress& progress, Write write) {
  SyntheticAnswer answer;
  std::uint64_t done = 0;
  for (std::uint32_t round = 0; round < crawl.plan().rounds; ++round) {
    for (std::uint32_t url = 0; url < crawl.plan().urls; ++url) {
      crawl.make(url, round, answer);
      write(answer);
      progress.update(++done);
    }
  }
}

void write_warc(const SyntheticCrawl& crawl, std::ostream& out, Progress& progress) {
  std::uint64_t number = 0;
  for_each(crawl, progress, [&](const SyntheticAnswer& answer) {
    const std::string head = synthetic_head(answer);
    Sha1 hash;
    hash.update(as_bytes(answer.body));
    out << fmt::format(
               "WARC/1.1\r\nWARC-Type: response\r\n"
               "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{:012x}>\r\n"
               "WARC-Target-URI: {}\r\nWARC-Date: {}\r\nWARC-IP-Address: {}\r\n"
               "WARC-Payload-Digest: sha1:{}\r\nContent-Type: application/http;msgtype=response\r\n"
               "Content-Length: {}\r\n\r\n",
               number++, answer.url, iso_time(answer.time), answer.address, to_hex(hash.finish()),
               head.size() + answer.body.size())
        << head << answer.body << "\r\n\r\n";
  });
}

// The fields of a head, a line each, as a HAR lists them.
std::string har_fields(std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = lines.find("\r\n");
    const std::size_t colon = lines.find(": ");
    ASSERT(colon < end && end != std::string_view::npos);
    text += text.empty() ? "{\"name\":\"" : ",{\"name\":\"";
    append_json_text(lines.substr(0, colon), text);
    text += "\",\"value\":\"";
    append_json_text(lines.substr(colon + 2, end - colon - 2), text);
    text += "\"}";
    lines.remove_prefix(end + 2);
  }
  return text;
}

void write_har(const SyntheticCrawl& crawl, std::ostream& out, Progress& progress) {
  out << R"({"log":{"version":"1.2","creator":{"name":"prophecy-measure","version":")"
      << PROPHECY_VERSION << R"("},"pages":[],"entries":[)";
  bool first = true;
  std::uint64_t number = 0;
  std::string text;
  for_each(crawl, progress, [&](const SyntheticAnswer& answer) {
    text = first ? "\n" : ",\n";
    first = false;
    text += fmt::format(R"({{"startedDateTime":"{}","time":1,"serverIPAddress":"{}",)",
                        iso_time(answer.time), answer.address);
    text += R"("request":{"method":"GET","url":")";
    append_json_text(answer.url, text);
    text += R"(","httpVersion":"h2","headers":[]},"response":{"status":200,"statusText":"OK",)";
    text += R"("headers":[)" + har_fields(answer.fields) + "],";
    text += fmt::format(R"("content":{{"size":{},"text":")", answer.body.size());
    // Some bodies the way browsers write those that are no text.
    const bool coded = number++ % 4 == 0;
    if (coded) {
      append_base64(answer.body, text);
      text.append((3 - answer.body.size() % 3) % 3, '=');
    } else {
      append_json_text(answer.body, text);
    }
    text += coded ? R"(","encoding":"base64"}}})" : R"("}}})";
    out << text;
  });
  out << "\n]}}\n";
}

void write_sketch_log(const SyntheticCrawl& crawl, std::ostream& out, Progress& progress) {
  const sketch::Profile profile;
  AnswerSketcher sketcher(profile);
  struct Known {
    std::uint32_t version = 0;
    AnswerSketch sketch;
  };
  std::vector<Known> known(crawl.plan().urls);
  out << sketch_log_header(profile);
  SyntheticAnswer made;
  std::string line;
  std::uint64_t done = 0;
  for (std::uint32_t round = 0; round < crawl.plan().rounds; ++round) {
    for (std::uint32_t url = 0; url < crawl.plan().urls; ++url) {
      Known& last = known[url];
      const std::uint32_t version = crawl.version(url, round);
      if (round == 0 || last.version != version) {
        crawl.make(url, round, made);
        sketcher.begin(AnswerPart::whole);
        sketcher.feed(synthetic_head(made));
        sketcher.feed(made.body);
        std::string_view problem = sketcher.finish();
        const auto sketch = problem.empty() ? sketcher.sketch(problem) : std::nullopt;
        ASSERT(sketch);
        last = {version, *sketch};
      }
      const std::string key = "GET " + crawl.url_of(url);
      const std::string address = crawl.address_of(url);
      Answer answer;
      answer.url = key;
      answer.time = crawl.time_of(url, round);
      answer.kind = last.sketch.kind;
      answer.status = last.sketch.status;
      answer.body_bytes = last.sketch.payload.bytes;
      answer.sketch = last.sketch.sketch;
      answer.address = address;
      line.clear();
      append_sketch_line(answer, line);
      out << line;
      progress.update(++done);
    }
  }
}

}  // namespace

void write_crawl(const SyntheticCrawl& crawl, CrawlFormat format, std::ostream& out) {
  Progress progress(crawl.answers());
  switch (format) {
    case CrawlFormat::warc:
      return write_warc(crawl, out, progress);
    case CrawlFormat::har:
      return write_har(crawl, out, progress);
    case CrawlFormat::sketch_log:
      return write_sketch_log(crawl, out, progress);
  }
  UNREACHABLE();
}

}  // namespace prophecy::measurement
