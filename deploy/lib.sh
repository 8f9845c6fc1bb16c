# shellcheck shell=bash
# What up, down, test, bench and others share. Sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
services=(auth storage config analytics notifications)
programs=(gateway "${services[@]}" martlet)
state=${MARTLET_STATE:-$root/.martlet}

# Options for every build. Backtraces need only names, and only editors need an index; without line numbers and index a build takes a fifth less time.
# MARTLET_BUILD has further arguments, such as "-debug-info-format dwarf".
read -ra build_options <<< "-debug-info-format none --disable-index-store ${MARTLET_BUILD:-}"

# For debug builds: see Package.swift.
export SWIFT_OPTIMIZE_SHARED=1

# Options for release builds, to make programs small: each function has its own section, and the linker leaves out functions that nothing calls.
# Packed relocations save 2 MB in `martlet`; the loader understands them since glibc 2.36 (Debian 12). The linker also keeps only one
# of functions with the same code (--icf), which saves 4 MB. So nothing may depend on the addresses of functions.
release_options=(
    -c release "${build_options[@]}"
    -Xswiftc -Xfrontend -Xswiftc -function-sections -Xcc -ffunction-sections -Xcc -fdata-sections
    -Xswiftc -use-ld=lld -Xlinker -z -Xlinker pack-relative-relocs -Xlinker --icf=all
)

say() { printf '\033[1m%s\033[0m\n' "$*" >&2; }
die() { printf 'martlet: %s\n' "$*" >&2; exit 1; }

# Prints a port on which no process listens, above the range from which the kernel assigns ports to clients.
free_port() {
    local port
    while port=$((61000 + RANDOM % 4000)); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
}

# Ends processes that the script has started, and waits for them.
# end_processes PROCESS…
end_processes() {
    local process
    for process in "$@"; do
        kill "$process" 2>/dev/null || true
        wait "$process" 2>/dev/null || true
    done
}

# Waits until a process that we started has written to a file.
# await_file FILE PROCESS LOG
await_file() {
    local tenths
    for ((tenths = 0; tenths < 3000; tenths++)); do
        [[ -s $1 ]] && return
        kill -0 "$2" 2>/dev/null || break
        sleep 0.1
    done
    cat "$3" >&2
    die "${1##*/} did not appear"
}

# Installs the Debian packages among its arguments that are missing. Needs root only when some are.
need_packages() {
    local missing=() name
    for name in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) == installed ]] || missing+=("$name")
    done
    ((${#missing[@]} == 0)) && return
    say "installing ${missing[*]}"
    local run=()
    ((EUID == 0)) || run=(sudo)
    "${run[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${run[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
    # Debian starts a cluster of its own with the package; ours runs independently beside it.
}

need_build_packages() {
    command -v swift >/dev/null || die "a Swift 6.2 or newer toolchain must be on PATH (https://swift.org/install)"
    need_packages postgresql libpq-dev libssl-dev libargon2-dev libcrypt-dev libcurl4-openssl-dev zlib1g-dev libbrotli-dev libzstd-dev pkg-config ca-certificates curl jq util-linux libvips-tools llvm
}

# For deploy/dashboard.
need_dashboard_packages() {
    need_packages esbuild node-typescript node-react node-react-dom brotli fonts-inter fonttools python3-brotli python3-yaml
}

# Builds the programs in one release build. Prints nothing if there is nothing to do.
build_release() {
    say "building: about 10 minutes on two cores the first time, a minute or two after a change"
    local program
    # martlet comes first: it contains every service, so they are compiled in parallel and not one after the other.
    for program in martlet "${programs[@]}"; do
        swift build --package-path "$root" -j "$(nproc)" --product "$program" "${release_options[@]}" >&2
    done
    release=$(swift build --package-path "$root" -c release --show-bin-path)
}

# package FOLDER: copies the programs that build_release built to FOLDER/bin, without symbols, and the Swift libraries they load to FOLDER/lib.
# The programs look for libraries there instead of in the toolchain's folder. `martlet` has the code of all services, and acts as
# a service when it is run under that name.
package() {
    local program library
    mkdir -p "$1/bin" "$1/lib"
    for program in martlet gateway; do package_program "$release/$program" "$1"; done
    for program in "${services[@]}"; do ln -sf martlet "$1/bin/$program"; done
    # For crash reports: 9 MB, where Debian's `llvm` takes 150 MB and has no swift-demangle.
    local toolchain
    toolchain=$(swift -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')/../../bin
    for program in llvm-symbolizer swift-demangle; do
        if [[ -x $toolchain/$program ]]; then
            package_program "$toolchain/$program" "$1"
        else
            say "the toolchain has no $program: crash reports need another toolchain"
        fi
    done
    for library in $(ldd "$release"/{martlet,gateway} | awk '$3 ~ "/swift/linux/" { print $3 }' | sort -u); do
        strip --strip-unneeded -o "$1/lib/${library##*/}" "$library"
    done
}

# package_program PROGRAM FOLDER
package_program() {
    strip --strip-unneeded -o "$2/bin/${1##*/}" "$1"
    # shellcheck disable=SC2016  # for the loader
    patchelf --set-rpath '$ORIGIN/../lib' "$2/bin/${1##*/}"
}

# Whether a supervisor runs in the state folder: it holds a lock on this file for as long as it lives.
is_running() {
    [[ -e $state/run/supervisor.pid ]] && ! flock -n "$state/run/supervisor.pid" true
}

# find_promtool FOLDER: prints the path of promtool. Where it is missing, it is unpacked into FOLDER and not installed.
find_promtool() {
    command -v promtool && return
    (cd "$1" && apt-get download prometheus && dpkg-deb --extract prometheus_*.deb prometheus) > /dev/null 2>&1 &&
        echo "$1/prometheus/usr/bin/promtool"
}
