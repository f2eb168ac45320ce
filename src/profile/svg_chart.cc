// SPDX-License-Identifier: Apache-2.0
#include "profile/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace stratalog {
namespace {

constexpr double kWidth = 760;
constexpr double kHeight = 240;
constexpr double kLeft = 70;
constexpr double kRight = 16;
constexpr double kTop = 14;
constexpr double kBottom = 34;

// 1, 2 or 5 times a power of ten, so that about `wanted` steps cover `span`.
double step_for(double span, int wanted) {
  if (!(span > 0)) return 1;
  const double raw = span / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw) return factor * power;
  return 10 * power;
}

// Values on one axis to places in the drawing.
class Axis {
 public:
  Axis(double low, double high, double from, double to, AxisScale scale)
      : low_(scale == AxisScale::kLog ? 0 : low),
        high_(scale == AxisScale::kLog ? std::max(1.0, std::log10(std::max(1.0, high))) : high),
        from_(from),
        to_(to),
        scale_(scale) {
    // One more is nothing beside a very large number.
    if (!(high_ > low_))
      high_ = std::min(low_ + std::max(1.0, std::abs(low_)), std::numeric_limits<double>::max());
    if (!(high_ > low_)) low_ = high_ / 2;  // nor is there any above the largest
  }
  double place(double value) const {
    // On a logarithmic axis everything below 1 stands at the bottom.
    const double v = scale_ == AxisScale::kLog ? std::log10(std::max(1.0, value)) : value;
    const double share = (v - low_) / (high_ - low_);
    return std::isfinite(share) ? from_ + ((to_ - from_) * share) : from_;
  }
  std::vector<double> ticks(int wanted) const {
    std::vector<double> values;
    if (scale_ == AxisScale::kLog) {
      const int every = std::max(1, static_cast<int>(std::ceil(high_ / wanted)));
      for (int p = 0; p <= static_cast<int>(high_ + 1e-9); p += every)
        values.push_back(std::pow(10.0, p));
      return values;
    }
    const double step = step_for(high_ - low_, wanted);
    const double first = std::ceil((low_ / step) - 1e-9);
    for (int i = 0; i < 100; ++i) {
      const double value = (first + i) * step;
      if (value > high_ + (step * 1e-6)) break;
      values.push_back(value);
    }
    return values;
  }

 private:
  double low_;
  double high_;
  double from_;
  double to_;
  AxisScale scale_;
};

// At most one point for each half a unit of width, the highest and the lowest of those that fall
// together.
std::string path_of(const LineSeries& series, const Axis& x, const Axis& y) {
  std::string path;
  std::size_t i = 0;
  while (i < series.points.size()) {
    const double column = std::floor(x.place(series.points[i].x) * 2);
    double low = series.points[i].y;
    double high = low;
    std::size_t end = i;
    while (end < series.points.size() && std::floor(x.place(series.points[end].x) * 2) == column) {
      low = std::min(low, series.points[end].y);
      high = std::max(high, series.points[end].y);
      ++end;
    }
    const double at = x.place(series.points[i].x);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", at, y.place(high));
    if (high > low) path += fmt::format("L{:.1f} {:.1f}", at, y.place(low));
    i = end;
  }
  // A single point is a short line, or nobody sees it.
  if (series.points.size() == 1) path += "h2";
  return path;
}

std::string legend(const std::vector<LineSeries>& series) {
  std::string html;
  for (const LineSeries& s : series)
    if (!s.name.empty())
      html +=
          fmt::format("<span><i class=\"k{}\"></i>{}</span>", s.colour % 12, escape_html(s.name));
  return html.empty() ? html : "<p class=\"legend\">" + html + "</p>";
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
    }
  }
  return safe;
}

std::string draw_lines(const LineChart& chart) {
  double x_low = 0;
  double x_high = 0;
  double y_high = 0;
  bool is_first = true;
  for (const LineSeries& series : chart.series)
    for (const ChartPoint& point : series.points) {
      x_low = is_first ? point.x : std::min(x_low, point.x);
      x_high = is_first ? point.x : std::max(x_high, point.x);
      y_high = std::max(y_high, point.y);
      is_first = false;
    }
  const Axis x(x_low, x_high, kLeft, kWidth - kRight, AxisScale::kLinear);
  const Axis y(0, y_high, kHeight - kBottom, kTop, chart.y_scale);
  std::string svg = legend(chart.series);
  svg += fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", kWidth, kHeight,
                     escape_html(chart.label));
  for (const double value : y.ticks(5)) {
    const double at = y.place(value);
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\"/>"
        "<text class=\"y\" x=\"{}\" y=\"{:.1f}\">{}</text>",
        kLeft, at, kWidth - kRight, at, kLeft - 6, at + 4, escape_html(chart.y_text(value)));
  }
  for (const double value : x.ticks(8))
    svg += fmt::format("<text class=\"x\" x=\"{:.1f}\" y=\"{}\">{}</text>", x.place(value),
                       kHeight - kBottom + 16, escape_html(chart.x_text(value)));
  svg += fmt::format("<text class=\"x\" x=\"{:.1f}\" y=\"{}\">{}</text>",
                     (kLeft + kWidth - kRight) / 2, kHeight - 3, escape_html(chart.x_name));
  for (const LineSeries& series : chart.series)
    if (!series.points.empty())
      svg +=
          fmt::format("<path class=\"l{}\" d=\"{}\"/>", series.colour % 12, path_of(series, x, y));
  return svg + "</svg>";
}

std::string draw_bars(std::string_view label, const std::vector<Bar>& bars) {
  constexpr double kNames = 130;
  constexpr double kValues = 90;
  constexpr double kRow = 22;
  double longest = 0;
  for (const Bar& bar : bars) {
    double length = 0;
    for (const BarPart& part : bar.parts) length += std::max(0.0, part.value);
    longest = std::max(longest, length);
  }
  const double scale = longest > 0 ? (kWidth - kNames - kValues) / longest : 0;
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", kWidth,
                  kRow * static_cast<double>(bars.size()) + 4, escape_html(label));
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double top = (kRow * static_cast<double>(i)) + 3;
    double at = kNames;
    svg += fmt::format("<text class=\"y\" x=\"{}\" y=\"{:.1f}\">{}</text>", kNames - 6, top + 13,
                       escape_html(bars[i].name));
    for (const BarPart& part : bars[i].parts) {
      const double width = std::max(0.0, part.value) * scale;
      if (width <= 0) continue;
      svg += fmt::format(
          "<rect class=\"c{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\">"
          "<title>{}</title></rect>",
          part.colour % 12, at, top, width, kRow - 6, escape_html(part.title));
      at += width;
    }
    svg += fmt::format("<text class=\"v\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", at + 5, top + 13,
                       escape_html(bars[i].value));
  }
  return svg + "</svg>";
}

}  // namespace stratalog
