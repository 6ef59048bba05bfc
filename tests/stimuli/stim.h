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

/* What passed, less what was waited for a CPU: time on the CPU for work that never
 * sleeps, time asleep for a sleep. By the clock, as the CPU clocks leave out what a
 * hypervisor gave to others. */
struct stopwatch {
	uint64_t began, delay;
	int fd;
};

static inline void stopwatch__start(struct stopwatch *w)
{
	w->fd = open_delay();
	w->delay = run_delay(w->fd);
	w->began = mono_ns();
}

static inline uint64_t stopwatch__stop(struct stopwatch *w)
{
	uint64_t ns = mono_ns() - w->began, delay = run_delay(w->fd) - w->delay;

	if (w->fd >= 0)
		close(w->fd);
	return ns > delay ? ns - delay : 0;
}

/* User time: arithmetic on registers. The clock is read rarely and through the
 * vDSO. Returns the time on the CPU that it took. */
static inline uint64_t burn_user(uint64_t ns)
{
	volatile uint64_t sink = 0;
	struct stopwatch w;
	uint64_t end;

	stopwatch__start(&w);
	end = w.began + ns;
	do {
		uint64_t x = end | 1;

		for (int i = 0; i < 20000; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
		sink = x;
	} while (mono_ns() < end);
	(void)sink;
	return stopwatch__stop(&w);
}

#define BURN_IOV 1024

/* Kernel time inside one single system call: a readv of random bytes, every
 * vector the same small buffer, so that nothing has to be mapped for it.
 * Returns the time on the CPU that the call took, 0 on failure. */
static inline uint64_t burn_readv(int fd, size_t bytes)
{
	static char buf[65536];
	static struct iovec iov[BURN_IOV];
	size_t each = bytes / BURN_IOV;
	struct stopwatch w;
	ssize_t n;

	if (each > sizeof(buf))
		each = sizeof(buf);
	memset(buf, 1, each);
	for (int i = 0; i < BURN_IOV; i++)
		iov[i] = (struct iovec){ .iov_base = buf, .iov_len = each };
	stopwatch__start(&w);
	n = readv(fd, iov, BURN_IOV);
	return n < 0 ? 0 : stopwatch__stop(&w);
}

/* Sleeps and returns for how long it was blocked: without what it then waited
 * for a CPU. */
static inline uint64_t sleep_ns(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
	struct stopwatch w;

	stopwatch__start(&w);
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
	return stopwatch__stop(&w);
}

#endif
