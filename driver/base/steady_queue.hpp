// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// First in, first out, without an allocation for each element.
#pragma once

#include <list>

namespace emx {

/// Keeps the memory of elements that went, for those to come: after a warm-up, nothing is allocated.
/// References stay valid until their element goes. Not thread-safe. push_back() throws std::bad_alloc.
template <class T>
class SteadyQueue {
public:
    bool empty() const { return items_.empty(); }
    /// The oldest element; there must be one.
    const T &front() const { return items_.front(); }
    void push_back(const T &item)
    {
        if (spare_.empty()) {
            items_.push_back(item);
            return;
        }
        spare_.front() = item;
        items_.splice(items_.end(), spare_, spare_.begin());
    }
    /// The oldest element goes; there must be one.
    void pop_front() { spare_.splice(spare_.begin(), items_, items_.begin()); }

private:
    std::list<T> items_;
    std::list<T> spare_; ///< as many as there were at once, at most
};

} // namespace emx
