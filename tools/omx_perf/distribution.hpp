// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Distribution of measured times: order statistics and a histogram.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emx::perf {

/// Times of one message length in microseconds. add() everything, then finish(), then ask.
class Distribution {
public:
    void reserve(std::size_t count) { us_.reserve(count); }
    void add(double us) { us_.push_back(us); }
    void finish();

    std::size_t count() const { return us_.size(); }
    double min() const { return quantile(0); }
    double median() const { return quantile(0.5); }
    double max() const { return quantile(1); }
    double mean() const;
    /// Value below which the share q (0 to 1) of the times lies, by the nearest rank; 0 when empty.
    double quantile(double q) const;

    struct Bucket {
        double from_us;
        double to_us;
        uint64_t count;
    };
    /// Buckets whose width grows by a fourth root of two, without the empty ones at both ends.
    std::vector<Bucket> histogram() const;

private:
    std::vector<double> us_;
};

} // namespace emx::perf
