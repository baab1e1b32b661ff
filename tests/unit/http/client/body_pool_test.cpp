#include "http/client/body_pool.hpp"

#include <catch2/catch.hpp>

namespace prophecy::http {
namespace {

std::string of_capacity(std::size_t size) {
  std::string body;
  body.reserve(size);
  return body;
}

}  // namespace

TEST_CASE("storage goes round, up to a bound") {
  BodyPool pool(10'000);
  std::string body = of_capacity(6000);
  const char* const storage = body.data();
  pool.give_back(body);
  CHECK(body.capacity() < 100);
  body = of_capacity(6000);
  pool.give_back(body);  // beyond the bound: freed
  pool.take(body, 7000);
  CHECK(body.capacity() < 100);
  pool.take(body, 5000);
  CHECK(body.data() == storage);
  std::string other;
  pool.take(other, 1);
  CHECK(other.capacity() < 100);
}

TEST_CASE("what has not been needed since the last time is freed") {
  BodyPool pool(100'000);
  std::string bodies[3] = {of_capacity(1000), of_capacity(1000), of_capacity(1000)};
  for (std::string& body : bodies)
    pool.give_back(body);
  pool.free_unused();  // all are new
  pool.take(bodies[0], 1000);
  pool.take(bodies[1], 1000);
  pool.give_back(bodies[0]);
  pool.give_back(bodies[1]);
  pool.free_unused();  // one has never been needed
  std::size_t left = 0;
  for (std::string& body : bodies) {
    pool.take(body, 1000);
    if (body.capacity() >= 1000) ++left;
  }
  CHECK(left == 2);
  for (std::string& body : bodies)
    pool.give_back(body);
  pool.free_unused();
  pool.free_unused();
  std::string body;
  pool.take(body, 1);
  CHECK(body.capacity() < 100);
}

}  // namespace prophecy::http
