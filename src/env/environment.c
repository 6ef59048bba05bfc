/* SPDX-License-Identifier: BSD-2-Clause */
#include "env/environment.h"

#include "util/util.h"

#include <dirent.h>
#include <jansson.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

/* First line of a file without its newline; NULL when it cannot be read. */
static char *read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	char *line;

	if (!f)
		return NULL;
	line = fgets(buf, (int)size, f);
	fclose(f);
	if (line)
		line[strcspn(line, "\n")] = '\0';
	return line;
}

static json_t *string_or_null(const char *s)
{
	json_t *v = s ? json_string(s) : NULL;

	return v ? v : json_null();
}

static json_t *flag_from(const char *path)
{
	char buf[64];
	char *s = read_line(path, buf, sizeof(buf));

	return s ? json_boolean(s[0] == '1' || s[0] == 'Y') : json_null();
}

/* Value of a kernel build option; the file is gzip in /proc, plain in /boot. */
static bool config_option(const char *release, const char *name, char *value, size_t size)
{
	char path[256], line[256];
	size_t len = strlen(name);
	bool found = false;
	gzFile f = gzopen("/proc/config.gz", "rb");

	if (!f) {
		snprintf(path, sizeof(path), "/boot/config-%s", release);
		f = gzopen(path, "rb");
	}
	if (!f)
		return false;
	while (!found && gzgets(f, line, sizeof(line))) {
		if (strncmp(line, name, len) == 0 && line[len] == '=') {
			snprintf(value, size, "%.*s", (int)strcspn(line + len + 1, "\n"),
				 line + len + 1);
			found = true;
		}
	}
	gzclose(f);
	return found;
}

static json_t *preemption(const struct utsname *u)
{
	char buf[128];
	char *s = read_line("/sys/kernel/debug/sched/preempt", buf, sizeof(buf));
	char *open = s ? strchr(s, '(') : NULL;

	if (open && strchr(open, ')')) {
		*strchr(open, ')') = '\0';
		return json_string(open + 1);
	}
	if (strstr(u->version, "PREEMPT_DYNAMIC"))
		return json_string("dynamic");
	if (strstr(u->version, "PREEMPT_RT"))
		return json_string("rt");
	return json_string(strstr(u->version, "PREEMPT") ? "full" : "none or voluntary");
}

/* Does the kernel's command line hold this word (or word=…)? */
static bool command_line_has(const char *word)
{
	char buf[4096];
	char *line = read_line("/proc/cmdline", buf, sizeof(buf)), *save = NULL;

	for (char *w = line ? strtok_r(line, " ", &save) : NULL; w; w = strtok_r(NULL, " ", &save))
		if (strncmp(w, word, strlen(word)) == 0)
			return true;
	return false;
}

static json_t *rcu(const char *release)
{
	char v[16];
	json_t *o = json_object();

	if (!o)
		return NULL;
	json_object_set_new(o, "expedited", flag_from("/sys/kernel/rcu_expedited"));
	json_object_set_new(o, "nocb", json_boolean(command_line_has("rcu_nocbs")));
	json_object_set_new(o, "lazy",
			    json_boolean(config_option(release, "CONFIG_RCU_LAZY", v, sizeof(v)) &&
					 v[0] == 'y'));
	return o;
}

static json_t *virtualization(void)
{
	char line[4096], vendor[128];
	FILE *f = fopen("/proc/cpuinfo", "re");
	bool guest = false;
	char *s;

	while (f && !guest && fgets(line, sizeof(line), f))
		guest = strncmp(line, "flags", 5) == 0 && strstr(line, " hypervisor");
	if (f)
		fclose(f);
	if (!guest)
		return json_string("none");
	s = read_line("/sys/class/dmi/id/sys_vendor", vendor, sizeof(vendor));
	return json_string(s && *s ? s : "a hypervisor");
}

