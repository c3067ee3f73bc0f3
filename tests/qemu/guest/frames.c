// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A stranger on the wire: sends frames to a board without endpoints and checks the answers byte
 * for byte, the counters for what is dropped. Depends on nothing but the kernel.
 *
 *   frames IFNAME answers    all cases; exit status 0 when every one holds
 *   frames IFNAME answered   one host query that must be answered
 *   frames IFNAME flood      connects and pulls without end; exits 0 when killed or the link goes
 *   frames IFNAME forbidden  a refusal with an unknown reason, for those who are to find it
 *
 * "Nothing comes back" needs no waiting: a host query follows, and its reply must come next.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <emx/abi.h>
#include <emx/wire.h>

#define ANSWER_MS 300000 /* only what hangs waits that long */
#define ENDPOINTS 32 /* the module's default */
#define OUR_INDEX 0x0007 /* what we call the board: an arbitrary advert */

static const uint8_t board_mac[6] = { 2, 0, 0, 0, 0, 0x0b };
static const uint8_t own_mac[6] = { 2, 0, 0, 0, 0, 0x0a };
static const char counters_path[] = "/sys/kernel/debug/ethermx/emx0/counters";

struct frame {
	uint8_t b[256];
	size_t length;
};

static int sock;

/* ---- frames ---- */

/* A body of the given type on its way to the board, padded. */
static struct frame to_board(const void *body, size_t length)
{
	struct frame f = { .length = EMX_FRAME_MIN };

	memcpy(f.b, board_mac, 6);
	memcpy(f.b + 6, own_mac, 6);
	f.b[12] = EMX_ETHERTYPE >> 8;
	f.b[13] = EMX_ETHERTYPE & 0xff;
	f.b[14] = 0xff;
	f.b[15] = 0xff;
	memcpy(f.b + EMX_OUTER_LEN, body, length);
	if (EMX_OUTER_LEN + length > f.length)
		f.length = EMX_OUTER_LEN + length;
	return f;
}

/* The same in the other direction, with the tag the board must use. */
static struct frame from_board(const void *body, size_t length)
{
	struct frame f = to_board(body, length);

	memcpy(f.b, own_mac, 6);
	memcpy(f.b + 6, board_mac, 6);
	f.b[14] = OUR_INDEX >> 8;
	f.b[15] = OUR_INDEX & 0xff;
	return f;
}

static struct frame connect_to(uint8_t endpoint)
{
	struct emx_w_connect w = {
		.type = EMX_CONNECT,
		.dst_ep = endpoint,
		.src_ep = 2,
		.data_len = EMX_CONNECT_DATA_LEN,
		.advert = emx_put16(OUR_INDEX),
		.requester_session = emx_put32(0x11223344),
		.key_or_session = emx_put32(0x12345678),
		.start = emx_put16(1),
	};

	return to_board(&w, sizeof(w));
}

static struct frame pull_from(uint8_t endpoint)
{
	struct emx_w_pull_w w = {
		.type = EMX_PULL,
		.dst_ep = endpoint,
		.src_ep = 2,
		.session = emx_put32(0xa1b2c3d4),
		.total = emx_put32(100000),
		.window = 7,
		.window_tag = 0x2a,
		.handle = emx_put32(0x00400023),
		.magic = emx_put32(0x21071985),
		.length = emx_put16(0x8000),
		.frame = emx_put32(8),
	};

	return to_board(&w, sizeof(w));
}

static struct frame x_pull_from(uint8_t endpoint, uint16_t unit)
{
	struct emx_w_x_pull w = {
		.type = EMX_X_PULL,
		.dst_ep = endpoint,
		.src_ep = 2,
		.session = emx_put32(0xa1b2c3d4),
		.total = emx_put32(100000),
		.window = 7,
		.window_tag = 0x2a,
		.handle = emx_put32(0x00400023),
		.magic = emx_put32(0x21071985),
		.unit = emx_put16(unit),
		.request = emx_put16(1),
		.first = emx_put32(3),
		.want = { 0x81, 1 },
	};

	return to_board(&w, sizeof(w));
}

/* To the address of a group, which says its key as the body does. */
static struct frame to_group(uint32_t key, uint16_t bytes)
{
	struct emx_w_x_group w = {
		.type = EMX_X_GROUP,
		.src_ep = 2,
		.session = emx_put32(0xa1b2c3d4),
		.key = emx_put32(key),
		.number = emx_put32(1),
		.length = emx_put16(bytes),
	};
	const uint64_t address = (uint64_t)EMX_X_GROUP_PREFIX << 32 | key;
	struct frame f = to_board(&w, sizeof(w));

