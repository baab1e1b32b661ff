#include "http/content_coding.hpp"

#include <array>

#include <catch2/catch.hpp>

#include "http/cache_control.hpp"

namespace prophecy::http {
namespace {

constexpr std::array kOffered = {ContentCoding::brotli, ContentCoding::zstd, ContentCoding::gzip};

std::string_view chosen(std::initializer_list<std::string_view> lists) {
  FieldList request;
  request.add("accept", "gzip");
  for (const std::string_view list : lists)
    request.add("accept-encoding", list);
  return to_string(choose_coding(request, kOffered));
}

}  // namespace

TEST_CASE("The client's preference chooses a content coding, then the order of the offer") {
  struct Case {
    std::string_view list;
    std::string_view coding;
  };
  for (const Case& c : {
           Case{"gzip, deflate, br, zstd", "br"},
           Case{"gzip, deflate", "gzip"},
           Case{"x-gzip", "gzip"},
           Case{"GZip", "gzip"},
           Case{"br;q=0.5, gzip;q=0.9", "gzip"},
           Case{"br;q=0.500,gzip;q=0.501", "gzip"},
           Case{"br ; q=1 , gzip", "br"},
           Case{"*", "br"},
           Case{"*;q=0.1, zstd", "zstd"},
           Case{"br;q=0, *", "zstd"},
           Case{"identity, gzip;q=0.5", "identity"},
           Case{"identity;q=0.5, gzip;q=0.5", "gzip"},
           Case{"identity;q=0, gzip;q=0.001", "gzip"},
           Case{"gzip;q=0", "identity"},
           Case{"gzip;q=2", "identity"},
           Case{"gzip;q=0.0001", "identity"},
           Case{"gzip;level=9", "identity"},
           Case{"gzip;q=", "identity"},
           Case{"deflate, compress", "identity"},
           Case{"", "identity"},
           Case{",,;", "identity"},
           Case{"*;q=0", "identity"},
       }) {
    INFO(c.list);
    CHECK(chosen({c.list}) == c.coding);
  }
  CHECK(chosen({}) == "identity");
  CHECK(chosen({"gzip;q=0.5", "zstd"}) == "zstd");
}

TEST_CASE("no-transform forbids another coding") {
  CHECK(forbids_transformation("max-age=1, No-Transform"));
  CHECK_FALSE(forbids_transformation("max-age=1, no-store"));
  CHECK_FALSE(forbids_transformation(""));
}

}  // namespace prophecy::http
