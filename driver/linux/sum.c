// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Checksums of the EtherMX extension: CRC-32C over pieces of frames, by the core's function. That
 * uses the processor's instruction on x86; the kernel's own would make this module need another.
 *
 * They find what memory, buses, cards and switches alter, not what somebody alters on purpose, who
 * could write the right sum as well. So it does not matter that a frame may lie in pages that a
 * program can still write to: a program that changes a message while it is under way.
 */
#include "tx.h"

/* In skb->cb, which is zero in a new frame: bytes of data to sum up before it leaves. */
struct emx_later {
	u32 bytes;
};

static struct emx_later *emx_sum_later_of(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct emx_later) > sizeof(skb->cb));
	return (struct emx_later *)skb->cb;
}

/* Checksum of bytes of a frame, in whatever pieces it lies. */
static u32 emx_sum_crc(struct sk_buff *skb, u32 from, u32 bytes)
{
	struct skb_seq_state walk;
	const u8 *piece;
	u32 done = 0;
	u32 crc = 0;
	u32 n;

	skb_prepare_seq_read(skb, from, from + bytes, &walk);
	while ((n = skb_seq_read(done, &piece, &walk))) {
		n = min(n, bytes - done); /* it tells where pieces end, not where it is to */
		crc = fw_crc32c(crc, piece, n);
		done += n;
	}
	return crc;
}

/*
 * Before the frame is copied: what is wrong never counts as received, nor does a DMA engine see it.
 * What is copied was read here a moment before.
 */
bool emx_sum_fits(struct sk_buff *skb, struct fw_pkt *pkt)
{
	u32 from;

	if (pkt->msg.type == EMX_X_MEDIUM)
		from = FW_X_MEDIUM_HEADER;
	else if (pkt->msg.type == EMX_X_DATA)
		from = FW_X_DATA_HEADER;
	else
		return true;
	if (!pkt->x.checksum)
		return true;
	if (!fw_checksum_fits(pkt, skb->data, emx_sum_crc(skb, from, pkt->msg.data_len)))
		return false;
	pkt->x.checksum = 0;
	return true;
}

void emx_sum_put(struct sk_buff *skb, u32 header, u32 bytes)
{
	fw_put_checksum(skb->data, emx_sum_crc(skb, header, bytes));
}

void emx_sum_later(struct sk_buff *skb, u32 bytes)
{
	emx_sum_later_of(skb)->bytes = bytes;
}

/*
 * The frame may have the program's own pages. If it writes to them before the frame has left, the
 * sum is wrong: the receiver drops the frame and asks for it again, as if it were lost. Programs
 * must not do that anyway.
 */
void emx_sum_now(struct sk_buff *skb)
{
	const u32 bytes = emx_sum_later_of(skb)->bytes;

	if (!bytes)
		return;
	emx_sum_later_of(skb)->bytes = 0;
	emx_sum_put(skb, FW_X_DATA_HEADER, bytes);
}
