# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Kernels for scripts/vm: which there are, where they come from, and what of
# them is kept. Sourced; wants $VM (the cache folder), say and die.
#
# apt itself does every transfer, with the proxies, credentials and keyrings this
# machine is configured with, but with lists, caches and a list of sources of
# its own: the only thing taken from the configuration is the mirror's address,
# the only thing changed is the name of the suite. Nothing is installed.

# name, suite. The newest version a suite's index names is taken.
vm_kernels='5.10 bullseye
6.1 bookworm
6.12 trixie
newest sid'

# Loaded in every guest, and there to be loaded: a namespace's init functions
# are as many as on a machine that has been up for a while.
vm_modules='virtio_pci virtio_console virtio_blk ipv6 af_packet veth dummy bridge tun vlan 8021q
macvlan ipip sit ip_gre ip6_gre ip6_tunnel vxlan bonding nf_conntrack nf_tables nft_compat nf_nat ip_tables
ip6_tables iptable_filter iptable_nat ip6table_filter x_tables xfrm_user nf_conntrack_netlink
nf_defrag_ipv4 nf_defrag_ipv6'

kernel_suite() {
	awk -v k="$1" '$1 == k { print $2; found = 1 } END { exit !found }' <<<"$vm_kernels"
}

# Mirrors, one "main URI" or "security URI" a line, as apt's configuration has
# them for the release this machine runs.
kernel_mirrors() {
	local codename
	# shellcheck disable=SC1091
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	# apt fills these in, not the shell.
	# shellcheck disable=SC2016
	apt-get indextargets --no-release-info --format '$(CREATED_BY) $(RELEASE) $(COMPONENT) $(REPO_URI)' |
		awk -v c="$codename" '
			$1 != "Packages" || $3 != "main" { next }
			$2 == c || $2 ~ /^(stable|testing|unstable|sid)$/ { if (!m++) print "main", $4 }
			$2 == c "-security" || $2 == "stable-security" { if (!s++) print "security", $4 }'
}

# apt with everything of its own but what says how to reach and trust a mirror.
kernel_apt() {
	local tool=$1 home=$2
	shift 2
	"$tool" -o Dir::Etc::SourceList="$home/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
		-o Dir::State="$home/state" -o Dir::State::Status=/dev/null \
		-o Dir::Cache="$home/cache" -o APT::Default-Release= -o APT::Sandbox::User=root \
		-o APT::Get::List-Cleanup=false -o Acquire::Languages=none -o Acquire::Retries=2 "$@"
}

# kernel_index HOME SUITE: the suite's index, and its updates where there are any. Leaves HOME/sources.list
# with what could be read, and a line in HOME/notes for what could not be checked.
kernel_index() {
	local home=$1 suite=$2 kind uri name line opt good=''
	local key=/usr/share/keyrings/debian-archive-keyring.gpg
	mkdir -p "$home/state/lists/partial" "$home/cache/archives/partial"
	: >"$home/notes"
	opt=''
	[ ! -r "$key" ] || opt="signed-by=$key"
	while read -r kind uri; do
		case $kind:$suite in
		main:*) name=$suite ;;
		security:sid) continue ;;
		security:*) name=$suite-security ;;
		esac
		line="deb [$opt] $uri $name main"
		[ -n "$opt" ] || line="deb $uri $name main"
		echo "$line" >"$home/sources.list"
		if kernel_apt apt-get "$home" -qq update >"$home/update.log" 2>&1 &&
			! grep -q '^[WE]:' "$home/update.log"; then
			good+=$line$'\n'
			continue
		fi
		# Without the key the packages are still checked against the index that was fetched.
		line="deb [allow-insecure=yes] $uri $name main"
		echo "$line" >"$home/sources.list"
		if kernel_apt apt-get "$home" -qq update >>"$home/update.log" 2>&1; then
			good+=$line$'\n'
			echo "the signature of $name could not be checked; packages only against its index" >>"$home/notes"
		fi
	done < <(kernel_mirrors)
	printf '%s' "$good" >"$home/sources.list"
	[ -n "$good" ]
}

