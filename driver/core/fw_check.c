/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading packets: one frame of raw bytes into struct fw_pkt, or a reason to drop it (wire
 * specification, section 13).
 *
 * Two halves. The first decodes: it looks at bytes and at the length of the frame. The second
 * (fw_check_fields) judges the decoded numbers; commands of a library pass it as well.
 */
#include "fw_internal.h"
#include "fw_pack.h"

#define EXPONENT_MAX 15 /* of MEDIUM in dialect W */

/* ---- the judge of fields ---- */

/*
 * A fragment that is the whole message may have any exponent and, in dialect N, may exceed a full
 * fragment up to what the peer's receiver would accept too (section 5.1).
 */
int fw_check_medium(const struct fw_sizes *s, const struct emx_msg *m, __u8 exponent)
{
	__u32 unit = s->dialect == FW_DIALECT_N ? s->frag : 1u << (exponent & 31);
	__u64 end = (__u64)m->u.medium.position + m->data_len;

	if (m->msg_len > s->medium_max || m->data_len > s->frag_accept || end > m->msg_len)
		return EMX_CNT_DROP_FRAGMENT;
	if (m->u.medium.frag >= s->frags_max || exponent > EXPONENT_MAX)
		return EMX_CNT_DROP_FRAGMENT;
	if (m->u.medium.position != m->u.medium.frag * unit)
		return EMX_CNT_DROP_FRAGMENT;
	if (m->data_len == m->msg_len)
		return 0; /* then position and number are 0; a message of 0 bytes included */
	if (m->data_len == 0 || m->data_len > unit)
		return EMX_CNT_DROP_FRAGMENT;
	return end < m->msg_len && m->data_len != unit ? EMX_CNT_DROP_FRAGMENT : 0;
}

/* Section 10.2: how many frames the request draws, and whether the sums stay within 32 bits. */
static int check_pull(const struct fw_sizes *s, const struct fw_pkt *pkt)
{
	__u64 first = (__u64)pkt->frame * s->reply + pkt->skip;

	if (pkt->foreign)
		return 0; /* its shape is that of the other dialect */
	if (pkt->length == 0 || pkt->skip >= s->reply || first > 0xffffffffu)
		return EMX_CNT_DROP_PULL_SHAPE;
	if ((__u64)pkt->skip + pkt->length > (__u64)s->reply * s->block)
		return EMX_CNT_DROP_PULL_SHAPE;
	return 0;
}

static int is_offer(__u64 offer)
{
	return emx_offer_oldest(offer) > 0 && emx_offer_oldest(offer) <= emx_offer_newest(offer) &&
	       emx_offer_frame(offer) >= EMX_X_FRAME_MIN && emx_offer_frames(offer) > 0;
}

static int check_connect(const struct emx_msg *m)
{
	if (m->u.connect.session == EMX_SESSION_NONE)
		return EMX_CNT_DROP_CONNECT;
	if (m->match && !is_offer(m->match))
		return EMX_CNT_DROP_CONNECT; /* a command's: of a frame, it is no offer */
	if (!m->u.connect.is_reply)
		return 0;
	if (m->u.connect.status != EMX_CONNECT_OK && m->u.connect.status != EMX_CONNECT_BAD_KEY)
		return EMX_CNT_DROP_CONNECT;
	return m->session == EMX_SESSION_NONE ? EMX_CNT_DROP_CONNECT : 0;
}

static int check_nack(const struct emx_msg *m, __u8 last)
{
	return m->u.nack.reason == 0 || m->u.nack.reason > last ? EMX_CNT_DROP_NACK : 0;
}

static int check_board(__u64 board)
{
	return board == 0 || board >> 48 || fw_mac_is_group(board) ? EMX_CNT_DROP_RAW : 0;
}

/* ---- of the EtherMX extension ---- */

