/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lockstorm MS: two threads for each CPU do nothing but fight for a lock of the kernel,
 * for so many milliseconds: half of them for a mutex (a pipe that all of them read and
 * write), half for a spinlock (a futex's bucket: each looks through all who wait there
 * for one to wake, and none is), since who sleeps for a mutex fights for no spinlock.
 * Prints how many rounds they made.
 */
#include "stim.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define THREADS_MAX 64
#define WAITERS 64 /* what makes a look long */
#define WAIT_BIT 1
#define NO_BIT 2

static atomic_int stop;
static atomic_int word;
static atomic_ulong rounds;
static int ends[2];

static void *wait_there(void *arg)
{
	while (!word)
		syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, WAIT_BIT);
	return arg;
}

static void *fight_for_spinlock(void *arg)
{
	unsigned long n = 0;

	for (; !stop; n++)
		syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, NO_BIT);
	atomic_fetch_add(&rounds, n);
	return arg;
}

static void *fight_for_mutex(void *arg)
{
	unsigned long n = 0;
	char c = 'x';

	for (; !stop; n++)
		if (write(ends[1], &c, 1) == 1 && read(ends[0], &c, 1) != 1)
			continue; /* another was faster */
	atomic_fetch_add(&rounds, n);
	return arg;
}

int main(int argc, char **argv)
{
	long n = 2 * sysconf(_SC_NPROCESSORS_ONLN), ms = argc == 2 ? atol(argv[1]) : 0;
	pthread_t t[THREADS_MAX], w[WAITERS];

	if (ms <= 0 || pipe2(ends, O_NONBLOCK | O_CLOEXEC)) {
		fprintf(stderr, "usage: lockstorm MILLISECONDS\n");
		return 2;
	}
	n = n < 2 ? 2 : n > THREADS_MAX ? THREADS_MAX : n;
	for (int i = 0; i < WAITERS; i++)
		if (pthread_create(&w[i], NULL, wait_there, NULL))
			return 1;
	for (long i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, i % 2 ? fight_for_spinlock : fight_for_mutex, NULL))
			return 1;
	sleep_ns((uint64_t)ms * 1000000u);
	stop = 1;
	for (long i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	word = 1;
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, WAITERS, NULL, NULL, 0);
	for (int i = 0; i < WAITERS; i++)
		pthread_join(w[i], NULL);
	printf("%lu rounds\n", (unsigned long)rounds);
	return 0;
}