/* Share of all CPU time since boot that was stolen. */
static json_t *steal(void)
{
	unsigned long long v[8] = { 0 }, all = 0;
	char buf[512];
	char *s = read_line("/proc/stat", buf, sizeof(buf));

	if (!s || sscanf(s, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2],
			 &v[3], &v[4], &v[5], &v[6], &v[7]) != 8)
		return json_null();
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		all += v[i];
	return all ? json_real((double)v[7] / (double)all) : json_null();
}

/* The vulnerabilities that the kernel works around, by name. */
static json_t *mitigations(void)
{
	static const char dir[] = "/sys/devices/system/cpu/vulnerabilities";
	struct dirent **list = NULL;
	int n = scandir(dir, &list, NULL, alphasort);
	char path[512], buf[256], text[1024] = "";

	for (int i = 0; i < n; i++) {
		char *s;

		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		s = list[i]->d_name[0] == '.' ? NULL : read_line(path, buf, sizeof(buf));
		if (s && strncmp(s, "Mitigation", 10) == 0)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				 *text ? " " : "", list[i]->d_name);
		free(list[i]);
	}
	free(list);
	if (command_line_has("mitigations=off"))
		return json_string("off");
	return n < 0 ? json_null() : json_string(*text ? text : "none");
}

/* *layers: how often /run/netns is mounted on itself. */
static json_t *count_mounts(json_t **run_shared, json_int_t *layers)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t cap = 0;
	json_int_t n = 0;

	*layers = 0;
	*run_shared = json_null();
	if (!f)
		return json_null();
	while (getline(&line, &cap, f) > 0) {
		char point[4096] = "";

		n++;
		if (sscanf(line, "%*s %*s %*s %*s %4095s", point) == 1 &&
		    strcmp(point, "/run/netns") == 0) {
			json_decref(*run_shared);
			*run_shared = json_boolean(strstr(line, " shared:") != NULL);
			++*layers;
		}
	}
	free(line);
	fclose(f);
	return json_integer(n);
}

static json_t *count_entries(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	json_int_t n = 0;

	if (!d)
		return json_null();
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return json_integer(n);
}

static int compare_ino(const void *a, const void *b)
{
	ino_t x = *(const ino_t *)a, y = *(const ino_t *)b;

	return (x > y) - (x < y);
}

/* Named namespaces plus those that processes alone hold. */
static json_t *count_netns(void)
{
	json_t *named = count_entries("/run/netns");
	json_int_t n = json_is_integer(named) ? json_integer_value(named) : 0;
	DIR *d = opendir("/proc");
	struct dirent *e;
	struct stat st;
	ino_t *ino = NULL, own = 0;
	size_t held = 0, cap = 0;

	json_decref(named);
	if (stat("/proc/self/ns/net", &st) == 0)
		own = st.st_ino;
	while (d && (e = readdir(d))) {
		char path[300];

		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/ns/net", e->d_name);
		if (stat(path, &st) || st.st_ino == own || grow(&ino, held, &cap, sizeof(*ino)))
			continue;
		ino[held++] = st.st_ino;
	}
	if (d)
		closedir(d);
	if (held)
		qsort(ino, held, sizeof(*ino), compare_ino);
	for (size_t i = 0; i < held; i++)
		n += i == 0 || ino[i] != ino[i - 1];
	free(ino);
	return json_integer(n);
}

static json_t *modules(void)
{
	FILE *f = fopen("/proc/modules", "re");
	json_t *a = json_array();
	char name[128];

	while (f && a && fscanf(f, "%127s%*[^\n]", name) == 1)
		json_array_append_new(a, json_string(name));
	if (f)
		fclose(f);
	return a;
}

