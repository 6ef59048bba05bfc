/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process of many threads that is found late: moved THREADS GROUP moves itself into
 * a control group, moved THREADS =NAME gives itself a name. Then each of its threads
 * makes two namespaces.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define THREADS_MAX 64

static pthread_barrier_t go;

static void *work(void *arg)
{
	pthread_barrier_wait(&go);
	for (int i = 0; i < 2; i++)
		if (unshare(CLONE_NEWNET)) {
			perror("unshare");
			exit(1);
		}
	return arg;
}

static int move(const char *group)
{
	char path[4096];
	int fd, ok;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	fd = open(path, O_WRONLY);
	ok = write(fd, "0", 1) == 1;
	close(fd);
	return ok ? 0 : -1;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 0, rc;
	pthread_t id[THREADS_MAX];

	if (n < 1 || n > THREADS_MAX)
		return 2;
	pthread_barrier_init(&go, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++)
		if (pthread_create(&id[i], NULL, work, NULL))
			return 1;
	usleep(200000); /* all of them wait: who is on a CPU is followed from its next turn on */
	rc = argv[2][0] == '=' ? prctl(PR_SET_NAME, argv[2] + 1) : move(argv[2]);
	if (rc) {
		perror(argv[2]);
		return 1;
	}
	pthread_barrier_wait(&go);
	for (int i = 0; i < n; i++)
		pthread_join(id[i], NULL);
	return 0;
}
