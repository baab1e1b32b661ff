#include "pbft/storage/part_folder.hpp"

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/file.hpp"
#include "base/io/thread.hpp"
#include "base/unique_fd.hpp"
#include "pbft/storage/part_files.hpp"

namespace prophecy::pbft {
namespace {

namespace fs = std::filesystem;

// Of a name: the two digits of the folder.
constexpr std::size_t kFolderDigits = 2;
constexpr std::string_view kUnfinished = ".new";

bool make_folder(const fs::path& folder) {
  return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
}

bool write_file(const fs::path& file, ByteView content) {
  const UniqueFd fd(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return false;
  ByteView rest = content;
  while (!rest.empty()) {
    const ssize_t size = ::write(fd.get(), rest.data(), rest.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    rest = rest.subspan(static_cast<std::size_t>(size));
  }
  // The disk may begin already; whether it succeeds is asked at the end of a flush.
  (void)::sync_file_range(fd.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  return true;
}

class PartFolder final : public PartFiles {
 public:
  explicit PartFolder(fs::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] Result<> open() {
    if (!make_folder(folder_)) return io_error(folder_.string());
    folder_fd_.reset(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder_fd_) return io_error(folder_.string());
    return {};
  }

  [[nodiscard]] Result<std::vector<Digest>> list() override {
    std::vector<Digest> found;
    std::vector<fs::path> unfinished;
    std::error_code error;
    for (fs::recursive_directory_iterator entry(folder_, error), end; !error && entry != end;
         entry.increment(error)) {
      const fs::path& path = entry->path();
      if (path.extension() == kUnfinished) unfinished.push_back(path);
      Digest digest{};
      if (!from_hex(path.parent_path().filename().string() + path.filename().string(), digest)) {
        continue;
      }
      if (file_of(digest) == path) found.push_back(digest);
    }
    if (error) {
      const bool lost = error == std::errc::io_error;
      return Error{lost ? ErrorKind::damaged : ErrorKind::io,
                   folder_.string() + ": " + error.message()};
    }
    for (const fs::path& path : unfinished)
      fs::remove(path, error);
    return found;
  }

  [[nodiscard]] Result<Bytes> read(const Digest& name) const override {
    const fs::path file = file_of(name);
    auto content = read_file(file, kPartBytesMax);
    if (content) return to_bytes(*content);
    std::error_code ignored;
    if (content.error().kind == ErrorKind::io && fs::exists(file, ignored)) return content.error();
    return Error{ErrorKind::damaged, content.error().message};
  }

  [[nodiscard]] bool write(const Digest& name, ByteView content) override {
    const fs::path file = file_of(name);
    fs::path unfinished = file;
    unfinished += kUnfinished;
    if (make_folder(file.parent_path()) && write_file(unfinished, content) &&
        ::rename(unfinished.c_str(), file.c_str()) == 0) {
      return true;
    }
    ::unlink(unfinished.c_str());
    return false;
  }

  // Whatever has the name.
  void remove(const Digest& name) override {
    const fs::path file = file_of(name);
    if (::unlink(file.c_str()) == 0 || errno == ENOENT) return;
    std::error_code ignored;
    fs::remove_all(file, ignored);
  }

  [[nodiscard]] bool sync() override { return ::syncfs(folder_fd_.get()) == 0; }

  [[nodiscard]] bool has_room(std::uint64_t bytes) const override {
    struct statvfs disk {};
    if (::fstatvfs(folder_fd_.get(), &disk) != 0) return true;  // a write will tell
    return std::uint64_t{disk.f_bavail} * disk.f_frsize >= kFreeBytesMin + bytes;
  }

 private:
  [[nodiscard]] fs::path file_of(const Digest& digest) const {
    const std::string name = to_hex(digest);
    return folder_ / name.substr(0, kFolderDigits) / name.substr(kFolderDigits);
  }

  fs::path folder_;
  UniqueFd folder_fd_;
};

class WriterThread final : public PartWriter {
 public:
  using Executor = boost::asio::io_context::executor_type;
  explicit WriterThread(Executor executor) : executor_(std::move(executor)) {}
  WriterThread(const WriterThread&) = delete;
  WriterThread& operator=(const WriterThread&) = delete;
  ~WriterThread() override {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

  [[nodiscard]] Result<> start() {
    return start_thread(thread_, [this] { work(); });
  }

  void run(std::function<void()> work, std::function<void()> done) override {
    const std::lock_guard lock(mutex_);
    ASSERT(!job_);
    job_.emplace(std::move(work), std::move(done), boost::asio::make_work_guard(executor_));
    changed_.notify_all();
  }

 private:
  struct Job {
    Job(std::function<void()> to_do, std::function<void()> then,
        boost::asio::executor_work_guard<Executor> keeps_loop)
        : work(std::move(to_do)), done(std::move(then)), guard(std::move(keeps_loop)) {}
    std::function<void()> work;
    std::function<void()> done;
    boost::asio::executor_work_guard<Executor> guard;  // keeps the loop from ending meanwhile
  };

  // What was asked for is done to its end.
  void work() {
    while (auto job = take()) {
      job->work();
      boost::asio::post(executor_, std::move(job->done));
    }
  }
  [[nodiscard]] std::optional<Job> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || job_; });
    return std::exchange(job_, std::nullopt);
  }

  Executor executor_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::optional<Job> job_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<FilePartStore>> open_part_store(
    const StoreSettings& settings, boost::asio::io_context::executor_type executor) {
  auto folder = std::make_unique<PartFolder>(settings.folder / "parts");
  if (auto opened = folder->open(); !opened) return opened.error();
  auto writer = std::make_unique<WriterThread>(std::move(executor));
  if (auto started = writer->start(); !started) return started.error();
  return FilePartStore::open(std::move(folder), std::move(writer), settings.sync);
}

}  // namespace prophecy::pbft