	for (int i = 0; i < 6; i++)
		f.b[i] = (uint8_t)(address >> (40 - 8 * i));
	return f;
}

static struct frame x_data_to(uint8_t endpoint)
{
	struct emx_w_x_data w = {
		.type = EMX_X_DATA,
		.dst_ep = endpoint,
		.src_ep = 2,
		.handle = emx_put32(0x00400023),
		.magic = emx_put32(0x21071985),
		.request = emx_put16(1),
		.length = emx_put16(20),
	};

	return to_board(&w, sizeof(w));
}

static struct frame tiny_to(uint8_t endpoint, uint16_t length)
{
	struct emx_w_eager w = {
		.type = EMX_TINY,
		.dst_ep = endpoint,
		.src_ep = 2,
		.length = emx_put16(length),
		.seq = emx_put16(0x4005),
		.ack = emx_put16(1),
		.session = emx_put32(0xa1b2c3d4),
	};

	return to_board(&w, sizeof(w));
}

static struct frame ack_to(uint8_t endpoint)
{
	struct emx_w_truc w = {
		.type = EMX_TRUC,
		.dst_ep = endpoint,
		.src_ep = 2,
		.data_len = EMX_TRUC_DATA_LEN,
		.session = emx_put32(0xa1b2c3d4),
		.kind = EMX_TRUC_ACK,
		.session_copy = emx_put32(0xa1b2c3d4),
		.counter = emx_put32(1),
	};

	return to_board(&w, sizeof(w));
}

static struct frame host_query(uint32_t magic)
{
	struct emx_w_host w = {
		.type = EMX_HOST_QUERY,
		.advert = emx_put16(OUR_INDEX),
		.magic = emx_put32(magic),
	};

	return to_board(&w, sizeof(w));
}

static struct frame nack_lib(uint8_t endpoint, uint8_t reason, uint16_t seq)
{
	struct emx_w_nack_lib w = {
		.type = EMX_NACK_LIB,
		.src_ep = endpoint,
		.reason = reason,
		.dst_ep = 2,
		.tag_copy = emx_put16(OUR_INDEX),
		.seq = emx_put16(seq),
	};

	return from_board(&w, sizeof(w));
}

static struct frame nack_mcp(uint8_t reason)
{
	struct emx_w_nack_mcp w = {
		.type = EMX_NACK_MCP,
		.puller_ep = 2,
		.reason = reason,
		.handle = emx_put32(0x00400023),
		.magic = emx_put32(0x21071985),
	};

	return from_board(&w, sizeof(w));
}

/* Boards answer with "host:number"; we are the second entry of its table, it being the first. */
static struct frame host_reply(uint32_t magic)
{
	struct {
		struct emx_w_host host;
		char name[EMX_NAME_MAX];
	} w = { .host = { .type = EMX_HOST_REPLY,
			  .advert = emx_put16(1),
			  .magic = emx_put32(magic) } };
	struct utsname system;

	uname(&system);
	snprintf(w.name, sizeof(w.name), "%.70s:0", system.nodename);
	w.host.name_len = (uint8_t)(strlen(w.name) + 1);
	return from_board(&w, sizeof(w.host) + w.host.name_len);
}

/* ---- the wire ---- */

static void open_wire(const char *ifname)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(EMX_ETHERTYPE),
		.sll_ifindex = (int)if_nametoindex(ifname),
	};

	sock = socket(AF_PACKET, SOCK_RAW, htons(EMX_ETHERTYPE));
	if (!address.sll_ifindex || sock < 0 ||
	    bind(sock, (struct sockaddr *)&address, sizeof(address)) < 0) {
		perror(ifname);
		exit(2);
	}
}

static bool put(const struct frame *f)
{
	return send(sock, f->b, f->length, 0) == (ssize_t)f->length;
}

/*
 * The next frame from the board; length 0 when none came in time. The board asks a stranger for its
 * name whenever it likes, and sends beacons: those are no answers.
 */
