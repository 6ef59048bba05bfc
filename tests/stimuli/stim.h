/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the stimuli share: clocks, and two ways of spending time whose kind is
 * beyond doubt. A stimulus measures itself, so that a test can hold what frtrace
 * says against what truly happened.
 */
#ifndef STIM_H
#define STIM_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t thread_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* User time: arithmetic on registers. The clock is read rarely and through the
 * vDSO. Returns the CPU time it took. */
static inline uint64_t burn_user(uint64_t ns)
{
	uint64_t cpu = thread_ns(), end = mono_ns() + ns;
	volatile uint64_t sink = 0;

	do {
		uint64_t x = end | 1;

		for (int i = 0; i < 20000; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
		sink = x;
	} while (mono_ns() < end);
	(void)sink;
	return thread_ns() - cpu;
}

#define BURN_IOV 1024

/* Kernel time inside one single system call: a readv of random bytes, every
 * vector the same small buffer, so that nothing has to be mapped for it.
 * Returns the CPU time the call took, 0 on failure. */
static inline uint64_t burn_readv(int fd, size_t bytes)
{
	static char buf[65536];
	static struct iovec iov[BURN_IOV];
	size_t each = bytes / BURN_IOV;
	uint64_t cpu;

	if (each > sizeof(buf))
		each = sizeof(buf);
	memset(buf, 1, each);
	for (int i = 0; i < BURN_IOV; i++)
		iov[i] = (struct iovec){ .iov_base = buf, .iov_len = each };
	cpu = thread_ns();
	if (readv(fd, iov, BURN_IOV) < 0)
		return 0;
	return thread_ns() - cpu;
}

/* How long this thread has waited for a CPU so far, from its schedstat (opened
 * by open_delay); 0 where the kernel does not tell. Plain calls only: a vforked
 * child may use it. */
static inline int open_delay(void)
{
	return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

static inline uint64_t run_delay(int fd)
{
	char buf[96], *end;
	ssize_t n = fd < 0 ? -1 : pread(fd, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return 0;
	buf[n] = '\0';
	strtoull(buf, &end, 10);
	return strtoull(end, NULL, 10);
}

/* Sleeps and returns for how long it was blocked: without what it then waited
 * for a CPU. */
static inline uint64_t sleep_ns(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
	int fd = open_delay();
	uint64_t delay, began, slept;

	delay = run_delay(fd);
	began = mono_ns();
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
	slept = mono_ns() - began;
	delay = run_delay(fd) - delay;
	close(fd);
	return slept - delay;
}

#endif
