# Provides a root file system without Terrace, for package tests; sourced after common.sh. Defines: bare_root
# [PACKAGES], which makes $root with these packages of the distribution; in_root COMMAND, which runs a line of shell
# there as root. The first call needs root, debootstrap and the distribution's mirror, and skips the test without
# them; later calls use the copy in the build folder.
skip() { echo "skipped: $*"; exit 77; }

[[ $(id -u) == 0 ]] || skip "a bare system can be made by root alone"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
# A mount namespace of its own: all mounts are gone when the test ends, however it ends.
if [[ -z ${TERRACE_OWN_MOUNTS:-} ]]; then
  unshare -m true 2>/dev/null || skip "no mount namespace of its own can be had here"
  TERRACE_OWN_MOUNTS=1 exec unshare -m bash "$0" "$@"
fi

readonly root=$work/root
# The distribution's smallest system, which is made once for all tests: the second one waits for it.
debootstrapped() {
  local base=$TERRACE_BUILD/bare-root.tar suite
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  exec 9>"$base.lock"
  flock 9
  if [[ -e $base ]]; then
    tar -C "$root" -xf "$base"
  else
    debootstrap --variant=minbase "$suite" "$root" >"$work/debootstrap.log" 2>&1 ||
      skip "debootstrap could not make a system; its words are in $work/debootstrap.log"
    tar -C "$root" -cf "$base.$$" . && mv "$base.$$" "$base"
  fi
  exec 9>&-
}
bare_root() {
  local archive
  mkdir -p "$root"
  mount -t tmpfs -o mode=755 terrace-test "$root"
  archive=$TERRACE_BUILD/bare-root$(printf -- '-%s' "$@").tar
  if [[ ! -e $archive ]]; then
    debootstrapped
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    in_root "apt-get -qq update && apt-get -qq install -y --no-install-recommends $* && apt-get clean" >"$work/packages.log" 2>&1 ||
      skip "the packages cannot be fetched; the words of apt are in $work/packages.log"
    # Two tests may make the same one: each writes its own, and the last stays.
    tar -C "$root" -cf "$archive.$$" . && mv "$archive.$$" "$archive"
  else
    tar -C "$root" -xf "$archive"
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  fi
}

in_root() {
  unshare -m bash -c 'mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" &&
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      chroot "$1" bash -euo pipefail -c "$2"' - "$root" "$1"
}
