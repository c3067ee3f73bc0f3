// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#pragma once

namespace job {

/// A queue through the `next` of its elements, which it does not own.
template <class T>
struct Fifo {
    T *head = nullptr;
    T **end = &head; ///< where the next one is linked
    Fifo() = default;
    Fifo(const Fifo &) = delete;
    Fifo &operator=(const Fifo &) = delete;
    void push(T *element)
    {
        element->next = nullptr;
        *end = element;
        end = &element->next;
    }
    T *pop()
    {
        T *element = head;
        if (element && !(head = element->next))
            end = &head;
        return element;
    }
    /// Forgets its elements.
    void clear() { *(end = &head) = nullptr; }
};

} // namespace job
