// What a comparison of two settings means.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/statistics.h"

namespace wavefill {

// Of a setting against the deployed one, at one batch.
enum class Verdict : std::uint8_t {
  faster,     // more throughput, beyond chance and beyond the noise floor
  slower,     // less
  same,       // the interval of the effect lies within the margin of practical equality
  undecided,  // the samples do not say
};
std::string_view to_string(Verdict verdict);  // "FASTER", ...

struct VerdictRule {
  double alpha = 0.05;  // chance of even one false FASTER or SLOWER in a family of comparisons
  // An effect smaller than this is not worth a change, however certain it is.
  double min_effect = 0.005;
  // SAME: the interval lies within this of 0, or within the noise floor if that is larger; but not beyond
  // assumed_noise, where nothing can be called equal any more.
  double equality_margin = 0.01;
  // The regress guard: what is deployed must be shown to lose no more than this at any batch that it matters
  // at. >= equality_margin.
  double max_loss = 0.02;
  std::int32_t min_samples = 5;  // fewer are not resampled, but judged by the noise of all samples together
  // For figures of which none was repeated: a difference below this is taken as noise. >= equality_margin.
  double assumed_noise = 0.02;
  std::int32_t resamples = 4000;
  std::uint64_t seed = 1;
};

// One sample with the round it was taken in; samples of the same round (>= 0) of two settings are paired.
struct TimedSample {
  std::int32_t round = -1;  // -1: taken apart from everything else
  double us = 0.0;

  friend bool operator==(const TimedSample&, const TimedSample&) = default;
};

// The times of samples, in their order.
std::vector<double> times_us(std::span<const TimedSample> samples);

// Effects are relative differences of throughput: +0.05 is 5 % more tokens/s than the baseline.
struct Effect {
  double effect = 0.0;
  Interval interval;     // 95 %; equal to effect where it is taken at face value
  double p_value = 1.0;  // of "no difference", before any correction
  bool has_interval = false;
  bool at_face_value = false;  // compared without an interval: nothing is known of the noise
};

// How large an effect can look where there is none: the far end of the interval of an A/A comparison.
// 0 where it has no interval.
double noise_floor(const Effect& a_a);

// The two halves of the regress guard. Neither is adjusted for the number of comparisons: an adjustment makes
// claims rarer, and here the claim that must be earned is that nothing is lost. A setting is deployed only if
// it passes at every batch, and the chance that one which loses passes everywhere is no larger than at the
// batch where it loses.
// The whole interval lies below what counts as SAME.
bool is_loss(const Effect& effect, double noise, const VerdictRule& rule);
// The whole interval lies above -max_loss; of a single figure, the figure itself.
bool excludes_loss(const Effect& effect, const VerdictRule& rule);

// Verdicts of a family of comparisons, p values adjusted by Holm's method. noise[i] is the noise floor that
// holds for family[i]. Without an interval only a difference beyond assumed_noise means something.
// Precondition: sizes are equal.
std::vector<Verdict> judge(std::span<const Effect> family, std::span<const double> noise,
                           const VerdictRule& rule);

}  // namespace wavefill