static struct frame get(void)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	struct frame f;
	ssize_t n;

	do {
		f.length = 0;
		if (poll(&p, 1, ANSWER_MS) <= 0)
			return f;
		n = recv(sock, f.b, sizeof(f.b), 0);
		f.length = n > 0 ? (size_t)n : 0;
	} while (f.length > EMX_OUTER_LEN &&
		 (f.b[EMX_OUTER_LEN] == EMX_HOST_QUERY || f.b[EMX_OUTER_LEN] == EMX_RAW));
	return f;
}

static void dump(const char *what, const struct frame *f)
{
	size_t i;

	printf("  %s:%s", what, f->length ? "" : " nothing");
	for (i = 0; i < f->length; i++)
		printf("%s%02x", i % 16 ? " " : "\n    ", f->b[i]);
	printf("\n");
}

/* The counter's value as the module tells it, or -1. */
static long long counter(int number)
{
	FILE *file = fopen(counters_path, "r");
	char line[200];
	long long value = -1;

	while (file && number-- >= 0)
		if (!fgets(line, sizeof(line), file))
			break;
	if (file && number < 0)
		value = atoll(line);
	if (file)
		fclose(file);
	return value;
}

/* ---- cases ---- */

static bool draws(const char *name, struct frame sent, struct frame wanted, int counted)
{
	long long before = counter(counted);
	struct frame got;
	bool good;

	good = put(&sent);
	got = get();
	good = good && got.length == wanted.length && !memcmp(got.b, wanted.b, got.length);
	good = good && counter(counted) == before + 1;
	printf("  %s %s\n", good ? "ok    " : "NOT OK", name);
	if (!good) {
		dump("wanted", &wanted);
		dump("got", &got);
		printf("  counter %d: %lld, then %lld\n", counted, before, counter(counted));
	}
	if (!got.length)
		exit(1); /* nobody answers: the other cases would each wait as long */
	return good;
}

/* Dropped in silence, and counted once under the given reason. */
static bool dropped(const char *name, struct frame sent, int reason)
{
	static uint32_t magic = 0x5eed0000;
	long long before = counter(reason);
	bool good;

	good = put(&sent);
	magic++;
	good = draws(name, host_query(magic), host_reply(magic), EMX_CNT_TX_HOST_REPLY) && good;
	if (counter(reason) == before + 1)
		return good;
	printf("  NOT OK %s: counter %d: %lld, then %lld\n", name, reason, before, counter(reason));
	return false;
}

static bool refusals(void)
{
	bool good = true;

	/* Only packets that introduce a board make the board take a stranger in. */
	good &= dropped("pull from a stranger", pull_from(5), EMX_CNT_DROP_UNKNOWN_PEER);
	good &= draws("pull from closed endpoint", pull_from(5), nack_mcp(EMX_NACK_CLOSED),
		      EMX_CNT_TX_NACK_MCP);
	good &= draws("connect to closed endpoint", connect_to(5), nack_lib(5, EMX_NACK_CLOSED, 0),
		      EMX_CNT_TX_NACK_LIB);
	good &= draws("connect to last endpoint", connect_to(ENDPOINTS - 1),
		      nack_lib(ENDPOINTS - 1, EMX_NACK_CLOSED, 0), EMX_CNT_TX_NACK_LIB);
	good &= draws("connect beyond endpoints", connect_to(ENDPOINTS),
		      nack_lib(ENDPOINTS, EMX_NACK_BAD_ENDPOINT, 0), EMX_CNT_TX_NACK_LIB);
	good &= draws("pull beyond endpoints", pull_from(255), nack_mcp(EMX_NACK_BAD_ENDPOINT),
		      EMX_CNT_TX_NACK_MCP);
	good &= draws("x pull from closed endpoint", x_pull_from(5, 8974),
		      nack_mcp(EMX_NACK_CLOSED), EMX_CNT_TX_NACK_MCP);
	good &= draws("x pull beyond endpoints", x_pull_from(255, 8974),
		      nack_mcp(EMX_NACK_BAD_ENDPOINT), EMX_CNT_TX_NACK_MCP);
	good &= draws("tiny to closed endpoint", tiny_to(5, 4),
		      nack_lib(5, EMX_NACK_CLOSED, 0x4005), EMX_CNT_TX_NACK_LIB);
	good &= draws("host query", host_query(0x13052008), host_reply(0x13052008),
		      EMX_CNT_TX_HOST_REPLY);
	return good;
}

