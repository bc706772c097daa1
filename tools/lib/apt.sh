# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the set-up needs from Debian's package tools. Only as_root changes the
# system; the rest runs as any user.

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo > /dev/null; then
		sudo "$@"
	else
		die "needs root for: $* (and there is no sudo)"
	fi
}

# listed PURPOSE...: the packages that tools/packages lists for them
listed() {
	awk -v want=" $* " 'index(want, " " $1 " ") { print $2 }' "$ROOT/tools/packages" | sort -u
}

# Prints those of its arguments that are not installed.
missing() {
	local p

	for p; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>&1)" = installed ] ||
			printf '%s\n' "$p"
	done
}

# What the package's newest version depends on, one name a line.
depends() {
	apt-cache depends --no-recommends --no-suggests --no-conflicts \
		--no-breaks --no-replaces --no-enhances "$1" 2> /dev/null |
		sed -n 's/^ .*Depends: //p'
}

# The newest version of a package that the lists know.
newest_version() {
	apt-cache show --no-all-versions "$1" 2> /dev/null |
		sed -n 's/^Version: //p' | grep .
}

# Runs a command that reads the package lists; if it fails, fetches new lists
# and tries once more.
with_lists() {
	"$@" 2> /dev/null && return
	if [ -z "${LISTS_FRESH:-}" ]; then
		say "fetching the package lists (apt-get update)"
		as_root apt-get update -qq || say "apt-get update complained"
		LISTS_FRESH=1
	fi
	"$@"
}

# apt_lists FOLDER ARCHITECTURE SUITE...: lists of packages of these suites alone, in a folder,
# for programs that find $FOLDER/apt.conf in APT_CONFIG: for this machine, and for the architecture
# if that is another. Where they are is told by where this release is.
apt_lists() {
	local folder=$1 architecture=$2 codename uri suite

	shift 2
	# shellcheck source=/dev/null
	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	# shellcheck disable=SC2016 # for apt-get to expand
	uri=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $codename" \
		'Label: Debian' 'Created-By: Packages' | head -n 1)
	[ -n "$uri" ] || return
	mkdir -p "$folder/lists/partial" || return
	for suite; do
		echo "deb $uri $suite main"
	done > "$folder/sources"
	cat > "$folder/apt.conf" <<-EOF
		Dir::Etc::SourceList "$folder/sources";
		Dir::Etc::SourceParts "-";
		Dir::State::Lists "$folder/lists";
		Dir::Cache::PkgCache "";
		Dir::Cache::SrcPkgCache "";
		APT::Sandbox::User "root";
		APT::Architectures { "$(dpkg --print-architecture)"; "$architecture"; };
	EOF
	APT_CONFIG=$folder/apt.conf apt-get update -qq 2> /dev/null
}

# install_packages NAME...: on the system, by apt-get. Its many lines are shown only if
# it fails.
install_packages() {
	local log status

	log=$(mktemp) || return
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq -o DPkg::Lock::Timeout=300 \
		--no-install-recommends "$@" < /dev/null > "$log" 2>&1
	status=$?
	[ $status -eq 0 ] || cat "$log" >&2
	rm "$log"
	return $status
}

# What apt-get would fetch, one file a line: its address, its name, its size.
# uris_to_install NAME...; uris_to_download NAME[=VERSION]...
uris_to_install() {
	[ $# -eq 0 ] || apt-get install -qq --print-uris --no-install-recommends "$@"
}

uris_to_download() {
	[ $# -eq 0 ] || apt-get download -qq --print-uris "$@"
}

# fetch_packages FOLDER NAME[=VERSION]...: unpacks them into FOLDER, without
# running or registering anything.
fetch_packages() {
	local into=$1 debs

	shift
	debs=$into/debs
	mkdir -p "$debs"
	(cd "$debs" && apt-get download -qq -o APT::Sandbox::User= "$@") || return
	for deb in "$debs"/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" |
			tar -x -C "$into" --keep-directory-symlink || return
	done
	rm -rf "$debs"
}

# fetch_source FOLDER NAME: a source package's files, as they were published. The
# system's lists need not know sources: these come from where its packages do.
fetch_source() {
	local into=$1 name=$2 options

	mkdir -p "$into/lists/partial" "$into/archives/partial" || return
	# shellcheck disable=SC2016 # for apt-get to expand
	apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' 'Origin: Debian' | sort -u > "$into/sources.list"
	options=(-qq -o APT::Sandbox::User= -o Dir::Cache="$into"
		 -o Dir::State::Lists="$into/lists"
		 -o Dir::Etc::SourceList="$into/sources.list" -o Dir::Etc::SourceParts=/dev/null)
	apt-get "${options[@]}" update &&
	(cd "$into" && apt-get "${options[@]}" source --download-only "$name")
}
