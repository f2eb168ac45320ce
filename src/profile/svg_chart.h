// SPDX-License-Identifier: Apache-2.0
// Charts as inline SVG: lines over a common x axis, and stacked horizontal bars. Colours come from
// the page's style sheet (classes c0 .. c11), so that charts follow light and dark. All text is
// escaped here. Pure; local.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace stratalog {

// Safe as text and as an attribute value of HTML and SVG; control characters become spaces.
std::string escape_html(std::string_view text);

struct ChartPoint {
  double x = 0;
  double y = 0;
};

enum class AxisScale : std::uint8_t { kLinear, kLog };

struct LineSeries {
  std::string name;  // for the legend; empty: none
  unsigned colour = 0;
  std::vector<ChartPoint> points;  // ascending x
};

using NumberText = std::function<std::string(double)>;

struct LineChart {
  std::string label;  // what it shows, for readers that do not see it
  std::string x_name;
  std::vector<LineSeries> series;
  AxisScale y_scale = AxisScale::kLinear;
  NumberText x_text;  // numbers at the axes
  NumberText y_text;
};

std::string draw_lines(const LineChart& chart);

struct BarPart {
  unsigned colour = 0;
  double value = 0;
  std::string title;  // shown when pointed at
};

struct Bar {
  std::string name;
  std::string value;  // at the end of the bar
  std::vector<BarPart> parts;
};

// Bars share one scale from 0 to the longest.
std::string draw_bars(std::string_view label, const std::vector<Bar>& bars);

}  // namespace stratalog
