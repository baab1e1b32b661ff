// A replica's folder after damage: files that are cut, changed, mixed up, gone, or something else.
// It is opened as a whole store or as a damaged one. A whole one has nothing that was not written,
// and all writes up to some one: all but maybe the last, unless files are shorter than they were.
// (A log that has lost its end is an older store, which cannot be told from a newer one.) A part is
// what its name says, or is not there.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/digest.hpp"
#include "choices.hpp"
#include "expect.hpp"
#include "pbft/storage/part_folder.hpp"
#include "pbft/storage/store.hpp"
#include "unit/support/temporary_folder.hpp"

namespace {

using namespace prophecy;
using namespace prophecy::pbft;
using prophecy::fuzz::Choices;

namespace fs = std::filesystem;

constexpr StoreIdentity kIdentity{{1}, {2}, 3};
constexpr int kCommits = 12;
constexpr int kKeys = 5;
constexpr std::size_t kDamagesMax = 5;
constexpr int kParts = 4;

using Contents = std::map<std::string, std::string>;
using Files = std::map<fs::path, std::string>;  // by their paths in the folder

class Workplace {
 public:
  [[nodiscard]] fs::path store() const { return folder_.path() / "store-of-3"; }

  // With these files, and nothing else.
  void lay_out(const Files& files) const {
    fs::remove_all(folder_.path());  // what has been set aside as well
    fs::create_directories(folder_.path());
    for (const auto& [path, content] : files) {
      fs::create_directories((store() / path).parent_path());
      std::ofstream(store() / path, std::ios::binary) << content;
    }
    if (fs::exists(store())) fs::permissions(store(), fs::perms::owner_all);
  }
  [[nodiscard]] Files files() const {
    Files files;
    for (const auto& entry : fs::recursive_directory_iterator(store())) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      files[fs::relative(entry.path(), store())] = {std::istreambuf_iterator<char>(in), {}};
    }
    return files;
  }

 private:
  test::TemporaryFolder folder_ = test::TemporaryFolder::in_memory();
};

Workplace& workplace() {
  static Workplace place;
  return place;
}

std::string key_of(int number) {
  return "key " + std::to_string(number % kKeys);
}

std::string value_of(int number) {
  return std::to_string(number) + std::string(static_cast<std::size_t>(number) * 300, 'v');
}

Bytes part_of(int number) {
  return Bytes(static_cast<std::size_t>(100 + number), static_cast<std::uint8_t>(number));
}

Contents contents_after(int commits) {
  Contents contents;
  for (int number = 0; number < commits; ++number)
    contents[key_of(number)] = value_of(number);
  return contents;
}

void run_until(boost::asio::io_context& io, const bool& done) {
  while (!done) {
    io.restart();
    io.run_one_for(std::chrono::milliseconds(100));
  }
}

// As a replica leaves it that has ended well.
Files make_whole() {
  workplace().lay_out({});
  const StoreSettings settings{workplace().store(), SyncPolicy::always};
  boost::asio::io_context io(1);
  {
    auto store = Store::open(settings, kIdentity, io.get_executor());
    REQUIRE(store.has_value());
    for (int number = 0; number < kCommits; ++number) {
      bool done = false;
      (*store)->commit(
          {{to_bytes(key_of(number)), std::make_shared<const Bytes>(to_bytes(value_of(number)))}},
          [&](const Result<>& outcome) {
            REQUIRE(outcome.has_value());
            done = true;
          });
      run_until(io, done);
    }
    auto parts = open_part_store(settings, io.get_executor());
    REQUIRE(parts.has_value());
    for (int number = 0; number < kParts; ++number)
      REQUIRE((*parts)->keep(sha256(part_of(number)), part_of(number)));
    bool done = false;
    (*parts)->flush([&](bool flushed) {
      REQUIRE(flushed);
      done = true;
    });
    run_until(io, done);
  }
  return workplace().files();
}

// False when bytes that were there are gone.
bool damage(Files& files, Choices& choices) {
  if (files.empty()) return true;
  auto file = std::next(files.begin(), static_cast<std::ptrdiff_t>(choices.below(files.size())));
  std::string& content = file->second;
  const auto place = [&](std::size_t size) {
    const std::size_t drawn = std::size_t{choices.byte()} << 8 | choices.byte();
    return size == 0 ? 0 : drawn % size;
  };
  switch (choices.below(8)) {
    case 0:
      files.erase(file);
      return false;
    case 1:
      content.clear();
      return false;
    case 2:
      content.resize(place(content.size()));
      return false;
    case 3:
      if (!content.empty())
        content[place(content.size())] ^= static_cast<char>(1 << choices.below(8));
      return true;
    case 4:
      content += choices.bytes(choices.byte());
      return true;
    case 5: {
      const std::string_view bytes = choices.bytes(choices.byte());
      const std::size_t from = place(content.size());
      content.replace(from, bytes.size(), bytes);
      return false;
    }
    case 6: {
      const auto other =
          std::next(files.begin(), static_cast<std::ptrdiff_t>(choices.below(files.size())));
      std::swap(content, other->second);
      return false;
    }
    default: {  // where a file was, a folder is; and the other way round
      const fs::path path = file->first;
      const std::string kept = content;
      files.erase(file);
      files[path / "inside"] = kept;
      return false;
    }
  }
}

void check_contents(const Store& store, int missing_max) {
  Contents contents;
  const auto loaded = store.load([&](ByteView key, ByteView value) {
    contents[std::string(as_text(key))] = std::string(as_text(value));
  });
  if (!loaded || store.fresh()) return;
  int missing = 0;
  while (missing < kCommits && contents != contents_after(kCommits - missing))
    ++missing;
  REQUIRE(contents == contents_after(kCommits - missing));
  REQUIRE(missing <= missing_max);
}

void check_parts(const StoreSettings& settings, boost::asio::io_context& io) {
  const auto parts = open_part_store(settings, io.get_executor());
  if (!parts) return;
  for (int number = 0; number < kParts; ++number) {
    const auto read = (*parts)->read(sha256(part_of(number)));
    REQUIRE(!read || *read == part_of(number));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Files whole = make_whole();
  Choices choices(data, size);
  Files files = whole;
  const std::size_t damages = choices.below(kDamagesMax + 1);
  bool is_longer = true;
  for (std::size_t i = 0; i < damages && !choices.done(); ++i)
    is_longer = damage(files, choices) && is_longer;
  workplace().lay_out(files);
  const StoreSettings settings{workplace().store(), SyncPolicy::os};
  boost::asio::io_context io(1);
  {
    const auto store = Store::open(settings, kIdentity, io.get_executor());
    if (store) {
      check_contents(**store, is_longer && damages == 1 ? 1 : kCommits);
      check_parts(settings, io);
      return 0;
    }
    if (store.error().kind != ErrorKind::damaged) return 0;
  }
  // What is damaged can be set aside, and another one begun in its place.
  REQUIRE(set_aside(settings.folder).has_value());
  const auto store = Store::open(settings, kIdentity, io.get_executor());
  REQUIRE(store.has_value() && (*store)->fresh());
  return 0;
}