# The packages a kernel is made of: the meta package's image, and what of the same
# build that one depends on (since 6.17 image, binary, modules and base are apart).
kernel_packages() {
	local home=$1 queue=$2 seen=' ' pkg dep out=''
	while [ -n "$queue" ]; do
		pkg=${queue%%$'\n'*}
		queue=${queue#"$pkg"}
		queue=${queue#$'\n'}
		[[ $seen != *" $pkg "* ]] || continue
		seen+="$pkg "
		dep=$(kernel_apt apt-cache "$home" show --no-all-versions "$pkg" 2>/dev/null |
			sed -n 's/^\(Pre-\)\{0,1\}Depends: //p' | tr ',|' '\n' | awk '{ print $1 }' |
			grep -E '^linux-(image|binary|modules|base)-[0-9]' || true)
		[[ $pkg == linux-image-cloud-* ]] || out+=$pkg$'\n'
		queue+=${dep:+${queue:+$'\n'}$dep}
	done
	printf '%s' "$out"
}

# kernel_fetch NAME: $VM/kernel/NAME with vmlinuz, config, version, release, modules.cpio, notes. Nothing
# is done when the newest version is there already.
kernel_fetch() {
	local name=$1 suite home pkgs version have dir new deb
	suite=$(kernel_suite "$name") || die 2 "no kernel \"$name\": scripts/vm --list names them"
	[ "$(uname -m)" = x86_64 ] || die 1 "kernels are booted on x86_64 only, this is $(uname -m)"
	command -v apt-get >/dev/null || die 1 "kernel $name: no apt-get here to fetch it with"
	home=$VM/apt/$suite
	dir=$VM/kernel/$name
	kernel_index "$home" "$suite" ||
		die 1 "kernel $name: the configured mirror does not offer the suite $suite ($(
			grep -m1 '^[EW]:' "$home/update.log" 2>/dev/null || echo 'no Debian mirror in the configuration of apt')); fetch it where it does"
	version=$(kernel_apt apt-cache "$home" show --no-all-versions linux-image-cloud-amd64 2>/dev/null |
		sed -n 's/^Version: //p' | head -n 1)
	[ -n "$version" ] || die 1 "kernel $name: the suite $suite has no linux-image-cloud-amd64"
	pkgs=$(kernel_packages "$home" linux-image-cloud-amd64)
	[ -n "$pkgs" ] || die 1 "kernel $name: linux-image-cloud-amd64 $version of $suite names no image"
	have=$(cat "$dir/version" 2>/dev/null || true)
	if [ "$have" = "$version" ] && [ "$(cat "$dir/modules.list" 2>/dev/null)" = "$vm_modules" ]; then
		say "kernel $name: $version is the newest of $suite"
		return
	fi
	say "kernel $name: fetching ${pkgs//$'\n'/ } ($version of $suite)"
	new=$dir.new
	rm -rf "$new"
	mkdir -p "$new/deb" "$new/root"
	# apt checks each package against the index; a failure names what did not fit.
	# shellcheck disable=SC2086
	(cd "$new/deb" && kernel_apt apt-get "$home" -qq download $pkgs) >"$home/download.log" 2>&1 ||
		die 1 "kernel $name: $(grep -m1 '^[EW]:' "$home/download.log" || echo 'apt-get download failed')"
	for deb in "$new"/deb/*.deb; do
		dpkg-deb -x "$deb" "$new/root" || die 1 "kernel $name: cannot unpack ${deb##*/}"
	done
	kernel_keep "$name" "$new"
	echo "$version" >"$new/version"
	echo "$vm_modules" >"$new/modules.list"
	cp "$home/notes" "$new/notes"
	rm -rf "$new/deb" "$new/root" "$dir"
	mv "$new" "$dir"
	say "kernel $name: $(cat "$dir/release"), $version"
	[ ! -s "$dir/notes" ] || say "kernel $name: $(cat "$dir/notes")"
}

# Of what was unpacked below $2/root: the kernel, its options, and the modules
# of the list with what they need, made plain and indexed.
kernel_keep() {
	local name=$1 new=$2 release image tree stage queue mod file dep seen=' '
	image=$(find "$new/root" -path '*/boot/vmlinuz-*' -o -path '*/lib/modules/*/vmlinuz' | head -n 1)
	[ -n "$image" ] || die 1 "kernel $name: no vmlinuz in its packages"
	tree=$(find "$new/root" -type d -path '*/lib/modules/*' -name kernel | head -n 1)
	[ -n "$tree" ] || die 1 "kernel $name: no modules in its packages"
	release=$(basename "$(dirname "$tree")")
	cp "$image" "$new/vmlinuz"
	cp "$(find "$new/root" -name "config-$release" -o -path "*/$release/config" | head -n 1)" "$new/config" ||
		die 1 "kernel $name: no configuration in its packages"
	echo "$release" >"$new/release"

	stage=$new/stage/usr/lib/modules/$release
	mkdir -p "$stage/kernel"
	find "$(dirname "$tree")" -maxdepth 1 -name 'modules.builtin*' -exec cp {} "$stage" \;
	(cd "$tree" && find . -name '*.ko*') >"$new/files"
	queue=$vm_modules
	while [ -n "${queue//[[:space:]]/}" ]; do
		dep=''
		for mod in $queue; do
			mod=${mod//-/_}
			[[ $seen != *" $mod "* ]] || continue
			seen+="$mod "
			# A module's file may be spelt with dashes.
			file=$(grep -E "/${mod//_/[-_]}\.ko(\.[a-z0-9]+)?\$" "$new/files" | head -n 1) || continue
			mkdir -p "$(dirname "$stage/kernel/$file")"
			case $file in
			*.ko) cp "$tree/$file" "$stage/kernel/$file" ;;
			*.xz) xz -dc "$tree/$file" >"$stage/kernel/${file%.xz}" ;;
			*.zst) zstd -dcq "$tree/$file" >"$stage/kernel/${file%.zst}" ;;
			*.gz) gzip -dc "$tree/$file" >"$stage/kernel/${file%.gz}" ;;
			esac
			file=$stage/kernel/${file%.ko*}.ko
			dep+=" $(tr '\0' '\n' <"$file" | sed -n 's/^depends=//p' | head -n 1 | tr ',' ' ')"
		done
		queue=$dep
	done
	rm "$new/files"
	ln -s usr/lib "$new/stage/lib"
	busybox depmod -b "$new/stage" "$release" 2>/dev/null ||
		die 1 "kernel $name: busybox depmod cannot index the modules"
	mkdir -p "$new/stage/boot"
	cp "$new/config" "$new/stage/boot/config-$release"
	rm "$new/stage/lib"
	pack_cpio "$new/stage" "$new/modules.cpio"
	rm -rf "$new/stage"
}
