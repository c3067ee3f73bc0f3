/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An instruction that does nothing and that no compiler writes: nopl with an odd displacement, whose last byte
 * says which mark it is. Between mark.c and ../count.c. */
#define MARK_BYTES 0x0f, 0x1f, 0x80, 'E', 'M', 'X'
#define MARK_BEGIN 1
#define MARK_END 2
