/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace/types.h"

#include <bpf/btf.h>
#include <stddef.h>

static struct btf *kernel;

struct btf *types__kernel(void)
{
	if (!kernel)
		kernel = btf__load_vmlinux_btf();
	return kernel;
}

void types__forget(void)
{
	btf__free(kernel);
	kernel = NULL;
}