/* The sender cuts as it likes, but evenly, and into no more fragments than there are bits for. */
static int check_x_medium(const struct emx_msg *m)
{
	const __u32 frag = m->u.medium.frag, position = m->u.medium.position;
	const __u64 end = (__u64)position + m->data_len;
	const __u32 unit = frag ? position / frag : m->data_len;

	if (m->msg_len > EMX_X_EAGER_MAX || frag >= EMX_FRAGS_MAX || end > m->msg_len)
		return EMX_CNT_DROP_FRAGMENT;
	if (m->data_len > EMX_X_FRAG_MAX)
		return EMX_CNT_DROP_FRAGMENT;
	if (position != frag * unit || m->data_len > unit)
		return EMX_CNT_DROP_FRAGMENT;
	if (m->msg_len == 0)
		return frag ? EMX_CNT_DROP_FRAGMENT : 0;
	if (m->data_len == 0 || (__u64)unit * EMX_FRAGS_MAX < m->msg_len)
		return EMX_CNT_DROP_FRAGMENT;
	return end < m->msg_len && m->data_len != unit ? EMX_CNT_DROP_FRAGMENT : 0;
}

static int check_x_pull(const struct fw_pkt *pkt)
{
	__u32 last = 8 * EMX_X_WANT_LEN;

	if (pkt->total == 0 || pkt->x.unit < EMX_X_UNIT_MIN || pkt->x.unit > EMX_X_UNIT_MAX)
		return EMX_CNT_DROP_PULL_SHAPE;
	if (!(pkt->x.want[0] & 1))
		return EMX_CNT_DROP_PULL_SHAPE;
	do
		last--;
	while (!(pkt->x.want[last / 8] & 1u << last % 8));
	return ((__u64)pkt->frame + last) * pkt->x.unit < pkt->total ? 0 : EMX_CNT_DROP_PULL_SHAPE;
}

/*
 * An address that a host may have, and the one port of its endpoint: nothing goes elsewhere. Or,
 * of connections, neither: those of boards whose frames are datagrams go where these go.
 */
static int check_x_address(const struct fw_pkt *pkt)
{
	const __u32 first = pkt->x.address >> 24;

	if (pkt->x.secret == 0 || pkt->x.bytes < EMX_X_DATAGRAM_MIN ||
	    pkt->x.bytes > EMX_X_DATAGRAM_MAX)
		return EMX_CNT_DROP_ADDRESS;
	if (pkt->x.tcp && pkt->x.address == 0 && pkt->x.port == 0)
		return 0;
	if (first == 0 || first == 127 || first >= 224 ||
	    pkt->x.port != EMX_X_PORT + pkt->msg.remote_ep)
		return EMX_CNT_DROP_ADDRESS;
	return 0;
}

/* Bytes that so many messages take at least. */
static int check_x_pack(const struct emx_msg *m)
{
	const __u32 count = m->u.pack.count;

	if (count == 0 || count > EMX_X_PACK_MAX || m->data_len < count * FW_PACKED_HEADER)
		return EMX_CNT_DROP_LENGTH;
	return 0;
}

int fw_check_fields(const struct fw_sizes *s, const struct fw_pkt *pkt)
{
	switch (pkt->msg.type) {
	case EMX_TINY:
	case EMX_SMALL:
		return fw_check_small(&pkt->msg);
	case EMX_MEDIUM:
		return fw_check_medium(s, &pkt->msg, pkt->exponent);
	case EMX_PULL:
		return check_pull(s, pkt);
	case EMX_CONNECT:
		return check_connect(&pkt->msg);
	case EMX_NACK_LIB:
		return check_nack(&pkt->msg, EMX_NACK_BAD_SESSION);
	case EMX_NACK_MCP:
		return check_nack(&pkt->msg, EMX_NACK_BAD_WINDOW);
	case EMX_RAW:
		return check_board(pkt->board);
	case EMX_X_MEDIUM:
		return check_x_medium(&pkt->msg);
	case EMX_X_PULL:
		return check_x_pull(pkt);
	case EMX_X_DATA:
		return pkt->msg.data_len && pkt->msg.data_len <= EMX_X_UNIT_MAX
			       ? 0
			       : EMX_CNT_DROP_REPLY_SHAPE;
	case EMX_X_ADDRESS:
		return check_x_address(pkt);
	case EMX_X_PACK:
		return check_x_pack(&pkt->msg);
	default:
		return 0;
	}
}

/* ---- the reader of bytes ---- */

struct frame {
	const struct fw_sizes *sizes;
	const __u8 *bytes;
	const void *body;
	__u32 len;
	__u32 header; /* outer header and fixed body */
};

/* ---- frames of the other dialect ---- */

