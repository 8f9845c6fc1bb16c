# shellcheck shell=bash
# deploy/bench kit. Sourced by deploy/bench.

settings() {
    [[ -x $release/examples ]] && return
    [[ -z ${BENCH_PROGRAMS:-} ]] || die "$BENCH_PROGRAMS has no examples in it"
    swift build --package-path "$root" -j "$(nproc)" --product examples "${release_options[@]}" >&2
}

run_kit() {
    local status=0
    printf '\n%s cores\n\n' "$(nproc)"
    "$release/examples" offline-load --connection "$connection" || status=1
    "$release/examples" sportlook-load "${BENCH_PEOPLE:-1000}" --connection "$connection" || status=1
    return "$status"
}
