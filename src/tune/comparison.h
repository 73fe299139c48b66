// What samples say of the difference of two settings, be they many or few.
//
// Resampling the samples of a pair assumes nothing of their distribution. But so it cannot claim more than
// the number of their arrangements supports, and with few samples no p that it reaches survives the
// correction for a family of comparisons: five against five give 0.008 at best, which is 0.1 among twelve.
// What five samples lack, all cells together have: noise is much the same in all of them. So such a pair is
// judged by Student's t of log times, with a variance pooled over the family.
#pragma once

#include <span>
#include <vector>

#include "tune/verdict.h"

namespace wavefill {

// How far log times scatter about the mean of their own cell, over all cells: relative noise.
class Scatter {
 public:
  void add(std::span<const TimedSample> cell);
  void add(std::span<const double> logs);  // log times, or log ratios
  // Of which only a part counts, since what was added to it shares some of its noise.
  void add(const Scatter& other, double part);

  // Cells of equal figures, as scripts repeat and sheets round them, say nothing of noise.
  bool is_known() const;
  double variance() const { return squares_ / degrees_; }  // Precondition: is_known().
  double degrees() const { return degrees_; }

 private:
  double squares_ = 0.0;
  double degrees_ = 0.0;
};

// Times of a candidate and of what it is held against. Preconditions: neither is empty, times > 0.
struct SamplePair {
  std::span<const TimedSample> baseline;
  std::span<const TimedSample> candidate;
  const Effect* alone = nullptr;  // what compare() said of the two, if it was asked: spares resampling again
};

// The effect of each pair. Samples are paired by round if at least min_samples rounds are shared, or all of
// the side that has fewer. A pair is resampled if it has min_samples, and the least p that it can reach is
// below alpha when held against the size of the family; else it is judged by Student's t. `times` is what is
// known of the noise of unpaired samples; the noise of paired ones is pooled over the family. Where nothing
// is known of either, few samples are taken at face value.
std::vector<Effect> compare_family(std::span<const SamplePair> family, const Scatter& times,
                                   const VerdictRule& rule);

// A family of one, which knows no noise but its own.
Effect compare(std::span<const TimedSample> baseline, std::span<const TimedSample> candidate,
               const VerdictRule& rule);

// The interval of median(numerator) / median(denominator) of unpaired samples by Student's t.
// Precondition: times.is_known().
Interval student_interval(std::span<const TimedSample> numerator, std::span<const TimedSample> denominator,
                          const Scatter& times);

}  // namespace wavefill