/* No pull exceeds this: 64 frames of 65535 bytes. */
#define PULL_BLOCK_MAX (64u * 65535)

static int is_medium_w(const struct emx_w_medium *b)
{
	__u32 total = emx_get16(b->eager.length), size = emx_get16(b->frag_len);
	__u32 end = b->frag * 4096u + size;

	return b->exponent == EMX_MEDIUM_EXPONENT_W && size > 0 && size <= 4096 && b->frag < 8 &&
	       (end == total || (end < total && size == 4096));
}

static int is_medium_n(const struct emx_w_medium *b)
{
	__u32 total = emx_get32(b->eager.length32), size = emx_get16(b->frag_len);

	return total <= 0xffff && size > 0 && size <= total && b->frag < EMX_FRAGS_MAX;
}

static int is_pull_w(const struct emx_w_pull_w *b)
{
	__u32 skip = emx_get16(b->skip), length = emx_get16(b->length);
	__u64 first = (__u64)emx_get32(b->frame) * 4096 + skip;

	return length > 0 && skip < 4096 && skip + length <= 32768 && first < emx_get32(b->total);
}

static int is_pull_n(const struct emx_w_pull_n *b)
{
	__u32 skip = emx_get32(b->skip), length = emx_get32(b->length);

	return length > 0 && length <= emx_get32(b->total) && length <= PULL_BLOCK_MAX &&
	       skip < 65535 && emx_get32(b->window) < 256 && !b->reserved17[0] &&
	       !b->reserved17[1] && !b->reserved17[2];
}

/*
 * Another name for what is no packet of our dialect but a sound one of the other: the wire tells
 * dialects apart by nothing else, and administrators should hear of it.
 */
static FW_COLD int name_dialect(const struct frame *f, int why)
{
	int is_n = f->sizes->dialect == FW_DIALECT_N;

	if (why == EMX_CNT_DROP_FRAGMENT && (is_n ? is_medium_w(f->body) : is_medium_n(f->body)))
		return EMX_CNT_DROP_DIALECT_MEDIUM;
	return why;
}

/* ---- readers, one per type ---- */

/* The payload lies behind the fixed header and ends within the frame. */
static inline int get_payload(const struct frame *f, __u32 data_len, struct fw_pkt *pkt)
{
	pkt->msg.data_len = data_len;
	pkt->msg.data = (__u64)(unsigned long)(f->bytes + f->header);
	return f->header + data_len > f->len ? EMX_CNT_DROP_LENGTH : 0;
}

static inline void get_endpoints(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_eager *b = f->body;

	pkt->msg.local_ep = b->dst_ep;
	pkt->msg.remote_ep = b->src_ep;
}

static int get_raw(const struct frame *f, struct fw_pkt *pkt)
{
	/* Shorter than the 64 bytes of a beacon is allowed: only the start of it is looked at. */
	const struct emx_w_beacon *b = f->body;

	pkt->board = emx_get64(b->board);
	pkt->serial = emx_get32(b->serial);
	return 0;
}

static int get_query(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_host *b = f->body;

	pkt->advert = emx_get16(b->advert);
	pkt->magic = emx_get32(b->magic);
	return 0;
}

/* Printable and terminated: control characters in a name could drive a terminal. */
static int get_name(const __u8 *name, __u32 len, struct fw_pkt *pkt)
{
	__u32 i;

	if (name[len - 1] != 0)
		return EMX_CNT_DROP_HOST;
	for (i = 0; i + 1 < len; i++)
		if (name[i] < 0x20 || name[i] == 0x7f)
			return EMX_CNT_DROP_HOST;
	__builtin_memcpy(pkt->name, name, len);
	return 0;
}

static int get_reply(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_host *b = f->body;

	if (b->name_len == 0 || b->name_len > EMX_NAME_MAX)
		return EMX_CNT_DROP_HOST;
	if (f->header + b->name_len > f->len)
		return EMX_CNT_DROP_HOST;
	get_query(f, pkt);
	return get_name(f->bytes + f->header, b->name_len, pkt);
}

static int get_truc(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_truc *b = f->body;

	if (b->data_len < EMX_TRUC_DATA_LEN)
		return EMX_CNT_DROP_DATA_PART;
	get_endpoints(f, pkt);
	pkt->msg.session = emx_get32(b->session);
	pkt->msg.ack = emx_get16(b->ack);
	pkt->msg.u.truc.counter = emx_get32(b->counter);
	if (b->kind != EMX_TRUC_ACK || emx_get32(b->session_copy) != pkt->msg.session)
		return EMX_CNT_DROP_TRUC;
	return 0;
}

