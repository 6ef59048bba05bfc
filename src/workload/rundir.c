/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The run directory. The first `ip netns add` of a machine makes it a shared
 * mount on itself; so do we, by the same calls, and note it (the claim) so that
 * the last run to end can undo it.
 */
#include "workload/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLAIM WL_STATE_DIR "/rundir"

/* The mount a path is on; -1: unknown. Not from mountinfo: a mount of that name
 * may lie hidden below another one. */
static int mount_id(const char *path)
{
	char info[64], line[128];
	int fd = open(path, O_PATH | O_CLOEXEC), id = -1;
	FILE *f;

	if (fd < 0)
		return -1;
	snprintf(info, sizeof(info), "/proc/thread-self/fdinfo/%d", fd);
	f = fopen(info, "re");
	while (f && id < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "mnt_id: %d", &id) != 1)
			id = -1;
	if (f)
		fclose(f);
	close(fd);
	return id;
}

static bool is_mounted(void)
{
	int dir = mount_id(WL_RUN_DIR);

	return dir >= 0 && dir != mount_id(WL_RUN_DIR "/..");
}

/* Under the state lock. existed: the directory was there. */
static int write_claim(bool existed)
{
	char boot[64];
	int fd, n;

	boot_id(boot, sizeof(boot));
	fd = open(CLAIM, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	n = dprintf(fd, "%s %d\n", boot, existed);
	close(fd);
	return n < 0 ? -EIO : 0;
}

/* -ENOENT: none, or of another boot. */
static int read_claim(bool *existed)
{
	char boot[64], buf[128], was[64];
	int fd, dir_existed = 1;
	ssize_t n;

	fd = open(CLAIM, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	boot_id(boot, sizeof(boot));
	if (sscanf(buf, "%63s %d", was, &dir_existed) != 2 || strcmp(was, boot))
		return -ENOENT;
	*existed = dir_existed;
	return 0;
}

int rundir__share(const char **call)
{
	bool bound = false;
	int fd, rc = 0;

	*call = "mkdir";
	if (mkdir(WL_RUN_DIR, 0755) && errno != EEXIST)
		return -errno;
	*call = "open";
	fd = open(WL_RUN_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	flock(fd, LOCK_EX);
	*call = "mount";
	while (mount("", WL_RUN_DIR, "none", MS_SHARED | MS_REC, NULL)) {
		/* the very first time it is no mount yet */
		if (errno != EINVAL || bound ||
		    mount(WL_RUN_DIR, WL_RUN_DIR, "none", MS_BIND | MS_REC, NULL)) {
			rc = -errno;
			break;
		}
		bound = true;
	}
	flock(fd, LOCK_UN);
	close(fd);
	return rc;
}

int rundir__prepare(struct workload *w)
{
	const char *call;
	struct stat st;
	bool was;
	int lock, rc = 0;

	if (w->run_dir_shared && is_mounted())
		return 0;
	lock = statedir__lock();
	if (lock < 0)
		return wl__fail(w, lock, "%s: %s", WL_STATE_DIR, strerror(-lock));
	if (!is_mounted() && read_claim(&was))
		rc = write_claim(!stat(WL_RUN_DIR, &st));
	if (rc) {
		wl__fail(w, rc, "%s: %s", CLAIM, strerror(-rc));
	} else {
		rc = rundir__share(&call);
		if (rc)
			wl__fail(w, rc, "%s: %s: %s; network namespaces are named there",
				 WL_RUN_DIR, call, strerror(-rc));
	}
	w->run_dir_shared = !rc;
	close(lock);
	return rc;
}

static bool has_names(void)
{
	DIR *d = opendir(WL_RUN_DIR);
	struct dirent *e;
	bool any = false;

	while (d && !any && (e = readdir(d)))
		any = strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	if (d)
		closedir(d);
	return any;
}

static int undo_locked(bool dry)
{
	bool existed, mounted;
	int n = 0;

	if (read_claim(&existed)) {
		if (!dry)
			unlink(CLAIM); /* of another boot */
		return 0;
	}
	if (statedir__live(NULL) || has_names())
		return 0; /* the last one out does it */
	mounted = is_mounted();
	if (mounted) {
		/* not detached: it fails if something is mounted there after all */
		if (!dry && umount2(WL_RUN_DIR, UMOUNT_NOFOLLOW))
			return -errno;
		n++;
	}
	if (!existed) {
		if (dry ? !access(WL_RUN_DIR, F_OK) : !rmdir(WL_RUN_DIR))
			n++;
	}
	if (!dry)
		unlink(CLAIM);
	return n;
}

int rundir__undo(bool dry)
{
	int lock, rc;

	if (access(WL_STATE_DIR, F_OK))
		return 0;
	lock = statedir__lock();
	if (lock < 0)
		return lock;
	rc = undo_locked(dry);
	if (!dry)
		statedir__rmdir();
	close(lock);
	return rc;
}
