/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lockstorm MS: two threads for each CPU do nothing but fight for two locks of the
 * kernel, for so many milliseconds: a spinlock (the table of open files: dup and close)
 * and a mutex (a pipe that all of them read and write). Prints how many rounds it made.
 */
#include "stim.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS_MAX 64

static atomic_int stop;
static atomic_ulong rounds;
static int ends[2];

static void *fight(void *arg)
{
	unsigned long n = 0;
	char c = 'x';
	int fd;

	(void)arg;
	for (; !stop; n++) {
		fd = dup(ends[0]);
		if (fd >= 0)
			close(fd);
		if (write(ends[1], &c, 1) == 1 && read(ends[0], &c, 1) != 1)
			continue; /* another was faster */
	}
	atomic_fetch_add(&rounds, n);
	return NULL;
}

int main(int argc, char **argv)
{
	long n = 2 * sysconf(_SC_NPROCESSORS_ONLN), ms = argc == 2 ? atol(argv[1]) : 0;
	pthread_t t[THREADS_MAX];

	if (ms <= 0 || pipe2(ends, O_NONBLOCK | O_CLOEXEC)) {
		fprintf(stderr, "usage: lockstorm MILLISECONDS\n");
		return 2;
	}
	n = n < 2 ? 2 : n > THREADS_MAX ? THREADS_MAX : n;
	for (long i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, fight, NULL))
			return 1;
	sleep_ns((uint64_t)ms * 1000000u);
	stop = 1;
	for (long i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	printf("%lu rounds\n", (unsigned long)rounds);
	return 0;
}
