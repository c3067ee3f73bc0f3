// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The event ring of an endpoint, its producer's side. All of it is called with endpoint->lock.
 *
 * Frames may find the ring full, since their senders repeat them. Events that nobody repeats never
 * do: a running pull keeps an entry free for its end, and so does the link.
 */
#include <linux/poll.h>

#include "endpoint.h"
#include "tracing.h"

/* Entries kept free for changes of the link; what finds no room is told later. */
#define LINK_ENTRIES 2

/* Entries that frames may use now; a hostile tail reads as a full ring or loses its own events. */
static bool emx_event_room_for(const struct emx_endpoint *ep, u32 reserve)
{
	u32 used = ep->head - READ_ONCE(ep->ring->tail);

	return used <= ep->ring_mask && used + reserve <= ep->ring_mask;
}

bool emx_event_room(const struct emx_endpoint *ep)
{
	return ep->reserved < ep->ring_mask / 4;
}

static void emx_event_put(struct emx_endpoint *ep, const struct emx_msg *event)
{
	if (fw_ring_put(ep->ring, ep->ring_mask, &ep->head, event))
		emx_drop(ep, NULL, EMX_CNT_DROP_EVENT_FULL);
	else if (wq_has_sleeper(&ep->wait))
		wake_up_interruptible_poll(&ep->wait, EPOLLIN | EPOLLRDNORM);
}

/*
 * Where in the slots a payload goes that is longer than one; false when there is no room. What the
 * program has released is told by the tail, whose lies cost it its own payloads.
 */
static noinline bool emx_event_place_long(struct emx_endpoint *ep, u32 bytes, size_t *place)
{
	const u32 tail = READ_ONCE(ep->ring->tail);
	u32 n;

	if (WARN_ON_ONCE(bytes > ep->long_bytes))
		return false;
	while (ep->long_used && ep->long_entry[ep->long_first] - tail >= ep->head - tail) {
		ep->long_first = (ep->long_first + 1) % ep->long_slots;
		ep->long_used--;
	}
	if (ep->long_used == ep->long_slots)
		return false;
	n = (ep->long_first + ep->long_used++) % ep->long_slots;
	ep->long_entry[n] = ep->head;
	*place = (size_t)(ep->ring_mask + 1) * ep->slot_bytes + (size_t)n * ep->long_bytes;
	return true;
}

/* Puts the payload into its slot or a longer place, as *slot tells; false when there is no room. */
static bool emx_event_place(struct emx_endpoint *ep, const struct emx_msg *msg,
			    const struct sk_buff *skb, u32 source, size_t *slot)
{
	if (unlikely(msg->data_len > ep->slot_bytes) &&
	    !emx_event_place_long(ep, msg->data_len, slot))
		return false;
	return !skb_copy_bits(skb, source, ep->slots + *slot, msg->data_len);
}

void emx_event_frame(struct emx_endpoint *ep, const struct emx_msg *msg, const struct sk_buff *skb,
		     u32 source)
{
	size_t slot = (size_t)(ep->head & ep->ring_mask) * ep->slot_bytes;
	struct emx_msg event = *msg;

	if (!emx_event_room_for(ep, ep->reserved + LINK_ENTRIES))
		goto no_room;
	event.data = 0;
	if (msg->data_len && msg->data) {
		if (!emx_event_place(ep, msg, skb, source, &slot))
			goto no_room;
		event.data = slot;
	}
	emx_event_put(ep, &event);
	return;

no_room:
	emx_drop(ep, skb, EMX_CNT_DROP_EVENT_FULL);
}

void emx_event_pull(struct emx_endpoint *ep, const struct emx_msg *msg)
{
	emx_event_put(ep, msg);
	emx_event_link(ep);
}

void emx_event_link(struct emx_endpoint *ep)
{
	struct emx_msg event = { .type = EMX_EV_LINK, .local_ep = ep->fw->number };

	if (ep->link_owed == ep->link_told || !emx_event_room_for(ep, ep->reserved))
		return;
	event.u.link.state = ep->link_owed;
	ep->link_told = ep->link_owed;
	emx_event_put(ep, &event);
}
