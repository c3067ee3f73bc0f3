// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A plugin of QEMU that counts the instructions of each translated block between two marks of the
 * guest, for tests/bench/instructions: -plugin FILE,out=RESULT. The mark MARK_BEGIN sets all counts
 * to 0, MARK_END writes RESULT.1, RESULT.2 and so on, with lines "ADDRESS INSTRUCTIONS TIMES", in
 * hexadecimal and decimal (guest/mark.c executes them).
 *
 * Debian does not ship qemu-plugin.h: what is used of that interface (version 1) is declared here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/mark.h"

#define EXPORT __attribute__((visibility("default")))

enum { NO_REGISTERS };
enum { INLINE_ADD_U64 };
struct qemu_plugin_tb;
struct qemu_plugin_insn;
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
					   void (*cb)(uint64_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op, void *number,
					      uint64_t add);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned int vcpu, void *data), int flags,
					    void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

EXPORT int qemu_plugin_version = 1;

/* Blocks are translated anew now and then: those of one address share a counter. */
#define BUCKETS (1u << 20)
static struct counter {
	uint64_t address, instructions, times;
	struct counter *next;
} * buckets[BUCKETS];
static const char *out;
static unsigned int files;

static struct counter *counter_of(uint64_t address)
{
	struct counter **at = &buckets[(address ^ address >> 20) % BUCKETS];

	while (*at && (*at)->address != address)
		at = &(*at)->next;
	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (!*at)
			abort();
		(*at)->address = address;
	}
	return *at;
}

static void on_begin(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct counter *c = buckets[i]; c; c = c->next)
			c->instructions = c->times = 0;
}

static void on_end(unsigned int vcpu, void *data)
{
	char name[4096];
	FILE *f;

	(void)vcpu, (void)data;
	snprintf(name, sizeof(name), "%s.%u", out, ++files);
	f = fopen(name, "w");
	if (!f) {
		perror(name);
		exit(1);
	}
	for (size_t i = 0; i < BUCKETS; i++)
		for (const struct counter *c = buckets[i]; c; c = c->next)
			if (c->times)
				fprintf(f, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", c->address,
					c->instructions, c->times);
	if (fclose(f) != 0) {
		perror(name);
		exit(1);
	}
}

static void on_translation(uint64_t id, struct qemu_plugin_tb *tb)
{
	static const unsigned char mark[] = { MARK_BYTES };
	const size_t n = qemu_plugin_tb_n_insns(tb);
	struct counter *counter = counter_of(qemu_plugin_tb_vaddr(tb));

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &counter->instructions, n);
	qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &counter->times, 1);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const unsigned char *bytes = qemu_plugin_insn_data(insn);

		if (qemu_plugin_insn_size(insn) != sizeof(mark) + 1 ||
		    memcmp(bytes, mark, sizeof(mark)))
			continue;
		qemu_plugin_register_vcpu_insn_exec_cb(
			insn, bytes[sizeof(mark)] == MARK_BEGIN ? on_begin : on_end, NO_REGISTERS,
			NULL);
	}
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fprintf(stderr, "count: give out=FILE\n");
		return -1;
	}
	out = strdup(argv[0] + 4);
	if (!out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
