# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# The guest's file system for scripts/vm: three cpio archives one behind the other,
# each made again only when what it is made of changed. Sourced; wants $VM, $ROOT, say, die.

# What the tests need of a real machine, found by name on this one. What is not
# here is left out, unless it is in vm_must.
vm_must='bash dash busybox ip sysctl'
vm_tools='bash dash ip bridge tc ss sysctl ps pgrep pkill bpftool unshare nsenter mount umount mountpoint findmnt
setpriv taskset chrt flock grep sed awk mawk gawk find xargs cmp diff jq strace'

pack_cpio() {
	(cd "$1" && find . | sort | cpio --quiet -o -H newc -R 0:0) >"$2.$$" && mv "$2.$$" "$2"
}

# A file of this machine and the libraries it is linked with, at the same place below $1.
stage_file() {
	local stage=$1 file=$2 real lib
	[ -e "$stage$file" ] || {
		mkdir -p "$(dirname "$stage$file")"
		cp -L "$file" "$stage$file"
	}
	real=$(readlink -f "$file")
	# A script's interpreter is up to its author; a static program has no libraries.
	[ "$(head -c 4 "$real" | tr -d '\0')" = $'\177ELF' ] || return 0
	while read -r lib; do
		[ -e "$stage$lib" ] && continue
		mkdir -p "$(dirname "$stage$lib")"
		cp -L "$lib" "$stage$lib"
	done < <(ldd "$real" 2>/dev/null | grep -oE '/[^ ]+' | grep -v '^/.*:$' || true)
}

stage_dirs() {
	local d
	mkdir -p "$1"/usr/{bin,sbin,lib,lib64,libexec,share} "$1"/{proc,sys,dev,run,tmp,root,etc,var,boot,mnt,home,results,put}
	for d in bin sbin lib lib64; do
		ln -sfn "usr/$d" "$1/$d"
	done
	ln -sfn ../run "$1/var/run"
}

# Programs asked for with --with, one a line on stdin, that need more than their libraries.
stage_extra() {
	local stage=$1 name=$2 f
	case $name in
	sudo)
		mkdir -p "$stage/etc/pam.d" "$stage/etc/sudoers.d"
		for f in /usr/libexec/sudo/*.so* /lib/x86_64-linux-gnu/security/pam_{permit,limits,unix,env}.so; do
			[ ! -e "$f" ] || stage_file "$stage" "$f"
		done
		for f in auth account session; do
			echo "$f required pam_permit.so"
		done >"$stage/etc/pam.d/sudo"
		printf 'Defaults use_pty\nroot ALL=(ALL:ALL) NOPASSWD: ALL\nuser ALL=(ALL:ALL) NOPASSWD: ALL\n' \
			>"$stage/etc/sudoers"
		chmod 440 "$stage/etc/sudoers"
		chmod 4755 "$stage/usr/bin/sudo"
		;;
	esac
}

# image_user WITH: $VM/image/user-WITH.cpio, the programs. Prints its path.
image_user() {
	local with=$1 out stage=$VM/image/stage.$$ name file stamp
	local -a files=()
	mkdir -p "$VM/image"
	for name in $vm_must; do
		command -v "$name" >/dev/null || die 1 "scripts/vm needs $name: see scripts/vm --needs"
	done
	[ "$(LC_ALL=C ldd "$(command -v busybox)" 2>&1 | grep -c 'not a dynamic')" -gt 0 ] ||
		die 1 "scripts/vm needs a static busybox (package busybox-static)"
	for name in $vm_tools; do
		file=$(command -v "$name") && files+=("$file")
	done
	for name in ${with//,/ }; do
		file=$(command -v "$name") || die 1 "--with $name: there is no such program here"
		files+=("$file")
	done
	while read -r file; do
		[ ! -x "$file" ] || files+=("$file")
	done < <(dpkg -L coreutils 2>/dev/null | grep -E '^(/usr)?/s?bin/')
	out=$VM/image/user${with:+-$(tr ',/' '-_' <<<"$with")}.cpio
	stamp=$(stat -Lc '%n %Y %s' "${files[@]}" "$(command -v busybox)" "$ROOT"/scripts/lib/vm-{init,image.sh} | sort)
	if [ -e "$out" ] && [ "$stamp" = "$(cat "$out.stamp" 2>/dev/null)" ]; then
		echo "$out"
		return
	fi
	rm -rf "$stage"
	stage_dirs "$stage"
	# command -v may answer /sbin/x or /usr/sbin/x: below the stage they are the same folder.
	for file in "${files[@]}"; do
		stage_file "$stage" "$file"
	done
	for name in ${with//,/ }; do
		stage_extra "$stage" "$name"
	done
	stage_file "$stage" "$(command -v busybox)"
	# The shell of busybox would run its own ip before the real one.
	ln -s dash "$stage/usr/bin/sh"
	file=$(command -v busybox)
	while read -r name; do
		[ -e "$stage/usr/bin/$name" ] || [ -e "$stage/usr/sbin/$name" ] ||
			ln -s "/usr/bin/${file##*/}" "$stage/usr/bin/$name"
	done < <("$file" --list)
	# The kernel asks for this very path.
	[ -e "$stage/usr/sbin/modprobe" ] || ln -s "/usr/bin/${file##*/}" "$stage/usr/sbin/modprobe"
	cp "$ROOT/scripts/lib/vm-init" "$stage/init"
	chmod 755 "$stage/init"
	printf 'root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000:user:/home:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n' \
		>"$stage/etc/passwd"
	printf 'root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n' >"$stage/etc/group"
	# The one locale every Debian has.
	[ ! -d /usr/lib/locale/C.utf8 ] || {
		mkdir -p "$stage/usr/lib/locale"
		cp -r /usr/lib/locale/C.utf8 "$stage/usr/lib/locale/"
	}
	echo '127.0.0.1 localhost vm' >"$stage/etc/hosts"
	printf 'passwd: files\ngroup: files\nhosts: files\n' >"$stage/etc/nsswitch.conf"
	echo vm >"$stage/etc/hostname"
	pack_cpio "$stage" "$out"
	printf '%s\n' "$stamp" >"$out.stamp"
	rm -rf "$stage"
	echo "$out"
}

# image_tree STAGE: the built tree as far as there is one, below /frtrace as it is here.
image_tree() {
	local stage=$1 path file
	mkdir -p "$stage/frtrace/build"
	for path in scripts tests data; do
		[ ! -e "$ROOT/$path" ] || cp -r "$ROOT/$path" "$stage/frtrace/"
	done
	rm -rf "$stage/frtrace/tests/unit"
	for path in build/frtrace build/stimuli build/loops; do
		[ ! -e "$ROOT/$path" ] || cp -r "$ROOT/$path" "$stage/frtrace/build/"
	done
	find "$stage/frtrace" \( -name '*.d' -o -name '*.o' \) -delete
	while read -r file; do
		stage_libs "$stage" "$file"
	done < <(find "$stage/frtrace/build" -type f -perm -100)
}

# The libraries of a program that is itself already where it belongs.
stage_libs() {
	local lib
	while read -r lib; do
		# libraries go below usr: /lib is a link in the guest, made by the first archive
		mkdir -p "$1/usr$(dirname "${lib#/usr}")"
		[ -e "$1/usr${lib#/usr}" ] || cp -L "$lib" "$1/usr${lib#/usr}"
	done < <(ldd "$2" 2>/dev/null | grep -oE '/[^ ]+' | grep -v '^/.*:$' | grep -v "^$ROOT" || true)
}