/*
 * The offer behind a CONNECT, or 0. Strangers and older hosts send none, and what stands there
 * instead may be a copy of ours: only one that was computed for this very frame counts.
 */
static __u64 get_offer(const struct frame *f)
{
	const struct emx_w_offer *b = (const void *)(f->bytes + f->header);
	emx_be64 fields;
	__u64 offer;

	if (f->header + sizeof(*b) > f->len)
		return 0;
	__builtin_memcpy(&fields, b, sizeof(fields));
	offer = emx_get64(fields);
	return is_offer(offer) && emx_get64(b->check) == fw_offer_check(f->bytes) ? offer : 0;
}

static int get_connect(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_connect *b = f->body;
	struct emx_msg *m = &pkt->msg;
	__u32 first = emx_get32(b->requester_session);
	__u32 second = emx_get32(b->key_or_session);

	if (b->data_len < EMX_CONNECT_DATA_LEN)
		return EMX_CNT_DROP_DATA_PART;
	get_endpoints(f, pkt);
	pkt->advert = emx_get16(b->advert);
	m->seq = emx_get16(b->seq);
	m->u.connect.start = emx_get16(b->start);
	m->u.connect.number = b->number;
	m->u.connect.is_reply = b->is_reply != 0;
	m->match = get_offer(f);
	if (m->u.connect.is_reply) {
		m->session = first;
		m->u.connect.session = second;
		m->u.connect.status = b->status;
	} else {
		m->u.connect.session = first;
		m->u.connect.key = second;
	}
	return 0;
}

static inline void get_eager_header(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_eager *b = f->body;

	get_endpoints(f, pkt);
	pkt->msg.seq = emx_get16(b->seq);
	pkt->msg.ack = emx_get16(b->ack);
	pkt->msg.match = emx_get64(b->match);
	pkt->msg.session = emx_get32(b->session);
	pkt->msg.msg_len = emx_get16(b->length);
}

static inline int get_eager(const struct frame *f, struct fw_pkt *pkt)
{
	get_eager_header(f, pkt);
	return get_payload(f, pkt->msg.msg_len, pkt);
}

static int get_medium(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_medium *b = f->body;
	__u32 unit = f->sizes->frag;

	get_eager_header(f, pkt);
	pkt->msg.u.medium.frag = b->frag;
	if (f->sizes->dialect == FW_DIALECT_N) {
		pkt->msg.msg_len = emx_get32(b->eager.length32);
	} else {
		pkt->exponent = b->exponent;
		unit = b->exponent > EXPONENT_MAX ? 0 : 1u << b->exponent;
	}
	pkt->msg.u.medium.position = b->frag * unit;
	return get_payload(f, emx_get16(b->frag_len), pkt);
}

static int get_rndv(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_rndv *b = f->body;

	if (emx_get16(b->eager.length) < EMX_RNDV_DATA_LEN)
		return EMX_CNT_DROP_DATA_PART;
	get_eager_header(f, pkt);
	pkt->msg.msg_len = emx_get32(b->length);
	pkt->msg.u.window.id = b->window;
	pkt->msg.u.window.tag = b->window_tag;
	pkt->msg.u.window.offset = emx_get16(b->window_offset);
	return 0;
}

static void get_pull_w(const struct emx_w_pull_w *b, struct fw_pkt *pkt)
{
	pkt->window = b->window;
	pkt->msg.u.window.tag = b->window_tag;
	pkt->msg.u.window.offset = emx_get16(b->window_offset);
	pkt->handle = emx_get32(b->handle);
	pkt->magic = emx_get32(b->magic);
	pkt->skip = emx_get16(b->skip);
	pkt->length = emx_get16(b->length);
	pkt->frame = emx_get32(b->frame);
}

static void get_pull_n(const struct emx_w_pull_n *b, struct fw_pkt *pkt)
{
	pkt->window = emx_get32(b->window);
	pkt->msg.u.window.tag = b->window_tag;
	pkt->msg.u.window.offset = emx_get32(b->window_offset);
	pkt->handle = emx_get32(b->handle);
	pkt->magic = emx_get32(b->magic);
	pkt->skip = emx_get32(b->skip);
	pkt->length = emx_get32(b->length);
	pkt->frame = emx_get32(b->frame);
}

