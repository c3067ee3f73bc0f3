// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A hostile network: mutated frames for endpoints that are open on a board of the other host, as
 * fast as it takes them.
 *
 *   mutants IFNAME SEEDS MAC SECONDS MOST SEED DIALECT ENDPOINT...
 *
 * SEEDS is what ../mutant_seeds.py makes of captures and golden frames; MAC the board's, DIALECT W
 * or N; endpoints are held by sink.c. Four hosts that do not exist each connect to every endpoint,
 * half of them by the EtherMX extension. They learn what a peer must know (sessions, numbers,
 * windows, handles), fit the frames of SEEDS to it, and spoil them in none to four ways. They
 * answer pulls, for else none would ever end. Each begins anew after a while, so that none is stuck
 * behind a message that the board dropped. All choices follow from SEED; what the board says when
 * does not.
 *
 * It ends after SECONDS if by then the board has sent all the packets that show how far the frames
 * come, else when it has, at the latest after MOST. Prints what it sent and what it drew; exit
 * status 1 when one of those packets never came.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../support/mutate.h"

#define FRAME_MAX 9014
#define FRAME_LEAST 14 /* the kernel sends nothing shorter */
#define N_MTU 9000 /* of the boards' dialect N */

#define KEY 0xabcd /* of sink.c */
#define HOSTS 4
#define PARTNERS_MAX 64
#define SEEDS_MAX 4096
#define HEAR_BYTES 256
#define TURNS 16 /* without a look at whether they were taken */
#define ANSWER_S 0.2 /* after which that is not asked any more */
#define HOST_BYTE 4 /* of the address: 1 in those of the hosts that we play, 0 in real ones */

struct frame {
	size_t length;
	uint8_t b[FRAME_MAX];
};

struct seed {
	char dialect; /* 0: both */
	uint16_t length;
	const uint8_t *bytes;
};

/* One of our endpoints and one of theirs. */
struct partner {
	uint8_t host, ours, theirs;
	bool extension, connected;
	uint32_t own, session; /* ours, theirs */
	uint8_t number; /* of the connect */
	uint16_t now, next, seen, acked;
	uint32_t counter, echo;
	uint32_t left; /* frames until it begins anew */
	unsigned int cursor; /* in the seeds */
	const struct seed *last; /* that had a number */
	uint8_t window, window_tag;
	uint32_t window_offset, total;
	uint32_t handle, magic;
	uint16_t request;
};

static struct seed seeds[SEEDS_MAX];
static unsigned int seed_count;
static unsigned int extension_seeds[SEEDS_MAX], extension_seed_count; /* of seeds */
static struct partner partners[PARTNERS_MAX];
static unsigned int partner_count;
static uint8_t board_mac[6];
static char dialect;
static uint32_t host_magic;
static int sock;
static uint64_t sent, spoiled_frames, heard[256];
static struct frame good, bad; /* what is being made */
static struct dice dice = { dice_seeded, 0 };

static uint32_t below(uint32_t n)
{
	return dice_seeded(&dice, n);
}

/* A field of a frame of this run's dialect, which must have it. */
static const struct wire_field *field(const struct frame *f, const char *name)
{
	const struct wire_field *x = wire_named(name, f->b, f->length, dialect);

	if (!x) {
		fprintf(stderr, "type %u, %zu bytes: no %s\n", f->b[EMX_OUTER_LEN], f->length, name);
		exit(2);
	}
	return x;
}

static uint64_t get(const struct frame *f, const char *name)
{
	return wire_get(field(f, name), f->b);
}

static void put(struct frame *f, const char *name, uint64_t v)
{
	wire_put(field(f, name), f->b, v);
}

/* ---- the wire ---- */

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

/* Hears the headers of frames for the hosts that we play, and no more. */
static void hear_only_ours(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, HOST_BYTE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, HEAR_BYTES),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (setsockopt(sock, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)))
		fail("filter");
}

