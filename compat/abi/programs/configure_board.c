/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Links what Open MPI's configure links: the internal functions, with no header but MX's. Never run. */
#include "mx_extensions.h"
#include "mx_io.h"
#include "mx_internals/mx__fops.h"
#include "mx_internals/mx__driver_interface.h"
#if !defined(MX_HAS_NET_TYPE) || MX_API < 0x300
#error "Open MPI would go without"
#endif

int mx__regcache_clean(void *addr, size_t len);

int main(void)
{
	mx_open_board(0, NULL);
	mx__get_mapper_state(0, NULL);
	mx__regcache_clean(NULL, 0);
	mx_forget(NULL, NULL);
	mx_register_unexp_handler(NULL, NULL, NULL);
	mx_register_unexp_callback(NULL, NULL, NULL);
	return mx_finalize();
}
