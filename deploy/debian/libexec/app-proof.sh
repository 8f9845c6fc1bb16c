# shellcheck shell=bash
# Proves that archives of apps restore: into a separate PostgreSQL cluster, beside the server. Sourced by `app`, not run. It has
# the tables of the server, empty, and takes the rows like a server that does not have the app. Each table is compared with the
# manifest. The bytes of files are compared while the archive is read; they are not written.
# shellcheck disable=SC2154,SC2034  # `archives`, `work` and the options are set by `app`

scratch=$records/app-scratch
proof=
# could_not_try: the exit status of a proof that failed for a reason other than the archive, such as a full disk. untried: set
# while a failure has such a reason.
could_not_try=75 untried=1

# prove_archives [APP|ID]: the latest archive of each app, or of one, or that archive.
prove_archives() {
    local ids id result is_restored=false is_bad='' has_failed='' start status found
    entries "${1%%-*}" > "$work/entries"
    mapfile -t ids < <(jq -r --arg id "$1" 'map(select(.result == "good"))
        | if ($id | contains("-")) then .[] | select(.id == $id) else group_by(.app)[] | .[-1] end | .id' "$work/entries")
    if ((${#ids[@]} == 0)); then
        [[ -z $1 ]] || die "there is no archive of $1"
        say "there is no archive to prove"
        return
    fi
    connect
    ! can_restore || is_restored=true
    for id in "${ids[@]}"; do
        result=good start=$SECONDS status=0
        [[ $is_restored == true ]] || result='read'
        (
            child=
            trap end_proof EXIT
            trap 'exit 130' INT
            trap stop TERM HUP
            prove "$id" "$is_restored"
        ) &
        child=$!
        wait "$child" || status=$?
        child=
        case $status in
            0) ;;
            "$could_not_try" | 129 | 1[3-9]?) result=failed has_failed=1 ;;
            *) result=bad is_bad=1 ;;
        esac
        found=$(jq -c --arg result "$result" --argjson isRestored "$is_restored" --argjson seconds $((SECONDS - start)) \
            '{id, app, rows, time: (now | todate), result: $result, isRestored: $isRestored, seconds: $seconds}' "$archives/$id.json")
        keep_proof "$id" "$found"
        summarize
    done
    [[ -z $is_bad ]] || die "an archive does not restore to what was archived; see above"
    [[ -z $has_failed ]] || die "a proof could not be carried out; see above"
}

# keep_proof ID PROOF: with the archive, and as the app's last one and last good one, which stay when the archive is deleted.
# An archive that was restored once stays proved until a proof finds it bad.
keep_proof() {
    local file=$archives/${1%%-*}.proof
    jq -c --argjson proof "$2" 'if .proof.result == "good" and ($proof.result | IN("read", "failed")) then . else .proof = $proof end' \
        "$archives/$1.json" | record "$1"
    [[ -s $file ]] || echo '{}' > "$file"
    jq -c --argjson proof "$2" '.last = $proof | if $proof.result == "good" then .good = $proof else . end' "$file" |
        write_private "$file" "$EUID" 0600
}

# prove ID IS_RESTORED
prove() {
    local app environments='live test' environment='' from='' exists=0
    proof=$(mktemp -d "$work/proof.XXXXXX")
    work=$proof
    need_key
    untried=
    verify "$archives/$1.age" > /dev/null
    [[ $2 == true ]] || { say "$1 was read but not restored: PostgreSQL's server is not on this machine, or is too old"; return; }
    untried=1
    app=$(read_json "$work/manifest.json" .app.id)
    read_tables "$work/tables.json"
    check_versions
    extract "$archives/$1.age" rows
    has_room
    copy_structure
    start_scratch
    on_scratch database -f "$work/structure.sql" > /dev/null
    write_restore_script "$app"
    untried=
    (cd "$work" && on_scratch database -f restore.sql > counted)
    say "$1 restores: $(tail -n 1 "$work/counted")"
}

end_proof() {
    local status=$?
    trap '' INT TERM HUP
    trap - EXIT
    stop_scratch "$scratch" || say "could not remove $scratch"
    [[ -z $proof ]] || rm -rf "$proof"
    ((status == 0 || status > 128)) || [[ -z $untried ]] || status=$could_not_try
    exit "$status"
}

# The programs of the newest PostgreSQL server on this machine. Client programs may be newer.
postgres_programs() { dirname "$(printf '%s\n' /usr/lib/postgresql/*/bin/initdb | sort -V | tail -n 1)"; }

can_restore() {
    local programs number
    programs=$(postgres_programs)
    [[ -x $programs/initdb ]] || return 1
    number=$(query 'SHOW server_version_num') || die "the database does not answer"
    (($(cut -d / -f 5 <<< "$programs") >= number / 10000))
}

# Rows are compressed in the archive, and have indexes in the database.
has_room() {
    local needed free
    needed=$(($(du -sb "$work/rows" | cut -f 1) * 20 + (1 << 29)))
    free=$(df --output=avail -B1 "$records" | tail -n 1)
    ((free > needed)) || die "a proof needs up to $((needed >> 20)) MiB in $records, and $((free >> 20)) MiB are free"
}

# Writes the structure of the server's own schemas, and the names of its roles.
copy_structure() {
    query "SELECT format('CREATE ROLE %I;', rolname) FROM pg_roles WHERE rolname !~ '^(pg_|app_)' AND rolname <> 'postgres'" > "$work/structure.sql"
    pg_dump --schema-only --exclude-schema='app_*' --no-owner --no-privileges --no-tablespaces --no-publications --no-subscriptions \
        --no-security-labels >> "$work/structure.sql"
    sed -i "$newer_settings" "$work/structure.sql"
}

# It listens on a socket only, in a folder that only its user and root may enter.
start_scratch() {
    local programs
    programs=$(postgres_programs)
    stop_scratch "$scratch"
    install -d -m 0700 "$scratch"
    ((EUID != 0)) || chown postgres: "$scratch"
    as_owner "$programs/initdb" -D "$scratch/data" -U postgres --auth=trust --encoding=UTF8 --locale=C.UTF-8 --no-sync > /dev/null
    cat >> "$scratch/data/postgresql.conf" << END
listen_addresses = ''
unix_socket_directories = '$scratch'
port = 5432
max_connections = 10
max_locks_per_transaction = 4096
shared_buffers = 64MB
wal_level = minimal
max_wal_senders = 0
fsync = off
full_page_writes = off
autovacuum = off
log_min_error_statement = panic
log_parameter_max_length_on_error = 0
END
    as_owner "$programs/pg_ctl" -D "$scratch/data" -l "$scratch/log" -t 600 -w start > /dev/null 9>&- ||
        { tail -n 5 "$scratch/log" >&2; die "the PostgreSQL of the proof does not start"; }
}

# on_scratch COMMAND…: with libpq's variables for the cluster of the proof.
on_scratch() { PGHOST=$scratch PGPORT=5432 PGUSER=postgres PGPASSWORD='' PGDATABASE=postgres PGSSLMODE=disable "$@"; }