static void open_wire(const char *ifname)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(EMX_ETHERTYPE),
		.sll_ifindex = (int)if_nametoindex(ifname),
	};
	struct packet_mreq all = { .mr_ifindex = address.sll_ifindex,
				   .mr_type = PACKET_MR_PROMISC };

	sock = socket(AF_PACKET, SOCK_RAW, 0);
	if (!address.sll_ifindex || sock < 0)
		fail(ifname);
	hear_only_ours();
	if (bind(sock, (struct sockaddr *)&address, sizeof(address)) ||
	    setsockopt(sock, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)))
		fail(ifname);
}

static void transmit(struct frame *f)
{
	/* The real host's address is not ours to use: what it says must hold. */
	if (f->b[6 + HOST_BYTE] == 0 && memcmp(f->b + 6, board_mac, 6))
		f->b[6 + HOST_BYTE] = 1;
	if (f->length < FRAME_LEAST)
		f->length = FRAME_LEAST;
	while (send(sock, f->b, f->length, 0) < 0)
		if (errno != ENOBUFS && errno != EINTR)
			fail("send");
	sent++;
}

/* ---- frames that a peer could send ---- */

static uint64_t value_of(const struct partner *p, const struct frame *f, enum wire_use use, uint64_t old)
{
	bool reply = f->b[EMX_OUTER_LEN + offsetof(struct emx_w_connect, is_reply)];

	switch (use) {
	case USE_TO:
		return p->theirs;
	case USE_FROM:
		return p->ours;
	case USE_SESSION:
		return p->session;
	case USE_NUMBER:
		return p->now;
	case USE_NEXT:
		return p->next;
	case USE_SEEN:
		return p->seen;
	case USE_LAST:
		return (p->seen & 0xc000) | ((p->seen - 1) & 0x3fff);
	case USE_COUNTER:
		return p->counter;
	case USE_ECHO:
		return p->echo;
	case USE_WINDOW:
		return p->window;
	case USE_WINDOW_TAG:
		return p->window_tag;
	case USE_WINDOW_OFFSET:
		return p->window_offset;
	case USE_TOTAL:
		return p->total ? p->total : old;
	case USE_HANDLE:
		return p->handle;
	case USE_MAGIC:
		return p->magic;
	case USE_REQUEST:
		return p->request;
	case USE_HOST_MAGIC:
		return host_magic;
	case USE_ADVERT:
		return p->host;
	case USE_REQUESTER:
		return reply ? p->session : p->own;
	case USE_REPLIER:
		return p->own;
	case USE_KEY:
		return KEY;
	case USE_CONNECT_NUMBER:
		return p->number;
	default:
		return old;
	}
}

static uint64_t fnv(uint64_t hash, const uint8_t *bytes, unsigned int n)
{
	while (n-- > 0)
		hash = (hash ^ *bytes++) * 0x100000001b3ull;
	return hash;
}

/* Behind a CONNECT that is complete but for its offer. */
static void offer(struct frame *f)
{
	uint8_t *body = f->b + EMX_OUTER_LEN;
	uint64_t hash = 0xcbf29ce484222325ull;

	f->length = EMX_OUTER_LEN + sizeof(struct wire_offering);
	put(f, "offer_newest", EMX_X_VERSION);
	put(f, "offer_oldest", EMX_X_VERSION);
	put(f, "offer_features", EMX_X_REPORTS | EMX_X_FRAGMENTS | EMX_X_PULLS);
	put(f, "offer_frame", FRAME_MAX);
	put(f, "offer_frames", 32);
	hash = fnv(hash, f->b, 12);
	hash = fnv(hash, body, 3);
	hash = fnv(hash, body + 16, 12);
	put(f, "offer_check", fnv(hash, body + 32, 8));
}

static bool has_number(uint8_t type)
{
	return (type >= EMX_TINY && type <= EMX_RNDV) || type == EMX_NOTIFY || type == EMX_X_MEDIUM;
}

/* The fragments of a captured message have one number. */
static bool goes_on(const struct partner *p, const struct seed *s)
{
	unsigned int at = EMX_OUTER_LEN + offsetof(struct emx_w_eager, seq);
	uint8_t type = s->bytes[EMX_OUTER_LEN];

	return p->last && (type == EMX_MEDIUM || type == EMX_X_MEDIUM) &&
	       p->last->bytes[EMX_OUTER_LEN] == type &&
	       !memcmp(p->last->bytes + at, s->bytes + at, 2);
}

