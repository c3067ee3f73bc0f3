/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writing packets: outer header and body of every type (wire specification, sections 2 and 4).
 *
 * One row per packet type: its length, and the function that fills a zeroed body, in both dialects.
 */
#include "fw_internal.h"

union body {
	struct emx_w_host host;
	struct emx_w_connect connect;
	struct emx_w_eager eager;
	struct emx_w_medium medium;
	struct emx_w_rndv rndv;
	struct emx_w_pull_w pull_w;
	struct emx_w_pull_n pull_n;
	struct emx_w_pull_reply reply;
	struct emx_w_notify notify;
	struct emx_w_truc truc;
	struct emx_w_nack_lib nack_lib;
	struct emx_w_nack_mcp nack_mcp;
	struct emx_w_beacon beacon;
	struct emx_w_x_medium x_medium;
	struct emx_w_x_report x_report;
	struct emx_w_x_pull x_pull;
	struct emx_w_x_data x_data;
	struct emx_w_x_address x_address;
	struct emx_w_x_pack x_pack;
};

static void put_raw(const struct fw_pkt *pkt, union body *b)
{
	b->beacon.board = emx_put64(pkt->board);
	b->beacon.serial = emx_put32(pkt->serial);
}

static void put_query(const struct fw_pkt *pkt, union body *b)
{
	b->host.advert = emx_put16(pkt->advert);
	b->host.magic = emx_put32(pkt->magic);
}

/* Length of the name with its NUL, at most EMX_NAME_MAX. */
static __u32 name_len(const struct fw_pkt *pkt)
{
	__u32 n = 0;

	while (n < EMX_NAME_MAX - 1 && pkt->name[n])
		n++;
	return n + 1;
}

static void put_reply(const struct fw_pkt *pkt, union body *b)
{
	put_query(pkt, b);
	b->host.name_len = (__u8)name_len(pkt);
}

/* The outer header, behind which the body is written. */
static void *header_of(union body *b)
{
	return (__u8 *)b - EMX_OUTER_LEN;
}

static void put_endpoints(const struct fw_pkt *pkt, union body *b)
{
	b->eager.dst_ep = pkt->msg.local_ep;
	b->eager.src_ep = pkt->msg.remote_ep;
}

static void put_truc(const struct fw_pkt *pkt, union body *b)
{
	const struct emx_msg *m = &pkt->msg;

	put_endpoints(pkt, b);
	b->truc.data_len = EMX_TRUC_DATA_LEN;
	b->truc.session = emx_put32(m->session);
	b->truc.kind = EMX_TRUC_ACK;
	b->truc.ack = emx_put16(m->ack);
	b->truc.session_copy = emx_put32(m->session);
	b->truc.counter = emx_put32(m->u.truc.counter);
	b->truc.ack_copy = emx_put16(m->ack);
}

static void put_connect(const struct fw_pkt *pkt, union body *b)
{
	const struct emx_msg *m = &pkt->msg;
	int reply = m->u.connect.is_reply != 0;

	put_endpoints(pkt, b);
	b->connect.data_len = EMX_CONNECT_DATA_LEN;
	b->connect.seq = emx_put16(m->seq);
	b->connect.advert = emx_put16(pkt->advert);
	b->connect.requester_session = emx_put32(reply ? m->session : m->u.connect.session);
	b->connect.key_or_session = emx_put32(reply ? m->u.connect.session : m->u.connect.key);
	b->connect.start = emx_put16(m->u.connect.start);
	b->connect.is_reply = (__u8)reply;
	b->connect.number = m->u.connect.number;
	b->connect.status = reply ? m->u.connect.status : 0;
}

/* Behind the body: the frame is complete but for it. */
static void put_offer(__u64 offer, void *frame)
{
	struct emx_w_offer *to =
		(void *)((__u8 *)frame + EMX_OUTER_LEN + sizeof(struct emx_w_connect));
	const emx_be64 fields = emx_put64(offer);

	__builtin_memcpy(to, &fields, sizeof(fields));
	to->check = emx_put64(fw_offer_check(frame));
}

static inline void put_numbers(const struct emx_msg *m, struct emx_w_eager *b)
{
	b->length = emx_put16((__u16)m->msg_len);
	b->seq = emx_put16(m->seq);
	b->ack = emx_put16(m->ack);
	b->match = emx_put64(m->match);
	b->session = emx_put32(m->session);
}

static void put_eager(const struct fw_pkt *pkt, union body *b)
{
	put_endpoints(pkt, b);
	put_numbers(&pkt->msg, &b->eager);
}

