/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps of a fake router, one row each. A new step is a row here and its
 * two bodies in src/workload (the command, the system calls).
 */
#ifndef FRTRACE_STEPS_H
#define FRTRACE_STEPS_H

#include <stdbool.h>

enum frt_step {
	FRT_STEP_ADD,
	FRT_STEP_EXEC,
	FRT_STEP_SYSCTL,
	FRT_STEP_VETH,
	FRT_STEP_DELETE,
	FRT_STEP_CONTROL,
	FRT_STEPS
};

struct frt_step_def {
	const char *name;
	const char *command; /* what the 2014 script runs, for help and reports */
	bool creation;	     /* part of the router's wall */
	unsigned per_router; /* commands; the row's value is their sum */
};

static const struct frt_step_def frt_steps[FRT_STEPS] = {
	[FRT_STEP_ADD] = { "add", "ip netns add NAME", true, 1 },
	[FRT_STEP_EXEC] = { "exec", "ip netns exec NAME ip link set lo up", true, 1 },
	[FRT_STEP_SYSCTL] = { "sysctl", "ip netns exec NAME sysctl -w net.ipv4.ip_forward=1", true,
			      1 },
	[FRT_STEP_VETH] = { "veth", "ip link add ro-KEY type veth peer name ri-KEY netns NAME",
			    true, 2 },
	[FRT_STEP_DELETE] = { "delete", "ip netns del NAME", false, 1 },
	[FRT_STEP_CONTROL] = { "true", "true", false, 1 },
};

#endif /* FRTRACE_STEPS_H */