static uint16_t after(uint16_t number)
{
	return (number & 0xc000) | ((number + 1) & 0x3fff);
}

static void take_number(struct partner *p, const struct seed *s)
{
	if (!has_number(s->bytes[EMX_OUTER_LEN]) || goes_on(p, s))
		return;
	p->last = s;
	p->now = p->next;
	p->next = after(p->next);
}

static void address(const struct partner *p, struct frame *f)
{
	memcpy(f->b, board_mac, 6);
	memcpy(f->b + 6, board_mac, 6);
	f->b[6 + HOST_BYTE] = 1;
	f->b[11] = 0x80 | p->host;
	if (f->b[EMX_OUTER_LEN] == EMX_RAW) {
		memset(f->b, 0xff, 6);
		memcpy(f->b + EMX_OUTER_LEN + offsetof(struct emx_w_beacon, board) + 2, f->b + 6,
		       6);
	}
}

/* Makes the frame what the seed is, as this partner could send it now. */
static void fit(struct partner *p, const struct seed *s, struct frame *f)
{
	uint8_t type = s->bytes[EMX_OUTER_LEN];
	const struct wire_field *x;
	unsigned int i;

	memcpy(f->b, s->bytes, s->length);
	f->length = s->length;
	address(p, f);
	p->counter++;
	take_number(p, s);
	for (i = 0; i < WIRE_FIELD_COUNT; i++) {
		x = &wire_fields[i];
		if (wire_has(x, f->b, f->length, dialect))
			wire_put(x, f->b, value_of(p, f, x->use, wire_get(x, f->b)));
	}
	if (type == EMX_CONNECT && p->extension)
		offer(f);
}

/* The frame, or often what chance makes of it; which a number's packet follows unspoiled, as a
 * repeat would. */
static void say(const struct frame *f)
{
	memcpy(bad.b, f->b, f->length);
	bad.length = f->length;
	if (mutate(bad.b, &bad.length, FRAME_MAX, dialect, &dice)) {
		spoiled_frames++;
		transmit(&bad);
		if (!has_number(f->b[EMX_OUTER_LEN]) || !below(8))
			return;
		memcpy(bad.b, f->b, f->length);
		bad.length = f->length;
	}
	transmit(&bad);
}

static void say_mostly_well(struct frame *f)
{
	if (below(8))
		transmit(f);
	else
		say(f);
}

static const struct seed *seed_of(uint8_t type, char of_dialect, bool reply)
{
	const struct seed *s;

	for (s = seeds; s < seeds + seed_count; s++)
		if (s->bytes[EMX_OUTER_LEN] == type && (!s->dialect || s->dialect == of_dialect) &&
		    (type != EMX_CONNECT ||
		     reply == s->bytes[EMX_OUTER_LEN + offsetof(struct emx_w_connect, is_reply)]))
			return s;
	fprintf(stderr, "no seed of type %u\n", type);
	exit(2);
}

static void connect_by(struct partner *p, bool reply)
{
	fit(p, seed_of(EMX_CONNECT, dialect, reply), &good);
	say_mostly_well(&good);
}

static void begin(struct partner *p)
{
	p->own = (uint32_t)chance_of(&dice.state) | 1;
	p->number++;
	p->connected = false;
	p->next = p->now = p->seen = p->acked = 1;
	p->last = NULL;
	p->left = 200 + below(800);
	connect_by(p, false);
}

/* ---- what is heard ---- */