static bool drops(void)
{
	struct frame f;
	bool good = true;

	good &= dropped("tiny over its class", tiny_to(5, EMX_TINY_MAX + 1), EMX_CNT_DROP_LENGTH);
	good &= dropped("ack for closed endpoint", ack_to(5), EMX_CNT_DROP_ENDPOINT);
	good &= dropped("x pull of tiny frames", x_pull_from(5, EMX_X_UNIT_MIN - 1),
			EMX_CNT_DROP_PULL_SHAPE);
	good &= dropped("x data for closed endpoint", x_data_to(5), EMX_CNT_DROP_ENDPOINT);
	f = connect_to(5);
	f.b[EMX_OUTER_LEN] = 46;
	good &= dropped("unknown type", f, EMX_CNT_DROP_TYPE);
	f = connect_to(5);
	f.b[EMX_OUTER_LEN + 4] = EMX_CONNECT_DATA_LEN - 1;
	good &= dropped("short data part", f, EMX_CNT_DROP_DATA_PART);
	f = connect_to(5);
	f.length = EMX_FRAME_MIN - 1;
	good &= dropped("short frame", f, EMX_CNT_DROP_SHORT);
	f = connect_to(5);
	f.length = EMX_OUTER_LEN;
	good &= dropped("no body", f, EMX_CNT_DROP_SHORT);
	f = connect_to(5);
	f.b[5] ^= 0x80;
	good &= dropped("for another board", f, EMX_CNT_DROP_NOT_OURS);
	good &= dropped("for a group of others", to_group(0x5eed, 8), EMX_CNT_DROP_NOT_OURS);
	good &= dropped("longer than it is", to_group(0x5eed, 900), EMX_CNT_DROP_LENGTH);
	f = to_group(0x5eed, 8);
	f.b[5] ^= 1;
	good &= dropped("for another group than its address", f, EMX_CNT_DROP_GROUP);
	f = connect_to(5);
	f.b[6] |= 1;
	good &= dropped("multicast source", f, EMX_CNT_DROP_BAD_SOURCE);
	f = connect_to(5);
	memcpy(f.b + 6, board_mac, 6);
	good &= dropped("the board's own source", f, EMX_CNT_DROP_BAD_SOURCE);
	return good;
}

/* Answers that a flood draws would fill the socket's queue, and the reply be lost. */
static bool take_only(uint8_t type)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, EMX_OUTER_LEN),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, type, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, sizeof(((struct frame *)0)->b)),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return setsockopt(sock, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

/* A host query is answered; asked again, for the board's own queue may be full of a flood. */
static bool answered(void)
{
	const uint32_t magic = 0xa11ce000u + (uint32_t)getpid();
	struct frame query = host_query(magic);
	struct frame got;
	emx_be32 echoed;
	int tries;

	if (!take_only(EMX_HOST_REPLY))
		return false;
	for (tries = 0; tries < 5; tries++) {
		if (!put(&query) && errno != ENOBUFS)
			return false;
		do {
			got = get();
			memcpy(&echoed, got.b + EMX_OUTER_LEN + 8, sizeof(echoed));
			if (got.length && got.b[EMX_OUTER_LEN] == EMX_HOST_REPLY &&
			    emx_get32(echoed) == magic)
				return true;
		} while (got.length);
	}
	printf("  NOT OK host query not answered\n");
	return false;
}

static bool flood(void)
{
	struct frame f[2] = { connect_to(5), pull_from(6) };
	struct frame ignored;

	for (unsigned int i = 0;; i++) {
		f[i & 1].b[11] = (uint8_t)(0x10 + i % 64); /* many boards, the table grows */
		if (!put(&f[i & 1]) && errno != ENOBUFS)
			return true; /* link gone */
		while (recv(sock, ignored.b, sizeof(ignored.b), MSG_DONTWAIT) > 0)
			;
	}
}

static bool forbidden(void)
{
	const struct emx_w_nack_lib w = {
		.type = EMX_NACK_LIB,
		.src_ep = 5,
		.reason = 7,
		.dst_ep = 2,
		.tag_copy = emx_put16(0xffff),
	};
	const struct frame f = to_board(&w, sizeof(w));

	return put(&f);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: frames IFNAME answers|answered|flood|forbidden\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_wire(argv[1]);
	if (!strcmp(argv[2], "flood"))
		return flood() ? 0 : 1;
	if (!strcmp(argv[2], "answered"))
		return answered() ? 0 : 1;
	if (!strcmp(argv[2], "forbidden"))
		return forbidden() ? 0 : 1;
	return (int)refusals() & (int)drops() ? 0 : 1;
}
