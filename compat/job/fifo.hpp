// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#pragma once

namespace job {

/// A queue through the `next` of its elements, which it does not own.
template <class T>
struct Fifo {
    T *head = nullptr, *tail = nullptr;
    void push(T *element)
    {
        element->next = nullptr;
        (tail ? tail->next : head) = element;
        tail = element;
    }
    T *pop()
    {
        T *element = head;
        if (element && !(head = element->next))
            tail = nullptr;
        return element;
    }
};

} // namespace job