/* A pull of theirs by the dialect: wire specification, section 10.2. */
static void serve_pull(struct partner *p, const struct frame *f)
{
	uint32_t unit = dialect == 'W' ? 4096 : N_MTU - 32;
	uint32_t skip = (uint32_t)get(f, "skip"), rest = (uint32_t)get(f, "block");
	uint32_t index = (uint32_t)get(f, "frame"), offset = (uint32_t)get(f, "window_offset");
	uint32_t position = index * unit - offset % unit + skip, bytes = unit - skip;

	p->handle = (uint32_t)get(f, "handle");
	p->magic = (uint32_t)get(f, "magic");
	for (; rest > 0 && skip < unit && rest <= 40 * unit; index++) {
		if (bytes > rest)
			bytes = rest;
		fit(p, seed_of(EMX_PULL_REPLY, dialect, false), &good);
		put(&good, "reply_frame", index);
		put(&good, "reply_size", bytes);
		put(&good, "position", position);
		good.length = EMX_OUTER_LEN + sizeof(struct emx_w_pull_reply) + bytes;
		say_mostly_well(&good);
		position += bytes;
		rest -= bytes;
		bytes = unit;
	}
}

static void serve_x_pull(struct partner *p, const struct frame *f)
{
	const struct emx_w_x_pull *w = (const void *)(f->b + EMX_OUTER_LEN);
	uint32_t unit = emx_get16(w->unit), first = emx_get32(w->first),
		 total = emx_get32(w->total);
	struct emx_w_x_data *data = (void *)(good.b + EMX_OUTER_LEN);
	uint64_t at;
	uint32_t i;

	p->handle = emx_get32(w->handle);
	p->magic = emx_get32(w->magic);
	p->request = emx_get16(w->request);
	if (unit > FRAME_MAX - EMX_OUTER_LEN - sizeof(*data))
		return; /* longer than we offered */
	for (i = 0; i < 8 * EMX_X_WANT_LEN; i++) {
		at = (uint64_t)(first + i) * unit;
		if (!(w->want[i / 8] >> i % 8 & 1) || at >= total)
			continue;
		if (unit > total - at)
			unit = (uint32_t)(total - at);
		fit(p, seed_of(EMX_X_DATA, dialect, false), &good);
		data->frame = emx_put32(first + i);
		data->length = emx_put16((uint16_t)unit);
		data->checksum = emx_put32(0);
		good.length = EMX_OUTER_LEN + sizeof(*data) + unit;
		say_mostly_well(&good);
		unit = emx_get16(w->unit);
	}
}

static void hear_connect(struct partner *p, const struct frame *f)
{
	const struct emx_w_connect *w = (const void *)(f->b + EMX_OUTER_LEN);

	if (!w->is_reply) {
		uint8_t own = p->number;

		p->session = emx_get32(w->requester_session);
		p->number = w->number;
		connect_by(p, true);
		p->number = own;
		return;
	}
	if (w->status || emx_get32(w->requester_session) != p->own)
		return;
	p->session = emx_get32(w->key_or_session);
	if (!p->connected)
		p->next = p->acked = emx_get16(w->start);
	p->connected = true;
}

/* Acks of an earlier life come late. */
static void hear_ack(struct partner *p, const struct frame *f)
{
	uint16_t ack = (uint16_t)get(f, "ack");

	if (((p->next - ack) & 0x3fff) < 256)
		p->acked = ack;
}

/* A numbered packet of theirs, which may be a repeat. */
static void hear_number(struct partner *p, const struct frame *f)
{
	uint16_t following = after((uint16_t)get(f, "seq"));

	if (((following - p->seen) & 0x3fff) < 0x2000)
		p->seen = following;
	hear_ack(p, f);
}

/* The beginning of a message that was announced. */
static void pull(struct partner *p)
{
	struct emx_w_x_pull *w = (void *)(good.b + EMX_OUTER_LEN);

	fit(p, seed_of(p->extension ? EMX_X_PULL : EMX_PULL, dialect, false), &good);
	if (p->extension) {
		w->first = emx_put32(0);
		memset(w->want, 0, sizeof(w->want));
		w->want[0] = 1;
	}
	say_mostly_well(&good);
}

static void hear_rndv(struct partner *p, const struct frame *f)
{
	p->window = (uint8_t)get(f, "window");
	p->window_tag = (uint8_t)get(f, "window_tag");
	p->window_offset = (uint32_t)get(f, "window_offset");
	p->total = (uint32_t)get(f, "length");
}