/*
 * The frame of a PULL is as long in both dialects, and a sender of the other one repeats it for
 * minutes where nobody answers. What makes sense in the other reading alone is read so.
 */
static int get_pull(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_pull_w *b = f->body;
	int is_n = f->sizes->dialect == FW_DIALECT_N;

	get_endpoints(f, pkt);
	pkt->msg.session = emx_get32(b->session);
	pkt->total = emx_get32(b->total);
	if (FW_UNLIKELY(is_n ? !is_pull_n(f->body) && is_pull_w(f->body)
			     : !is_pull_w(f->body) && is_pull_n(f->body))) {
		pkt->foreign = 1;
		is_n = !is_n;
	}
	if (is_n)
		get_pull_n(f->body, pkt);
	else
		get_pull_w(f->body, pkt);
	pkt->msg.u.window.id = (__u8)pkt->window;
	return 0;
}

static int get_pull_reply(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_pull_reply *b = f->body;

	pkt->frame = b->frame;
	pkt->length = emx_get16(b->length);
	pkt->position = emx_get32(b->position);
	pkt->handle = emx_get32(b->handle);
	pkt->magic = emx_get32(b->magic);
	pkt->msg.local_ep = (__u8)pkt->magic; /* section 4.13: where our magic keeps it */
	return get_payload(f, pkt->length, pkt);
}

static int get_notify(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_notify *b = f->body;

	get_endpoints(f, pkt);
	pkt->msg.session = emx_get32(b->session);
	pkt->msg.msg_len = emx_get32(b->length);
	pkt->msg.u.window.id = b->window;
	pkt->msg.u.window.tag = b->window_tag;
	pkt->msg.seq = emx_get16(b->seq);
	pkt->msg.ack = emx_get16(b->ack);
	return 0;
}

static int get_nack_lib(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_nack_lib *b = f->body;

	pkt->msg.local_ep = b->dst_ep;
	pkt->msg.remote_ep = b->src_ep;
	pkt->msg.seq = emx_get16(b->seq);
	pkt->msg.u.nack.reason = b->reason;
	return 0;
}

static int get_nack_mcp(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_nack_mcp *b = f->body;

	pkt->msg.local_ep = b->puller_ep;
	pkt->msg.u.nack.reason = b->reason;
	pkt->handle = emx_get32(b->handle);
	pkt->magic = emx_get32(b->magic);
	return 0;
}

/* ---- of the EtherMX extension ---- */

static int get_x_medium(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_x_medium *b = f->body;

	fw_zero(&pkt->x, sizeof(pkt->x));
	get_eager_header(f, pkt);
	pkt->msg.msg_len = emx_get32(b->eager.length32);
	pkt->msg.u.medium.position = emx_get32(b->position);
	pkt->msg.u.medium.frag = b->frag;
	pkt->x.checksum = emx_get32(b->checksum);
	return get_payload(f, emx_get16(b->frag_len), pkt);
}

static int get_x_report(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_x_report *b = f->body;
	struct emx_msg *m = &pkt->msg;
	const int why = get_payload(f, emx_get16(b->state_len), pkt);

	fw_zero(&pkt->x, sizeof(pkt->x));
	if (m->data_len > EMX_X_STATE_LEN)
		m->data_len = EMX_X_STATE_LEN; /* a newer sender says more */
	get_endpoints(f, pkt);
	m->session = emx_get32(b->session);
	m->ack = emx_get16(b->ack);
	m->seq = emx_get16(b->next);
	m->u.report.counter = emx_get32(b->counter);
	m->u.report.echo = emx_get32(b->echo);
	m->u.report.room = emx_get16(b->room);
	m->u.report.ask = b->flags & EMX_X_REPORT_ASK;
	return why;
}

