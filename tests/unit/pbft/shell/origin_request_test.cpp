#include "pbft/services/origin_request.hpp"

#include <catch2/catch.hpp>

using namespace prophecy;
using namespace prophecy::pbft;

namespace {

std::string request_for(std::string_view operation, Sigma sigma) {
  Execution execution;
  execution.sigma = sigma;
  execution.operation = as_bytes(operation);
  execution.input.time = 1'763'737'445'000'000'123;
  execution.input.seed.fill(0xab);
  return origin_request(execution);
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i)
    out += text;
  return out;
}

}  // namespace

TEST_CASE("An ordered request tells its origin the agreed time, seed and place") {
  CHECK(request_for("PUT /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\na\r\n", 65538) ==
        "PUT /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n"
        "prophecy-time: 2025-11-21T15:04:05.000000123Z\r\n"
        "prophecy-seed: " +
            repeated("ab", 32) + "\r\nprophecy-sequence: 65538\r\n\r\na\r\n");
}

TEST_CASE("Nobody else says anything under the agents' name") {
  const std::string operation =
      "PUT /a HTTP/1.1\r\nProphecy-Time: 1\r\nhost: x\r\nPROPHECY-SEED: 2\r\n"
      "prophecy_sequence: 3\r\nProphecy-Anything: 4\r\nprophecies: kept\r\nx: prophecy-time: 5\r\n"
      "content-length: 21\r\n\r\nprophecy-time: body\r\n";
  const std::string kept =
      "PUT /a HTTP/1.1\r\nhost: x\r\nprophecies: kept\r\nx: prophecy-time: 5\r\n"
      "content-length: 21\r\n";
  CHECK(request_for(operation, 0) == kept + "\r\nprophecy-time: body\r\n");
  const std::string ordered = request_for(operation, 65536);
  CHECK(ordered.starts_with(kept + "prophecy-time: 2025-"));
  CHECK(ordered.ends_with("\r\n\r\nprophecy-time: body\r\n"));
}

TEST_CASE("A read outside the order gets none of it") {
  const std::string operation = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
  CHECK(request_for(operation, 0) == operation);
  CHECK(request_for("\r\n\r\n" + operation, 0) == operation);
}

TEST_CASE("Agreed times are texts that compare as the times do") {
  CHECK(format_agreed_time(0) == "1970-01-01T00:00:00.000000000Z");
  CHECK(format_agreed_time(951'782'399'999'999'999) == "2000-02-28T23:59:59.999999999Z");
  CHECK(format_agreed_time(951'782'400'000'000'000) == "2000-02-29T00:00:00.000000000Z");
  CHECK(format_agreed_time(UINT64_MAX) == "2554-07-21T23:34:33.709551615Z");
}