static void hear_of(struct partner *p, const struct frame *f)
{
	uint8_t type = f->b[EMX_OUTER_LEN];

	switch (type) {
	case EMX_CONNECT:
		hear_connect(p, f);
		break;
	case EMX_RNDV:
		hear_rndv(p, f);
		hear_number(p, f);
		pull(p);
		break;
	case EMX_TINY:
	case EMX_SMALL:
	case EMX_MEDIUM:
	case EMX_X_MEDIUM:
	case EMX_NOTIFY:
		hear_number(p, f);
		break;
	case EMX_TRUC:
		hear_ack(p, f);
		break;
	case EMX_X_REPORT:
		hear_ack(p, f);
		p->echo = (uint32_t)get(f, "x_counter");
		break;
	case EMX_PULL:
		serve_pull(p, f);
		break;
	case EMX_X_PULL:
		serve_x_pull(p, f);
		break;
	}
}

static struct partner *partner_of(const struct frame *f)
{
	uint8_t type = f->b[EMX_OUTER_LEN];
	uint8_t ours = f->b[EMX_OUTER_LEN + 1], theirs = f->b[EMX_OUTER_LEN + 2];
	struct partner *p;

	for (p = partners; p < partners + partner_count; p++)
		if (f->b[5] == (0x80 | p->host) &&
		    (type == EMX_HOST_QUERY || (ours == p->ours && theirs == p->theirs)))
			return p;
	return NULL;
}

static void hear_all(void)
{
	struct frame f;
	struct partner *p;
	ssize_t n;
	int i;

	for (i = 0; i < 256; i++) {
		n = recv(sock, f.b, HEAR_BYTES, MSG_DONTWAIT);
		if (n <= EMX_OUTER_LEN)
			return;
		f.length = (size_t)n;
		heard[f.b[EMX_OUTER_LEN]]++;
		p = partner_of(&f);
		if (p && f.b[EMX_OUTER_LEN] == EMX_HOST_QUERY) {
			host_magic = (uint32_t)get(&f, "host_magic");
			fit(p, seed_of(EMX_HOST_REPLY, dialect, false), &good);
			say_mostly_well(&good);
		} else if (p) {
			hear_of(p, &f);
		}
	}
}

/* ---- all of it ---- */

/* True if the partner plays that seed: seldom what it can be sure to be refused for. */
static bool plays(const struct partner *p, const struct seed *s)
{
	uint8_t type = s->bytes[EMX_OUTER_LEN];

	if (s->dialect && s->dialect != dialect)
		return !below(16);
	if (type == EMX_NACK_LIB || type == EMX_NACK_MCP || (!p->extension && type >= EMX_X_MEDIUM))
		return !below(8);
	return true;
}

static void play(struct partner *p)
{
	const struct seed *s;

	/* The captures are of hosts without the extension. */
	if (p->extension && !below(4)) {
		s = &seeds[extension_seeds[below(extension_seed_count)]];
	} else {
		do {
			p->cursor = below(8) ? (p->cursor + 1) % seed_count : below(seed_count);
			s = &seeds[p->cursor];
		} while (!plays(p, s));
	}
	fit(p, s, &good);
	say(&good);
}

static void turn(struct partner *p)
{
	if (p->left == 0 || ((p->next - p->acked) & 0x3fff) > 100)
		begin(p);
	else if (!p->connected && !below(50))
		connect_by(p, false);
	else if (p->connected || !below(8))
		play(p);
	else
		return;
	if (p->left > 0)
		p->left--;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t); /* tidy-allow(time): how long it goes on */
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * The board answers this when it has taken what came before. With more frames than it takes its
 * card would only drop them, with those of others among them, and its processors do nothing else:
 * one that watches itself frees memory too slowly then.
 */
static void let_it_catch_up(void)
{
	const struct seed *query = seed_of(EMX_HOST_QUERY, dialect, false);
	const uint64_t before = heard[EMX_HOST_REPLY];
	const double until = now() + ANSWER_S;
	struct pollfd p = { .fd = sock, .events = POLLIN };

	fit(&partners[0], query, &good);
	transmit(&good);
	do {
		poll(&p, 1, 1);
		hear_all();
	} while (heard[EMX_HOST_REPLY] == before && now() < until);
}