static inline void put_fragment(int is_n, const struct emx_msg *m, __u8 exponent,
				struct emx_w_medium *b)
{
	put_numbers(m, &b->eager);
	if (is_n)
		b->eager.length32 = emx_put32(m->msg_len);
	else
		b->exponent = exponent;
	b->frag_len = emx_put16((__u16)m->data_len);
	b->frag = m->u.medium.frag;
}

static void put_medium_w(const struct fw_pkt *pkt, union body *b)
{
	put_endpoints(pkt, b);
	put_fragment(0, &pkt->msg, pkt->exponent, &b->medium);
}

static void put_medium_n(const struct fw_pkt *pkt, union body *b)
{
	put_endpoints(pkt, b);
	put_fragment(1, &pkt->msg, 0, &b->medium);
}

static void put_rndv(const struct fw_pkt *pkt, union body *b)
{
	const struct emx_msg *m = &pkt->msg;

	put_eager(pkt, b);
	b->rndv.eager.length = emx_put16(EMX_RNDV_DATA_LEN);
	b->rndv.length = emx_put32(m->msg_len);
	b->rndv.window = m->u.window.id;
	b->rndv.window_tag = m->u.window.tag;
	b->rndv.window_offset = emx_put16((__u16)m->u.window.offset);
}

static void put_pull(const struct fw_pkt *pkt, union body *b)
{
	put_endpoints(pkt, b);
	b->pull_w.session = emx_put32(pkt->msg.session);
	b->pull_w.total = emx_put32(pkt->total);
}

static void put_pull_w(const struct fw_pkt *pkt, union body *b)
{
	put_pull(pkt, b);
	b->pull_w.window = (__u8)pkt->window;
	b->pull_w.window_tag = pkt->msg.u.window.tag;
	b->pull_w.window_offset = emx_put16((__u16)pkt->msg.u.window.offset);
	b->pull_w.handle = emx_put32(pkt->handle);
	b->pull_w.magic = emx_put32(pkt->magic);
	b->pull_w.skip = emx_put16((__u16)pkt->skip);
	b->pull_w.length = emx_put16((__u16)pkt->length);
	b->pull_w.frame = emx_put32(pkt->frame);
}

static void put_pull_n(const struct fw_pkt *pkt, union body *b)
{
	put_pull(pkt, b);
	b->pull_n.window = emx_put32(pkt->window);
	b->pull_n.window_tag = pkt->msg.u.window.tag;
	b->pull_n.window_offset = emx_put32(pkt->msg.u.window.offset);
	b->pull_n.handle = emx_put32(pkt->handle);
	b->pull_n.magic = emx_put32(pkt->magic);
	b->pull_n.skip = emx_put32(pkt->skip);
	b->pull_n.length = emx_put32(pkt->length);
	b->pull_n.frame = emx_put32(pkt->frame);
}

void fw_reply_place(void *hdr, __u32 frame, __u32 position, __u32 length)
{
	struct emx_w_pull_reply *reply = (void *)((__u8 *)hdr + EMX_OUTER_LEN);

	reply->frame = (__u8)frame;
	reply->length = emx_put16((__u16)length);
	reply->position = emx_put32(position);
}

static void put_pull_reply(const struct fw_pkt *pkt, union body *b)
{
	fw_reply_place(header_of(b), pkt->frame, pkt->position, pkt->msg.data_len);
	b->reply.handle = emx_put32(pkt->handle);
	b->reply.magic = emx_put32(pkt->magic);
}

static void put_notify(const struct fw_pkt *pkt, union body *b)
{
	const struct emx_msg *m = &pkt->msg;

	put_endpoints(pkt, b);
	b->notify.session = emx_put32(m->session);
	b->notify.length = emx_put32(m->msg_len);
	b->notify.window = m->u.window.id;
	b->notify.window_tag = m->u.window.tag;
	b->notify.seq = emx_put16(m->seq);
	b->notify.ack = emx_put16(m->ack);
}

static void put_nack_lib(const struct fw_pkt *pkt, union body *b)
{
	b->nack_lib.src_ep = pkt->msg.remote_ep;
	b->nack_lib.dst_ep = pkt->msg.local_ep;
	b->nack_lib.reason = pkt->msg.u.nack.reason;
	b->nack_lib.tag_copy = emx_put16(pkt->tag);
	b->nack_lib.seq = emx_put16(pkt->msg.seq);
}

static void put_nack_mcp(const struct fw_pkt *pkt, union body *b)
{
	b->nack_mcp.puller_ep = pkt->msg.local_ep;
	b->nack_mcp.reason = pkt->msg.u.nack.reason;
	b->nack_mcp.handle = emx_put32(pkt->handle);
	b->nack_mcp.magic = emx_put32(pkt->magic);
}

/* ---- the EtherMX extension ---- */

