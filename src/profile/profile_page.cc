// SPDX-License-Identifier: Apache-2.0
#include "profile/profile_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "profile/svg_chart.h"

namespace stratalog {
namespace {

// Ranks and relations with a bar of their own; of more, the slowest or largest are drawn.
constexpr std::size_t kBars = 24;
constexpr std::size_t kStrataDrawn = 8;

constexpr std::string_view kStyle = R"(<style>
:root{color-scheme:light dark;--ink:#1d2330;--soft:#667085;--line:#d9dee8;--back:#fff;--card:#f6f8fb;--bar:#3b6fd4}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8f0;--soft:#9aa4b5;--line:#343c4b;--back:#14181f;--card:#1c222c;--bar:#6f9bf0}}
body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--back);margin:2rem auto;max-width:60rem;padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2.2rem 0 .4rem}p.note{color:var(--soft);margin:.2rem 0 .6rem}
.facts{display:flex;flex-wrap:wrap;gap:.6rem;margin:1rem 0}.facts div{background:var(--card);border-radius:8px;padding:.5rem .9rem}
.facts b{display:block;font-size:1.15rem}.facts span{color:var(--soft);font-size:.85rem}
table{border-collapse:collapse;width:100%;font-size:.88rem}th{text-align:left;border-bottom:2px solid var(--line);cursor:pointer;white-space:nowrap}
th,td{padding:.28rem .5rem;vertical-align:top}td{border-bottom:1px solid var(--line)}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}td.rule{font-family:ui-monospace,monospace;font-size:.82rem;overflow-wrap:anywhere}
td small{color:var(--soft)}td .share{display:block;height:3px;background:var(--bar);border-radius:2px;margin-top:2px}
th[aria-sort=ascending]::after{content:" \25b4"}th[aria-sort=descending]::after{content:" \25be"}
svg{width:100%;height:auto;background:var(--card);border-radius:8px}svg text{font:11px system-ui,sans-serif;fill:var(--soft)}
svg text.y{text-anchor:end}svg text.x{text-anchor:middle}svg .grid{stroke:var(--line)}svg path{fill:none;stroke-width:1.6}
.legend{margin:.2rem 0;font-size:.85rem}.legend span{margin-right:1rem}.legend i{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.35em}
</style>)";

constexpr std::string_view kScript = R"(<script>
for(const th of document.querySelectorAll('th'))th.addEventListener('click',()=>{
const body=th.closest('table').tBodies[0],i=th.cellIndex,down=th.getAttribute('aria-sort')!=='descending';
for(const other of th.parentNode.cells)other.removeAttribute('aria-sort');
th.setAttribute('aria-sort',down?'descending':'ascending');
const key=r=>{const c=r.cells[i],v=c.dataset.v;return v===undefined?c.textContent:Number(v)};
[...body.rows].sort((a,b)=>{const x=key(a),y=key(b),o=typeof x==='number'?x-y:x.localeCompare(y);return down?-o:o}).forEach(r=>body.append(r))});
</script>)";

constexpr const char* kColours[12] = {"#3b6fd4", "#e0803a", "#3aa675", "#c9485b",
                                      "#8a63c9", "#b58b2a", "#2b9bb3", "#d066a3",
                                      "#6b8e23", "#7f8ba3", "#a0522d", "#b8c0cf"};

std::string count_text(double count) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  while (count >= 999.5 && unit < 5) {
    count /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.{}f}", count, count == std::floor(count) ? 0 : 2);
  return fmt::format("{:.{}f}{}", count, count < 10 ? 2 : (count < 100 ? 1 : 0), kUnits[unit]);
}

std::string size_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1023.5 && unit < 5) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : (bytes < 10 ? 2 : 1), kUnits[unit]);
}