/* Tracing programs of others: they cost time in the same places. */
static json_t *other_bpf(void)
{
	json_t *a = json_array();
	union bpf_attr attr;
	__u32 id = 0;

	for (int i = 0; a && i < 256; i++) {
		struct bpf_prog_info info = { 0 };
		int fd;

		memset(&attr, 0, sizeof(attr));
		attr.start_id = id;
		if (syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &attr, sizeof(attr)))
			break;
		id = attr.next_id;
		memset(&attr, 0, sizeof(attr));
		attr.prog_id = id;
		fd = (int)syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr));
		if (fd < 0)
			continue;
		memset(&attr, 0, sizeof(attr));
		attr.info.bpf_fd = (__u32)fd;
		attr.info.info_len = sizeof(info);
		attr.info.info = (__u64)(uintptr_t)&info;
		if (!syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) &&
		    (info.type == BPF_PROG_TYPE_KPROBE || info.type == BPF_PROG_TYPE_TRACEPOINT ||
		     info.type == BPF_PROG_TYPE_PERF_EVENT ||
		     info.type == BPF_PROG_TYPE_RAW_TRACEPOINT ||
		     info.type == BPF_PROG_TYPE_TRACING || info.type == BPF_PROG_TYPE_LSM)) {
			char name[BPF_OBJ_NAME_LEN + 1] = "";

			memcpy(name, info.name, BPF_OBJ_NAME_LEN);
			json_array_append_new(a, string_or_null(name));
		}
		close(fd);
	}
	return a;
}

/* First line that `command flag` prints. */
static json_t *version_of(const char *command, const char *flag)
{
	char line[256] = "", text[512];
	FILE *f;

	if (!command || strpbrk(command, " '\"\\$`;&|<>()\n"))
		return json_null();
	snprintf(text, sizeof(text), "%s %s 2>/dev/null </dev/null", command, flag);
	f = popen(text, "re");
	if (!f)
		return json_null();
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	while (fgetc(f) != EOF)
		;
	pclose(f);
	line[strcspn(line, "\n")] = '\0';
	return *line ? json_string(printable(text, sizeof(text), line)) : json_null();
}

static json_t *memory_available(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];
	long long kb = 0;

	while (f && !kb && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %lld", &kb) != 1)
			kb = 0;
	if (f)
		fclose(f);
	return kb ? json_integer(kb) : json_null();
}

json_t *environment__gather(const char *ip, const char *sudo)
{
	json_t *o = json_object(), *shared;
	json_int_t layers;
	struct utsname u;
	char buf[512];

	if (!o || uname(&u)) {
		json_decref(o);
		return NULL;
	}
	json_object_set_new(o, "kernel", json_string(u.release));
	json_object_set_new(o, "machine", json_string(u.machine));
	json_object_set_new(o, "cpus", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
	json_object_set_new(o, "hz",
			    config_option(u.release, "CONFIG_HZ", buf, sizeof(buf))
				    ? json_integer(atoi(buf))
				    : json_null());
	json_object_set_new(o, "preempt", preemption(&u));
	json_object_set_new(o, "rcu", rcu(u.release));
	json_object_set_new(o, "virt", virtualization());
	json_object_set_new(o, "steal", steal());
	json_object_set_new(o, "mitigations", mitigations());
	json_object_set_new(
		o, "lsm", string_or_null(read_line("/sys/kernel/security/lsm", buf, sizeof(buf))));
	json_object_set_new(o, "mounts", count_mounts(&shared, &layers));
	json_object_set_new(o, "netns", count_netns());
	json_object_set_new(o, "links", count_entries("/sys/class/net"));
	json_object_set_new(o, "run_netns_shared", shared);
	json_object_set_new(o, "run_netns_mounts", json_integer(layers));
	json_object_set_new(o, "memory_available_kb", memory_available());
	json_object_set_new(o, "iproute2", version_of(ip, "-V"));
	json_object_set_new(o, "sudo", version_of(sudo, "-V"));
	json_object_set_new(
		o, "clock",
		string_or_null(read_line(
			"/sys/devices/system/clocksource/clocksource0/current_clocksource", buf,
			sizeof(buf))));
	json_object_set_new(o, "modules", modules());
	json_object_set_new(
		o, "tunnels_only_init_net",
		read_line("/proc/sys/net/core/fb_tunnels_only_for_init_net", buf, sizeof(buf))
			? json_integer(atoi(buf))
			: json_null());
	json_object_set_new(o, "other_bpf", other_bpf());
	return o;
}
