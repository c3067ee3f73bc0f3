/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program as users have them: takes the predefined handler from its variable and expects its
 * codes back. Needs no board. Linked in every way that existing binaries were.
 */
#include "mx_extensions.h"
#include <stdio.h>
#include <string.h>

static int failures;

static void expect(const char *what, int got, int wanted)
{
	if (got == wanted)
		return;
	fprintf(stderr, "%s: %d, expected %d\n", what, got, wanted);
	failures++;
}

static mx_return_t seen;
static mx_return_t own_handler(char *text, mx_return_t code)
{
	seen = text && *text ? code : MX_FAILURE;
	return MX_BUSY;
}

static void calls_before_init(void)
{
	mx_endpoint_t ep = NULL;
	mx_request_t req = NULL;
	mx_status_t status;
	uint32_t value = 0;
	uint64_t nic = 0;
	mx_endpoint_addr_t nobody;

	memset(&nobody, 0, sizeof(nobody));
	expect("mx_open_endpoint", mx_open_endpoint(0, 0, 1, NULL, 0, &ep), MX_NOT_INITIALIZED);
	expect("mx_get_info", mx_get_info(NULL, MX_NIC_COUNT, NULL, 0, &value, 4), MX_NOT_INITIALIZED);
	expect("mx_test", mx_test(ep, &req, &status, &value), MX_NOT_INITIALIZED);
	expect("mx_isend", mx_isend(ep, NULL, 0, nobody, 0, NULL, &req), MX_NOT_INITIALIZED);
	expect("mx_wait", mx_wait(ep, &req, 1, &status, &value), MX_NOT_INITIALIZED);
	expect("mx_iprobe", mx_iprobe(ep, 0, 0, &status, &value), MX_NOT_INITIALIZED);
	expect("mx_close_endpoint", mx_close_endpoint(ep), MX_NOT_INITIALIZED);
	expect("mx_finalize", mx_finalize(), MX_NOT_INITIALIZED);
	/* Only that it resolves and returns. */
	mx_decompose_endpoint_addr(nobody, &nic, &value);
}

int main(void)
{
	mx_error_handler_t before = mx_set_error_handler(MX_ERRORS_RETURN);

	expect("default handler is MX_ERRORS_ARE_FATAL", before == MX_ERRORS_ARE_FATAL, 1);
	expect("mx_init of another generation", mx__init_api(0x200), MX_BAD_LIB_VERSION);
	expect("mx_init of no generation", mx__init_api(0), MX_BAD_LIB_VERSION);
	calls_before_init();

	expect("previous handler", mx_set_error_handler(own_handler) == MX_ERRORS_RETURN, 1);
	expect("the handler's value", mx_finalize(), MX_BUSY);
	expect("the handler's argument", seen, MX_NOT_INITIALIZED);
	expect("mx_strerror", mx_strerror((mx_return_t)12345) != NULL, 1);
	expect("mx_strstatus", mx_strstatus((mx_status_code_t)-1) != NULL, 1);
	if (!failures)
		printf("codes: ok\n");
	return failures != 0;
}