/* Show how far frames come. */
static const struct {
	uint8_t type;
	const char *name;
} wanted[] = {
	{ EMX_HOST_QUERY, "host queries" },
	{ EMX_HOST_REPLY, "host replies" },
	{ EMX_CONNECT, "connects" },
	{ EMX_TINY, "tiny" },
	{ EMX_MEDIUM, "medium" },
	{ EMX_RNDV, "rendezvous" },
	{ EMX_PULL, "pulls" },
	{ EMX_PULL_REPLY, "pull replies" },
	{ EMX_NOTIFY, "notifies" },
	{ EMX_TRUC, "acks" },
	{ EMX_NACK_LIB, "lib nacks" },
	{ EMX_NACK_MCP, "mcp nacks" },
	{ EMX_X_REPORT, "x reports" },
	{ EMX_X_PULL, "x pulls" },
	{ EMX_X_DATA, "x data" },
};

static bool all_came(void)
{
	size_t i;

	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!heard[wanted[i].type])
			return false;
	return true;
}

static void report(double seconds)
{
	size_t i;

	printf("%llu frames sent in %.0f s, %llu of them mutated; drawn:", (unsigned long long)sent,
	       seconds, (unsigned long long)spoiled_frames);
	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		printf(" %llu %s%s", (unsigned long long)heard[wanted[i].type], wanted[i].name,
		       i + 1 < sizeof(wanted) / sizeof(wanted[0]) ? "," : "\n");
}

static void read_seeds(const char *path)
{
	static uint8_t bytes[4u << 20];
	FILE *file = fopen(path, "rb");
	size_t end = file ? fread(bytes, 1, sizeof(bytes), file) : 0, at = 0;
	struct seed *s;

	if (!file)
		fail(path);
	fclose(file);
	for (; at + 3 <= end && seed_count < SEEDS_MAX; at += s->length) {
		s = &seeds[seed_count++];
		s->dialect = (char)bytes[at];
		s->length = (uint16_t)(bytes[at + 1] << 8 | bytes[at + 2]);
		at += 3;
		s->bytes = bytes + at;
		if (s->bytes[EMX_OUTER_LEN] >= EMX_X_MEDIUM)
			extension_seeds[extension_seed_count++] = seed_count - 1;
	}
	if (at != end || extension_seed_count == 0 || seeds[seed_count - 1].length > FRAME_MAX) {
		fprintf(stderr, "%s: no seeds\n", path);
		exit(2);
	}
}

static void add_partners(uint8_t theirs)
{
	unsigned int host;

	for (host = 0; host < HOSTS && partner_count < PARTNERS_MAX; host++)
		partners[partner_count++] = (struct partner){
			.host = (uint8_t)host,
			.ours = (uint8_t)(2 + host),
			.theirs = theirs,
			.extension = host % 2,
			.cursor = below(seed_count),
		};
}

int main(int argc, char **argv)
{
	double began, seconds, most;
	unsigned int i;

	if (argc < 9 ||
	    sscanf(argv[3], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &board_mac[0], &board_mac[1],
		   &board_mac[2], &board_mac[3], &board_mac[4], &board_mac[5]) != 6) {
		fprintf(stderr, "usage: mutants IFNAME SEEDS MAC SECONDS MOST SEED W|N ENDPOINT...\n");
		return 2;
	}
	seconds = atof(argv[4]);
	most = atof(argv[5]);
	dice.state = strtoull(argv[6], NULL, 0);
	dialect = argv[7][0];
	read_seeds(argv[2]);
	for (i = 8; i < (unsigned int)argc; i++)
		add_partners((uint8_t)atoi(argv[i]));
	open_wire(argv[1]);
	printf("%u seeds, seed of chance %s\n", seed_count, argv[6]);
	fflush(stdout);
	began = now();
	while (now() - began < (all_came() ? seconds : most)) {
		for (i = 0; i < TURNS; i++)
			turn(&partners[below(partner_count)]);
		let_it_catch_up();
	}
	report(now() - began);
	return all_came() ? 0 : 1;
}