std::string seconds_text(double seconds) {
  if (seconds < 0.001) return fmt::format("{:.0f} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 100) return fmt::format("{:.2f} s", seconds);
  return fmt::format("{:.0f} s", seconds);
}

// Steps of an axis are round in powers of ten.
std::string axis_bytes(double bytes) { return count_text(bytes) + (bytes < 999.5 ? " B" : "B"); }

std::string axis_seconds(double seconds) { return fmt::format("{:.6g} s", seconds); }

double number(std::uint64_t value) { return static_cast<double>(value); }

// A table that is written row by row.
class Table {
 public:
  explicit Table(std::string_view columns) {  // "name|#number|..."
    html_ = "<table><thead><tr>";
    while (!columns.empty()) {
      const std::size_t end = std::min(columns.find('|'), columns.size());
      std::string_view name = columns.substr(0, end);
      const bool is_number = name.starts_with('#');
      if (is_number) name.remove_prefix(1);
      html_ += fmt::format("<th{}>{}</th>", is_number ? " class=\"n\"" : "", escape_html(name));
      columns.remove_prefix(std::min(columns.size(), end + 1));
    }
    html_ += "</tr></thead><tbody>";
  }
  void row() { html_ += rows_++ > 0 ? "</tr><tr>" : "<tr>"; }
  // `markup` is HTML already.
  void cell(std::string_view style, const std::string& markup) {
    html_ += fmt::format("<td class=\"{}\">{}</td>", style, markup);
  }
  void text(std::string_view text) { html_ += "<td>" + escape_html(text) + "</td>"; }
  void value(double sorted_by, const std::string& text) {
    html_ += fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", sorted_by, escape_html(text));
  }
  void count(std::uint64_t value) { this->value(number(value), count_text(number(value))); }
  std::string take() { return html_ + (rows_ > 0 ? "</tr>" : "") + "</tbody></table>"; }

 private:
  std::string html_;
  std::size_t rows_ = 0;
};

std::string section(std::string_view title, std::string_view note) {
  return fmt::format(
      "<h2>{}</h2>{}", escape_html(title),
      note.empty() ? "" : fmt::format("<p class=\"note\">{}</p>", escape_html(note)));
}

std::string head(const RunProfile& profile) {
  std::string colours = "<style>";
  for (int i = 0; i < 12; ++i)
    colours +=
        fmt::format(".c{0}{{fill:{1}}}.l{0}{{stroke:{1}}}.k{0}{{background:{1}}}", i, kColours[i]);
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>{}: "
      "profile</title>{}{}</style>"
      "</head><body>",
      escape_html(profile.program), kStyle, colours);
}

std::string facts(const RunProfile& profile) {
  std::uint64_t sent = 0;
  std::uint64_t tuples = 0;
  std::uint64_t rounds = 0;
  for (const ProfileRank& rank : profile.by_rank) sent += rank.sent_bytes;
  for (const ProfileRelation& relation : profile.relations) tuples += relation.rows;
  for (const ProfileStratum& stratum : profile.strata) rounds += stratum.iterations;
  std::string html = fmt::format("<h1>{}</h1><div class=\"facts\">", escape_html(profile.program));
  const auto fact = [&](const std::string& value, const char* name) {
    html += fmt::format("<div><b>{}</b><span>{}</span></div>", escape_html(value), name);
  };
  fact(seconds_text(profile.total_seconds), "in all");
  fact(fmt::format("{}", profile.ranks), profile.ranks == 1 ? "rank" : "ranks");
  fact(count_text(number(tuples)), "tuples in all relations");
  fact(count_text(number(rounds)), "rounds");
  fact(size_text(number(profile.peak_memory_bytes)), "peak memory of relations");
  fact(size_text(number(sent)), "sent between ranks");
  if (!profile.resumed_from.empty()) fact(profile.resumed_from, "resumed from");
  return html + "</div>";
}