static void put_x_medium(const struct fw_pkt *pkt, union body *b)
{
	const struct emx_msg *m = &pkt->msg;

	put_endpoints(pkt, b);
	put_numbers(m, &b->eager);
	b->eager.length32 = emx_put32(m->msg_len);
	b->x_medium.position = emx_put32(m->u.medium.position);
	b->x_medium.frag_len = emx_put16((__u16)m->data_len);
	b->x_medium.frag = m->u.medium.frag;
	b->x_medium.checksum = emx_put32(pkt->x.checksum);
}

static void put_x_report(const struct fw_pkt *pkt, union body *b)
{
	const struct emx_msg *m = &pkt->msg;

	put_endpoints(pkt, b);
	b->x_report.flags = m->u.report.ask ? EMX_X_REPORT_ASK : 0;
	b->x_report.session = emx_put32(m->session);
	b->x_report.ack = emx_put16(m->ack);
	b->x_report.next = emx_put16(m->seq);
	b->x_report.counter = emx_put32(m->u.report.counter);
	b->x_report.echo = emx_put32(m->u.report.echo);
	b->x_report.room = emx_put16(m->u.report.room);
	b->x_report.state_len = emx_put16((__u16)m->data_len);
}

static void put_x_pull(const struct fw_pkt *pkt, union body *b)
{
	put_endpoints(pkt, b);
	b->x_pull.flags = (pkt->x.sum ? EMX_X_PULL_SUM : 0) |
			  (pkt->x.carrier == FW_BY_DATAGRAMS ? EMX_X_PULL_DATAGRAMS : 0) |
			  (pkt->x.carrier == FW_BY_TCP ? EMX_X_PULL_TCP : 0);
	b->x_pull.session = emx_put32(pkt->msg.session);
	b->x_pull.total = emx_put32(pkt->total);
	b->x_pull.window = (__u8)pkt->window;
	b->x_pull.window_tag = pkt->msg.u.window.tag;
	b->x_pull.window_offset = emx_put16((__u16)pkt->msg.u.window.offset);
	b->x_pull.handle = emx_put32(pkt->handle);
	b->x_pull.magic = emx_put32(pkt->magic);
	b->x_pull.unit = emx_put16(pkt->x.unit);
	b->x_pull.request = emx_put16(pkt->x.request);
	b->x_pull.first = emx_put32(pkt->frame);
	__builtin_memcpy(b->x_pull.want, pkt->x.want, sizeof(pkt->x.want));
}

void fw_x_data_place(void *hdr, __u32 frame, __u32 length)
{
	struct emx_w_x_data *data = (void *)((__u8 *)hdr + EMX_OUTER_LEN);

	data->frame = emx_put32(frame);
	data->length = emx_put16((__u16)length);
}

static void put_x_data(const struct fw_pkt *pkt, union body *b)
{
	put_endpoints(pkt, b);
	fw_x_data_place(header_of(b), pkt->frame, pkt->msg.data_len);
	b->x_data.handle = emx_put32(pkt->handle);
	b->x_data.magic = emx_put32(pkt->magic);
	b->x_data.request = emx_put16(pkt->x.request);
	b->x_data.checksum = emx_put32(pkt->x.checksum);
}

static void put_x_address(const struct fw_pkt *pkt, union body *b)
{
	put_endpoints(pkt, b);
	b->x_address.flags = (pkt->x.is_answer ? EMX_X_ADDRESS_ANSWER : 0) |
			     (pkt->x.takes_fragments ? EMX_X_ADDRESS_FRAGMENTS : 0) |
			     (pkt->x.tcp ? EMX_X_ADDRESS_TCP : 0);
	b->x_address.session = emx_put32(pkt->msg.session);
	b->x_address.own_session = emx_put32(pkt->x.session);
	b->x_address.address = emx_put32(pkt->x.address);
	b->x_address.secret = emx_put64(pkt->x.secret);
	b->x_address.port = emx_put16(pkt->x.port);
	b->x_address.bytes = emx_put16(pkt->x.bytes);
}

static void put_x_pack(const struct fw_pkt *pkt, union body *b)
{
	const struct emx_msg *m = &pkt->msg;

	put_endpoints(pkt, b);
	b->x_pack.length = emx_put16((__u16)m->data_len);
	b->x_pack.count = emx_put16((__u16)m->u.pack.count);
	b->x_pack.seq = emx_put16(m->seq);
	b->x_pack.ack = emx_put16(m->ack);
	b->x_pack.session = emx_put32(m->session);
	b->x_pack.checksum = emx_put32(pkt->x.checksum);
}

struct row {
	__u8 len;
	void (*put)(const struct fw_pkt *pkt, union body *b);
};

