#include "measurement/capture/png_plots.hpp"

#include <fstream>

#include "measurement/capture/devtools_pipe.hpp"
#include "measurement/capture/profile_folder.hpp"
#include "measurement/input/base64.hpp"
#include "measurement/svg_report.hpp"

namespace prophecy::measurement {
namespace {

using PlotJson = DevToolsPipe::Json;

constexpr auto kPlotTime = seconds(60);
constexpr int kWidth = 400;  // that of the SVG file
constexpr int kScale = 3;    // pixels for each unit of it

// A page with nothing but the plot, in a session of its own.
class PlotPage {
 public:
  explicit PlotPage(DevToolsPipe& pipe) : pipe_(pipe) {}

  [[nodiscard]] Result<> open() {
    if (auto made = call({}, "Target.createTarget", {{"url", "about:blank"}}); !made) return made;
    const PlotJson target = {{"targetId", answer_["targetId"]}, {"flatten", true}};
    if (auto attached = call({}, "Target.attachToTarget", target); !attached) return attached;
    session_ = answer_.value("sessionId", std::string());
    if (auto asked = call(session_, "Page.getFrameTree", PlotJson::object()); !asked) return asked;
    frame_ = answer_["frameTree"]["frame"].value("id", std::string());
    return {};
  }

  [[nodiscard]] Result<> draw(const std::string& svg, std::string& png) {
    const std::string html =
        "<!DOCTYPE html><body style=\"margin:0;width:" + std::to_string(kWidth) +
        "px;font-family:sans-serif\">" + svg;
    auto shown = call(session_, "Page.setDocumentContent", {{"frameId", frame_}, {"html", html}});
    if (!shown) return shown;
    auto measured =
        call(session_, "Runtime.evaluate",
             {{"expression", "document.querySelector('svg').getBoundingClientRect().height"},
              {"returnByValue", true}});
    if (!measured) return measured;
    const PlotJson height = answer_["result"].value("value", PlotJson(0));
    if (!height.is_number()) return Error{ErrorKind::protocol, "the browser shows no plot"};
    const PlotJson clip = {
        {"x", 0}, {"y", 0}, {"width", kWidth}, {"height", height}, {"scale", kScale}};
    auto drawn = call(session_, "Page.captureScreenshot",
                      {{"format", "png"}, {"clip", clip}, {"captureBeyondViewport", true}});
    if (!drawn) return drawn;
    Base64Decoder decoder;
    png.clear();
    if (!decoder.decode(answer_.value("data", std::string()), png) || !decoder.finish()) {
      return Error{ErrorKind::protocol, "the browser's picture is no base64"};
    }
    return {};
  }

 private:
  [[nodiscard]] Result<> call(const std::string& session, std::string_view method,
                              PlotJson parameters) {
    return pipe_.call(session, method, std::move(parameters), kPlotTime, answer_);
  }

  DevToolsPipe& pipe_;
  std::string session_;
  std::string frame_;
  PlotJson answer_;
};

}  // namespace

Result<> write_png_plots(const Figures& figures, const std::filesystem::path& folder,
                         const std::string& browser,
                         const std::filesystem::path& temporary_folder) {
  const ProfileFolder profile(temporary_folder);
  if (profile.path().empty()) return io_error(temporary_folder.string());
  DevToolsPipe pipe([](const std::string&, const std::string&, const PlotJson&) {});
  BrowserOptions options;
  options.program = browser;
  options.profile = profile.path();
  if (auto started = pipe.start(options); !started) return started;
  PlotPage page(pipe);
  if (auto opened = page.open(); !opened) return opened;
  std::string png;
  for (const NamedPlot& named : plots_of(figures)) {
    if (auto drawn = page.draw(svg_of(named.plot, true), png); !drawn) return drawn;
    const std::filesystem::path path = folder / (named.name + ".png");
    std::ofstream file(path, std::ios::binary);
    file << png;
    file.close();
    if (!file) return io_error(path.string());
  }
  return {};
}

}  // namespace prophecy::measurement