std::string phases(const RunProfile& profile) {
  std::vector<std::size_t> ranks(profile.by_rank.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  const auto busy = [&](std::size_t r) {
    const auto& rank = profile.by_rank[r];
    return rank.total_seconds - rank.seconds[3];  // without the exchange, where ranks wait
  };
  std::string note = "Ranks meet after each exchange, so a rank that finished early waits in it.";
  if (ranks.size() > kBars) {
    std::stable_sort(ranks.begin(), ranks.end(),
                     [&](std::size_t a, std::size_t b) { return busy(a) > busy(b); });
    ranks.resize(kBars);
    note += fmt::format(" The {} busiest of {} ranks.", kBars, profile.by_rank.size());
  }
  std::vector<Bar> bars;
  std::array<bool, kProfilePhases.size()> seen{};
  for (const std::size_t r : ranks) {
    const ProfileRank& rank = profile.by_rank[r];
    Bar bar{.name = fmt::format("rank {}", r), .value = seconds_text(rank.total_seconds)};
    for (std::size_t p = 0; p < kProfilePhases.size(); ++p) {
      seen[p] = seen[p] || rank.seconds[p] > 0.001 * rank.total_seconds;
      bar.parts.push_back(
          {.colour = static_cast<unsigned>(p),
           .value = rank.seconds[p],
           .title = fmt::format("{}: {}", kProfilePhases[p], seconds_text(rank.seconds[p]))});
    }
    bars.push_back(std::move(bar));
  }
  std::string legend = "<p class=\"legend\">";
  for (std::size_t p = 0; p < kProfilePhases.size(); ++p)
    if (seen[p])
      legend += fmt::format("<span><i class=\"k{}\"></i>{}</span>", p, kProfilePhases[p]);
  return section("Time by phase and rank", note) + legend + "</p>" +
         draw_bars("seconds of each rank by phase", bars);
}

std::string rule_cell(const RunProfile& profile, const ProfileRule& rule) {
  if (rule.work == ProfileWork::kSweep)
    return fmt::format("sweeps over <b>{}</b> <small>all its recursive rules together</small>",
                       escape_html(profile.strata[rule.stratum].relations));
  std::string html = escape_html(rule.text);
  html += fmt::format(" <small>{}:{}", escape_html(rule.file), rule.line);
  if (!rule.delta.empty()) html += fmt::format(", new tuples of {}", escape_html(rule.delta));
  if (!rule.order.empty()) html += fmt::format("<br>{}", escape_html(rule.order));
  return html + "</small>";
}

std::string rules(const RunProfile& profile) {
  std::vector<const ProfileRule*> sorted;
  double all = 0;
  for (const ProfileRule& rule : profile.rules) {
    sorted.push_back(&rule);
    all += rule.seconds;
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const ProfileRule* a, const ProfileRule* b) {
    return a->seconds > b->seconds;
  });
  Table table("rule|#stratum|#time|#share|#derived|#new|#per new tuple|#slowest rank|#times run");
  for (const ProfileRule* rule : sorted) {
    const double share = all > 0 ? rule->seconds / all : 0;
    table.row();
    table.cell("rule", rule_cell(profile, *rule) +
                           fmt::format("<span class=\"share\" style=\"width:{:.1f}%\"></span>",
                                       100 * share));
    table.value(rule->stratum, fmt::format("{}", rule->stratum));
    table.value(rule->seconds, seconds_text(rule->seconds));
    table.value(share, fmt::format("{:.1f} %", 100 * share));
    table.count(rule->derivations);
    if (rule->new_tuples) {
      const double wasted =
          *rule->new_tuples > 0 ? number(rule->derivations) / number(*rule->new_tuples) : 0;
      table.count(*rule->new_tuples);
      table.value(wasted, *rule->new_tuples > 0 ? fmt::format("{:.2f}", wasted) : "");
    } else {
      table.value(-1, "?");
      table.value(-1, "");
    }
    table.value(rule->slowest_seconds, seconds_text(rule->slowest_seconds));
    table.count(rule->evaluations);
  }
  return section(
             "Rules",
             "Time is that of all ranks together. Derived counts duplicates; a rule that derives "
             "many tuples for each new one is worth another look. Click a heading to sort.") +
         table.take();
}

std::string rounds(const RunProfile& profile) {
  // The strata with most rounds.
  std::vector<std::uint64_t> count(profile.strata.size(), 0);
  for (const ProfileRounds& point : profile.rounds) count[point.stratum] += point.rounds;
  std::vector<std::uint32_t> drawn;
  for (std::uint32_t s = 0; s < count.size(); ++s)
    if (count[s] > 1) drawn.push_back(s);
  std::stable_sort(drawn.begin(), drawn.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return count[a] > count[b]; });
  if (drawn.empty()) return {};
  if (drawn.size() > kStrataDrawn) drawn.resize(kStrataDrawn);
  LineChart chart{.label = "new tuples in each round",
                  .x_name = "round",
                  .series = {},
                  .y_scale = AxisScale::kLog,
                  .x_text = count_text,
                  .y_text = count_text};
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    LineSeries series{.name = fmt::format("{}: {} ({} rounds)", drawn[i],
                                          profile.strata[drawn[i]].relations, count[drawn[i]]),
                      .colour = static_cast<unsigned>(i),
                      .points = {}};
    for (const ProfileRounds& point : profile.rounds)
      if (point.stratum == drawn[i])
        series.points.push_back({.x = number(point.first), .y = number(point.largest)});
    chart.series.push_back(std::move(series));
  }
  return section("New tuples in each round",
                 "A logarithmic scale: a long thin tail costs a round of latency each.") +
         draw_lines(chart);
}