#define ROW(body, put)                           \
	{                                        \
		sizeof(struct emx_w_##body), put \
	}

/* By type and dialect; those that N does not lay out otherwise have one row. */
static const struct row rows[][2] = {
	[EMX_RAW] = { ROW(beacon, put_raw) },
	[EMX_HOST_QUERY] = { ROW(host, put_query) },
	[EMX_HOST_REPLY] = { ROW(host, put_reply) },
	[EMX_TRUC] = { ROW(truc, put_truc) },
	[EMX_CONNECT] = { ROW(connect, put_connect) },
	[EMX_TINY] = { ROW(eager, put_eager) },
	[EMX_SMALL] = { ROW(eager, put_eager) },
	[EMX_MEDIUM] = { ROW(medium, put_medium_w), ROW(medium, put_medium_n) },
	[EMX_RNDV] = { ROW(rndv, put_rndv) },
	[EMX_PULL] = { ROW(pull_w, put_pull_w), ROW(pull_n, put_pull_n) },
	[EMX_PULL_REPLY] = { ROW(pull_reply, put_pull_reply) },
	[EMX_NOTIFY] = { ROW(notify, put_notify) },
	[EMX_NACK_LIB] = { ROW(nack_lib, put_nack_lib) },
	[EMX_NACK_MCP] = { ROW(nack_mcp, put_nack_mcp) },
	[EMX_X_MEDIUM] = { ROW(x_medium, put_x_medium) },
	[EMX_X_REPORT] = { ROW(x_report, put_x_report) },
	[EMX_X_PULL] = { ROW(x_pull, put_x_pull) },
	[EMX_X_DATA] = { ROW(x_data, put_x_data) },
	[EMX_X_ADDRESS] = { ROW(x_address, put_x_address) },
	[EMX_X_PACK] = { ROW(x_pack, put_x_pack) },
};

static const struct row *row_of(const struct fw_sizes *s, __u8 type)
{
	const struct row *row = rows[type];

	return row[s->dialect].len ? &row[s->dialect] : row;
}

__u32 fw_body_len(const struct fw_sizes *s, __u8 type)
{
	return type < FW_COUNT_OF(rows) ? row_of(s, type)->len : 0;
}

static inline void put_outer(struct emx_outer_pair *outer, __u64 dst, __u64 src, __u16 tag)
{
	outer->first = emx_put64(dst << 16 | src >> 32);
	outer->second = emx_put64(src << 32 | (__u64)EMX_ETHERTYPE << 16 | tag);
}

/* True if that peer of board b is spoken to in dialect N. */
static inline int speaks_n(const struct fw_board *b, const struct fw_peer *peer)
{
	const __u16 own = __atomic_load_n(&peer->speaks, __ATOMIC_RELAXED);

	return own == FW_SPEAKS_BOARD ? b->sizes.dialect == FW_DIALECT_N : own != FW_SPEAKS_W;
}

__u32 fw_encode_eager(const struct fw_board *b, const struct emx_msg *m, __u8 from,
		      const struct fw_peer *peer, void *hdr)
{
	struct emx_w_medium *body = (void *)((__u8 *)hdr + EMX_OUTER_LEN);

	put_outer(hdr, peer->mac, b->mac, fw_tag(b, m->peer));
	fw_zero(body, sizeof(*body));
	body->eager.type = m->type;
	body->eager.dst_ep = m->remote_ep;
	body->eager.src_ep = from;
	if (m->type == EMX_MEDIUM) {
		put_fragment(speaks_n(b, peer), m, EMX_MEDIUM_EXPONENT_W, body);
		return EMX_OUTER_LEN + sizeof(*body);
	}
	put_numbers(m, &body->eager);
	return EMX_OUTER_LEN + sizeof(body->eager);
}

__u32 fw_encode(const struct fw_sizes *s, const struct fw_pkt *pkt, void *hdr)
{
	__u8 *to = hdr;
	union body *body = (union body *)(to + EMX_OUTER_LEN);
	__u32 len = fw_body_len(s, pkt->msg.type);

	if (len == 0)
		return 0;
	put_outer(hdr, pkt->dst_mac, pkt->src_mac, pkt->tag);
	fw_zero(body, sizeof(*body)); /* hdr has the room, and a constant is faster */
	body->eager.type = pkt->msg.type; /* the first byte of every body */
	row_of(s, pkt->msg.type)->put(pkt, body);
	len += EMX_OUTER_LEN;
	if (pkt->msg.type == EMX_HOST_REPLY) {
		__builtin_memcpy(to + len, pkt->name, name_len(pkt));
		to[len + name_len(pkt) - 1] = 0;
		len += name_len(pkt);
	}
	if (pkt->msg.type == EMX_CONNECT && pkt->msg.match) {
		put_offer(pkt->msg.match, hdr);
		len += sizeof(struct emx_w_offer);
	}
	return len;
}
