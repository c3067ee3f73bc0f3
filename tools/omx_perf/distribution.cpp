// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Order statistics and histogram of measured times.
#include "distribution.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace emx::perf {

namespace {
constexpr double buckets_per_octave = 4;
constexpr double smallest_us = 1e-3; // the clock's own resolution
} // namespace

void Distribution::finish() { std::sort(us_.begin(), us_.end()); }

double Distribution::quantile(double q) const
{
    if (us_.empty())
        return 0;
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(us_.size())));
    return us_[std::clamp<std::size_t>(rank, 1, us_.size()) - 1];
}

double Distribution::mean() const
{
    return us_.empty() ? 0 : std::accumulate(us_.begin(), us_.end(), 0.0) / static_cast<double>(us_.size());
}

std::vector<Distribution::Bucket> Distribution::histogram() const
{
    if (us_.empty())
        return {};
    const auto index = [](double us) {
        return static_cast<int>(std::floor(std::log2(std::max(us, smallest_us)) * buckets_per_octave));
    };
    const int first = index(us_.front());
    const int last = index(us_.back());
    std::vector<Bucket> buckets;
    for (int i = first; i <= last; i++)
        buckets.push_back({std::exp2(i / buckets_per_octave), std::exp2((i + 1) / buckets_per_octave), 0});
    for (const double us : us_)
        buckets[static_cast<std::size_t>(index(us) - first)].count++;
    return buckets;
}

} // namespace emx::perf
