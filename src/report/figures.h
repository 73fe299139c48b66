// The figures of a report as SVG, drawn from plain numbers. Each comes in two sizes: one for a desk, one
// for a phone, where scaling the first down would make its text unreadable.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wavefill::report {

enum class FigureSize : std::uint8_t { wide, narrow };

struct CurvePoint {
  std::int32_t batch = 0;
  double value = 0.0;
  double low = 0.0;  // interval of value
  double high = 0.0;
  std::string href = {};  // "#m-8-0", its samples; empty: none

  friend bool operator==(const CurvePoint&, const CurvePoint&) = default;
};

enum class CurveRole : std::uint8_t { chosen, deployed, other };

struct Curve {
  std::string label;
  CurveRole role = CurveRole::other;
  std::vector<CurvePoint> points;  // by batch
};

struct WavePoint {
  std::int32_t batch = 0;
  std::int32_t num_splits = 0;
  std::int64_t num_waves = 0;
  double efficiency = 0.0;
};

// Throughput over batch, with intervals; beneath it, on the same axis, the wave efficiency of the chosen
// setting, with a line where a batch needs more waves than the one before it (a wave edge).
struct ThroughputFigure {
  std::vector<Curve> curves;  // at least one, with at least one point each
  std::vector<WavePoint> waves;
};
std::string draw_throughput(const ThroughputFigure& figure, FigureSize size);

// What the chosen setting gains at each batch, with its interval, against the band of noise.
struct EffectPoint {
  std::int32_t batch = 0;
  double effect = 0.0;  // +0.05: 5 % more tokens/s than deployed
  double low = 0.0;
  double high = 0.0;
  double noise = 0.0;     // noise floor of this batch
  std::string verdict;    // "FASTER", ...; empty where the choice is the deployed setting itself
  std::string href = {};  // of its samples
};
std::string draw_effects(std::span<const EffectPoint> points, FigureSize size);

// Time against the best of each batch, for every setting measured. Wide: batches are columns; narrow:
// batches are rows.
struct HeatCell {
  std::size_t batch_idx = 0;  // into HeatMap::batches
  std::size_t row_idx = 0;    // into HeatMap::rows
  double excess = 0.0;        // 0.03: 3 % slower than the best of its batch
  bool is_chosen = false;
  bool is_deployed = false;
  std::string href;  // of its samples
};
struct HeatMap {
  std::vector<std::int32_t> batches;
  std::vector<std::string> rows;  // split counts, then settings without one
  std::vector<HeatCell> cells;
};
std::string draw_heat_map(const HeatMap& map, FigureSize size);

// All samples of one measurement on one axis, with median and interval.
struct SampleStrip {
  std::string id;
  std::string title;
  std::span<const double> samples_us;
  double median_us = 0.0;
  double low_us = 0.0;
  double high_us = 0.0;
};
std::string draw_samples(const SampleStrip& strip);

}  // namespace wavefill::report
