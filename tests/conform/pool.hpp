// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Cases side by side: processes that take one after the other from a common list.
#pragma once

#include "report.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace emx::conform {

/// A column of a runner's table.
struct Column {
    std::string name;
    bool wanted; ///< in this run
};

/// Traits that a case's run in a column proves and others may not: none, the case is not in that column.
/// Without EMX_FULL=1 or --config the case runs in as few columns as have all its traits together.
using Traits = std::function<std::vector<std::string>(const Case &, std::size_t column)>;

/// A case in a column.
struct Job {
    const Case *c;
    std::size_t column; ///< its place in the table
};

/// A worker's view of the list. A worker stays in a column as long as that has jobs.
class Queue {
public:
    struct Shared;
    Queue(const std::vector<Job> &jobs, Shared &shared, std::size_t worker, int results);
    /// The next job, from now on this worker's; nullptr when there is none.
    const Job *take();
    /// Tells how the job taken last came out: empty `failures` means that it passed.
    void done(const std::string &failures);
    /// Tells what is wrong with a whole column.
    void complain(std::size_t column, const std::string &failures);

private:
    void send(std::size_t about, bool column, const std::string &failures) const;
    std::size_t left(std::size_t column) const;
    std::size_t choose() const;

    struct Span {
        std::size_t first, count;
    };
    const std::vector<Job> &jobs_;
    std::vector<Span> columns_; ///< the jobs of each column that has some
    std::size_t column_ = ~std::size_t{0};
    Shared &shared_;
    std::size_t worker_;
    int results_;
    double began_ = 0;
};

inline constexpr int cannot_work = 2;

/// Runs the chosen cases in the columns where they have traits, in o.jobs processes which each do `work` (its
/// result is an exit status: 0 when the list is empty, or cannot_work), and prints the report. A process that
/// dies costs the case it was at; another takes its place. Signals to end are passed on to them. Returns the
/// exit status.
int run_cases(const Options &o, const std::vector<Column> &columns, const Traits &traits,
              const std::function<int(Queue &)> &work);

} // namespace emx::conform