static int get_x_pull(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_x_pull *b = f->body;

	get_endpoints(f, pkt);
	fw_zero(&pkt->x, sizeof(pkt->x));
	pkt->msg.session = emx_get32(b->session);
	pkt->total = emx_get32(b->total);
	pkt->window = b->window;
	pkt->msg.u.window.id = b->window;
	pkt->msg.u.window.tag = b->window_tag;
	pkt->msg.u.window.offset = emx_get16(b->window_offset);
	pkt->handle = emx_get32(b->handle);
	pkt->magic = emx_get32(b->magic);
	pkt->frame = emx_get32(b->first);
	pkt->x.unit = emx_get16(b->unit);
	pkt->x.request = emx_get16(b->request);
	pkt->x.sum = b->flags & EMX_X_PULL_SUM;
	pkt->x.carrier = b->flags & EMX_X_PULL_TCP	   ? FW_BY_TCP
			 : b->flags & EMX_X_PULL_DATAGRAMS ? FW_BY_DATAGRAMS
							   : FW_BY_FRAMES;
	__builtin_memcpy(pkt->x.want, b->want, sizeof(b->want));
	return 0;
}

static int get_x_data(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_x_data *b = f->body;

	get_endpoints(f, pkt);
	fw_zero(&pkt->x, sizeof(pkt->x));
	pkt->handle = emx_get32(b->handle);
	pkt->magic = emx_get32(b->magic);
	pkt->frame = emx_get32(b->frame);
	pkt->length = emx_get16(b->length);
	pkt->x.request = emx_get16(b->request);
	pkt->x.checksum = emx_get32(b->checksum);
	return get_payload(f, pkt->length, pkt);
}

static int get_x_address(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_x_address *b = f->body;

	get_endpoints(f, pkt);
	fw_zero(&pkt->x, sizeof(pkt->x));
	pkt->msg.session = emx_get32(b->session);
	pkt->x.is_answer = b->flags & EMX_X_ADDRESS_ANSWER;
	pkt->x.takes_fragments = (b->flags & EMX_X_ADDRESS_FRAGMENTS) != 0;
	pkt->x.tcp = (b->flags & EMX_X_ADDRESS_TCP) != 0;
	pkt->x.session = emx_get32(b->own_session);
	pkt->x.address = emx_get32(b->address);
	pkt->x.secret = emx_get64(b->secret);
	pkt->x.port = emx_get16(b->port);
	pkt->x.bytes = emx_get16(b->bytes);
	return 0;
}

/* fw_rx looks at its messages, where the platform has the frame in one piece. */
static int get_x_pack(const struct frame *f, struct fw_pkt *pkt)
{
	const struct emx_w_x_pack *b = f->body;

	get_endpoints(f, pkt);
	fw_zero(&pkt->x, sizeof(pkt->x));
	pkt->msg.session = emx_get32(b->session);
	pkt->msg.seq = emx_get16(b->seq);
	pkt->msg.ack = emx_get16(b->ack);
	pkt->msg.u.pack.count = emx_get16(b->count);
	pkt->x.checksum = emx_get32(b->checksum);
	return get_payload(f, emx_get16(b->length), pkt);
}

static int (*const readers[])(const struct frame *f, struct fw_pkt *pkt) = {
	[EMX_RAW] = get_raw,
	[EMX_HOST_QUERY] = get_query,
	[EMX_HOST_REPLY] = get_reply,
	[EMX_TRUC] = get_truc,
	[EMX_CONNECT] = get_connect,
	[EMX_TINY] = get_eager,
	[EMX_SMALL] = get_eager,
	[EMX_MEDIUM] = get_medium,
	[EMX_RNDV] = get_rndv,
	[EMX_PULL] = get_pull,
	[EMX_PULL_REPLY] = get_pull_reply,
	[EMX_NOTIFY] = get_notify,
	[EMX_NACK_LIB] = get_nack_lib,
	[EMX_NACK_MCP] = get_nack_mcp,
	[EMX_X_MEDIUM] = get_x_medium,
	[EMX_X_REPORT] = get_x_report,
	[EMX_X_PULL] = get_x_pull,
	[EMX_X_DATA] = get_x_data,
	[EMX_X_ADDRESS] = get_x_address,
	[EMX_X_PACK] = get_x_pack,
};

