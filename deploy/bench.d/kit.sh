# shellcheck shell=bash
# deploy/bench kit. Sourced by deploy/bench.

settings() {
    # Built every time, as the programs are: an old one would measure an old MartletKit.
    if [[ -z ${BENCH_PROGRAMS:-} ]]; then
        swift build --package-path "$root" -j "$(nproc)" --product examples "${release_options[@]}" >&2
    fi
    [[ -x $release/examples ]] || die "$release has no examples in it"
}

run_kit() {
    local status=0
    printf '\n%s cores\n\n' "$(nproc)"
    "$release/examples" offline-load --connection "$connection" || status=1
    "$release/examples" sportlook-load "${BENCH_PEOPLE:-1000}" --connection "$connection" || status=1
    return "$status"
}