std::string over_time(const RunProfile& profile, std::string_view title, std::string_view note,
                      std::uint64_t ProfileSample::* value, const NumberText& text,
                      unsigned colour) {
  LineChart chart{.label = std::string(title),
                  .x_name = "seconds since the start",
                  .series = {},
                  .y_scale = AxisScale::kLinear,
                  .x_text = axis_seconds,
                  .y_text = text};
  LineSeries series{.name = "", .colour = colour, .points = {}};
  for (const ProfileSample& sample : profile.samples)
    series.points.push_back({.x = sample.at_seconds, .y = number(sample.*value)});
  chart.series.push_back(std::move(series));
  return section(title, note) + draw_lines(chart);
}

std::string relations(const RunProfile& profile) {
  Table table("relation|#tuples|#fullest rank|#times an even share|#emptiest rank");
  for (const ProfileRelation& relation : profile.relations) {
    const double even = number(relation.rows) / std::max(1U, profile.ranks);
    const double times = even > 0 ? number(relation.largest_rows) / even : 0;
    table.row();
    table.text(relation.name);
    table.count(relation.rows);
    table.value(number(relation.largest_rows),
                fmt::format("{} (rank {})", count_text(number(relation.largest_rows)),
                            relation.largest_rank));
    table.value(times, relation.rows > 0 ? fmt::format("{:.2f}", times) : "");
    table.count(relation.smallest_rows);
  }
  return section(
             "Relations and their balance",
             "The fullest rank holds so many times an even share of the tuples; with a relation "
             "that is larger than the number of ranks, 1.00 is best.") +
         table.take();
}

std::string strata(const RunProfile& profile) {
  Table table("#|relations|strategy|#time|#rounds|#tuples|#derived|#sent");
  for (std::size_t s = 0; s < profile.strata.size(); ++s) {
    const ProfileStratum& stratum = profile.strata[s];
    if (stratum.strategy.empty()) continue;
    table.row();
    table.value(number(s), fmt::format("{}", s));
    table.text(stratum.relations);
    table.text(stratum.strategy);
    table.value(stratum.seconds, seconds_text(stratum.seconds));
    table.count(stratum.iterations);
    table.count(stratum.tuples);
    table.count(stratum.derivations);
    table.value(number(stratum.exchanged_bytes), size_text(number(stratum.exchanged_bytes)));
  }
  return section("Strata", "") + table.take();
}

std::string checkpoints(const RunProfile& profile) {
  if (profile.checkpoints.empty()) return {};
  Table table("generation|#size|#time|#MB/s");
  for (const ProfileCheckpoint& checkpoint : profile.checkpoints) {
    const double speed =
        checkpoint.seconds > 0 ? number(checkpoint.bytes) / checkpoint.seconds / 1e6 : 0;
    table.row();
    table.text(checkpoint.generation);
    table.value(number(checkpoint.bytes), size_text(number(checkpoint.bytes)));
    table.value(checkpoint.seconds, seconds_text(checkpoint.seconds));
    table.value(speed, fmt::format("{:.1f}", speed));
  }
  return section("Checkpoints", "") + table.take();
}

}  // namespace

std::string profile_page(const RunProfile& profile) {
  std::string page = head(profile) + facts(profile);
  page += phases(profile);
  page += rules(profile);
  page += rounds(profile);
  if (!profile.samples.empty()) {
    page += over_time(profile, "Memory of relations", "All ranks together, as accounted.",
                      &ProfileSample::memory_bytes, axis_bytes, 2);
    if (profile.ranks > 1)
      page += over_time(profile, "Bytes sent between ranks", "All ranks together, from the start.",
                        &ProfileSample::sent_bytes, axis_bytes, 1);
  }
  page += relations(profile) + strata(profile) + checkpoints(profile);
  return page + std::string(kScript) + "</body></html>\n";
}

}  // namespace stratalog