/* Rules 1 and 2, and the start of 3: the outer header. */
static inline int check_outer(__u64 self, const __u8 *frame, struct fw_pkt *pkt)
{
	const struct emx_outer_pair *outer = (const void *)frame;
	const __u64 first = emx_get64(outer->first);
	const __u64 second = emx_get64(outer->second);
	__u8 type = frame[EMX_OUTER_LEN];

	if (FW_UNLIKELY((second >> 16 & 0xffff) != EMX_ETHERTYPE))
		return EMX_CNT_DROP_ETHERTYPE;
	pkt->dst_mac = first >> 16;
	pkt->src_mac = (first & 0xffff) << 32 | second >> 32;
	pkt->tag = (__u16)second;
	pkt->msg.type = type;
	if (FW_UNLIKELY(self && pkt->dst_mac != self &&
			!(type == EMX_RAW && pkt->dst_mac == EMX_MAC_BROADCAST)))
		return EMX_CNT_DROP_NOT_OURS;
	if (FW_UNLIKELY(pkt->src_mac == 0 || fw_mac_is_group(pkt->src_mac) || pkt->src_mac == self))
		return EMX_CNT_DROP_BAD_SOURCE;
	return 0;
}

/* Sizes for the sender of a packet, where senders may have some of their own. */
static FW_COLD const struct fw_sizes *sizes_from(const struct fw_peers *peers,
						 const struct fw_sizes *s, const struct fw_pkt *pkt,
						 struct fw_sizes *own)
{
	int peer = fw_peer_find(peers, pkt->src_mac, pkt->tag);

	return peer < 0 ? s : fw_peer_sizes(peers, s, (__u32)peer, own);
}

/* The rest of rule 3, and the content: any type. peers: whose dialects count, or NULL. */
FW_NOINLINE int fw_check_body(const struct fw_sizes *s, const struct fw_peers *peers, __u64 self,
			      const __u8 *frame, __u32 len, struct fw_pkt *pkt)
{
	__u8 type = pkt->msg.type;
	struct fw_sizes own;
	struct frame f;
	__u32 body;
	int why;

	if (FW_UNLIKELY(peers && peers->pinned))
		s = sizes_from(peers, s, pkt, &own);
	body = fw_body_len(s, type);
	f = (struct frame){ s, frame, frame + EMX_OUTER_LEN, len, EMX_OUTER_LEN + body };
	if (body == 0)
		return EMX_CNT_DROP_TYPE;
	if (f.header > len && type != EMX_RAW)
		return EMX_CNT_DROP_SHORT;
	why = readers[type](&f, pkt);
	if (!why) {
		why = fw_check_fields(s, pkt);
		if (FW_UNLIKELY(why))
			why = name_dialect(&f, why);
	}
	if (!why && type == EMX_RAW && pkt->board == self)
		why = EMX_CNT_DROP_RAW;
	return why;
}

/*
 * The same for TINY and SMALL, without looking anything up: latency is made of them. In all
 * dialects they are alike.
 */
static inline int check_small_body(const __u8 *frame, __u32 len, struct fw_pkt *pkt)
{
	/* No frame is too short for this header: it ends before EMX_FRAME_MIN. */
	const struct frame f = { FW_NULL, frame, frame + EMX_OUTER_LEN, len,
				 EMX_OUTER_LEN + sizeof(struct emx_w_eager) };
	int why = get_eager(&f, pkt);

	return why ? why : fw_check_small(&pkt->msg);
}

FW_HOT int fw_check_for(const struct fw_board *b, __u64 self, const void *frame, __u32 len,
			struct fw_pkt *pkt)
{
	int why;

	if (FW_UNLIKELY(len < EMX_FRAME_MIN))
		return EMX_CNT_DROP_SHORT;
	fw_clear(pkt);
	why = check_outer(self, frame, pkt);
	if (FW_UNLIKELY(why))
		return why;
	if (FW_LIKELY(pkt->msg.type == EMX_TINY || pkt->msg.type == EMX_SMALL))
		return check_small_body(frame, len, pkt);
	return fw_check_body(&b->sizes, b->peers, self, frame, len, pkt);
}

int fw_check(const struct fw_sizes *s, __u64 self, const void *frame, __u32 len, struct fw_pkt *pkt)
{
	int why;

	if (len < EMX_FRAME_MIN)
		return EMX_CNT_DROP_SHORT;
	fw_clear(pkt);
	why = check_outer(self, frame, pkt);
	if (!why)
		why = fw_check_body(s, FW_NULL, self, frame, len, pkt);
	return why;
}
