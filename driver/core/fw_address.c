/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where endpoints take datagrams and connections, and the header that a packet has in a datagram
 * (docs/protocol.md, Datagrams and TCP). The sockets, and which ways serve, are the platform's.
 */
#include "fw_internal.h"

void fw_address_heard(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx)
{
	(void)now;
	if (!(pkt->x.tcp ? ep->x_tcp : ep->x_datagram)) {
		fw_drop(fx, EMX_CNT_DROP_EXTENSION);
		return;
	}
	fx->kind = FW_FX_ADDRESS;
	fx->u.address.secret = pkt->x.secret;
	fx->u.address.peer = pkt->msg.peer;
	fx->u.address.session = pkt->x.session;
	fx->u.address.address = pkt->x.address;
	fx->u.address.port = pkt->x.port;
	fx->u.address.bytes = pkt->x.bytes;
	fx->u.address.remote_ep = pkt->msg.remote_ep;
	fx->u.address.is_answer = pkt->x.is_answer;
	fx->u.address.takes_fragments = pkt->x.takes_fragments;
	fx->u.address.tcp = pkt->x.tcp;
}

void fw_address_tell(const struct fw_endpoint *ep, const struct fw_address *to, struct fw_fx *fx)
{
	struct fw_pkt pkt;

	fw_clear(&pkt);
	fw_zero(&pkt.x, sizeof(pkt.x));
	pkt.msg.type = EMX_X_ADDRESS;
	pkt.msg.local_ep = to->remote_ep;
	pkt.msg.remote_ep = ep->number;
	pkt.msg.session = to->session;
	pkt.x.is_answer = to->is_answer;
	pkt.x.takes_fragments = to->takes_fragments;
	pkt.x.tcp = to->tcp;
	pkt.x.session = ep->session;
	pkt.x.address = to->address;
	pkt.x.secret = to->secret;
	pkt.x.port = to->port;
	pkt.x.bytes = to->bytes;
	fw_tx(ep->board, &pkt, to->peer, fx);
}

void fw_datagram_seal(void *hdr, __u64 secret)
{
	struct emx_w_datagram *to = hdr;

	to->secret = emx_put64(secret);
	to->mark = emx_put32(EMX_X_MARK);
	fw_zero(to->reserved12, sizeof(to->reserved12));
}

__u64 fw_datagram_secret(const void *hdr)
{
	const struct emx_w_datagram *from = hdr;
	const __u8 type = ((const __u8 *)hdr)[EMX_OUTER_LEN];

	if (emx_get32(from->mark) != EMX_X_MARK ||
	    (type != EMX_X_DATA && type != EMX_X_MEDIUM && type != EMX_X_ADDRESS))
		return 0;
	return emx_get64(from->secret);
}

void fw_datagram_unseal(void *hdr, __u64 from, __u64 to, __u16 tag)
{
	struct emx_outer_pair *outer = hdr;

	outer->first = emx_put64(to << 16 | from >> 32);
	outer->second = emx_put64(from << 32 | (__u64)EMX_ETHERTYPE << 16 | tag);
}
