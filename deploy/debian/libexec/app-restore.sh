# shellcheck shell=bash
# Brings an app back from its archive. Sourced by `app`, not run.
# All changes of the database are one transaction. Bytes of files are written before it, and removed if it is certain that it
# failed.
# shellcheck disable=SC2154  # `work`, `key` and the options are set by `app`

# restore FILE
restore() {
    local file=$1 manifest=$work/manifest.json app exists environments
    [[ -z $from || -n $environment ]] || die "--from needs --environment"
    connect
    verify "$file" > /dev/null
    app=$(read_json "$manifest" .app.id)
    exists=$(query "SELECT count(*) FROM auth.apps WHERE id = '$app'")
    read_tables "$work/tables.json"
    check_versions
    environments=${environment:-live test}
    [[ $exists == 1 || -z $environment ]] || die "the server does not have app $app: restore both environments, without --environment"
    [[ $from != "$environment" ]] || from=
    [[ -z $from ]] || check_spaces "$app"
    say_plan "$app"
    [[ -z $dry_run ]] || return 0
    confirm "Replace the data of $app, $environments, with that of the archive?"
    extract "$file"
    wait_for_rollups
    keep_bytes "$app"
    close_app "$app"
    put_files "$app"
    if [[ -n $from ]]; then write_copy_script "$app"; else write_restore_script "$app"; fi
    commit_restore
    undo=(open_app)
    # A sweep that had begun to remove bytes before `keep_bytes` may have removed some of these.
    put_missing_files "$app" || die "the rows are restored, but bytes of files are missing: run the same command again"
    say "restored $app ($environments${from:+ from $from}): $(tail -n 1 "$work/counted")"
    say_of_erasures "$app"
    [[ $(query "SELECT archived IS NULL FROM auth.apps WHERE id = '$app'") == t || -n $closed ]] ||
        say "the app is still out of use, as it was before the restore: POST /admin/apps/$app/restore"
    say "restart the services: they cache what was replaced. Clients that follow changes start over once (410)"
}

# The archive holds users who were erased after it was made, or just then.
say_of_erasures() {
    local erased
    [[ -z $from ]] || return 0
    erased=$(query "SELECT count(*) FROM auth.receipts WHERE app_id = '$1'
        AND environment = ANY (string_to_array('$environments', ' ')) AND coalesce(finished, 'infinity') > '$(read_json "$work/manifest.json" .created)'")
    (($(date +%s) - $(date -d "$(read_json "$work/manifest.json" .created)" +%s) < 90 * 86400)) ||
        say "the archive is older than 90 days, and receipts of erased users are kept only that long: some erased users may be missing here"
    ((erased == 0)) || say "$erased users were erased since the archive was made. They are back: erase them again"
}

confirm() {
    local answer=
    [[ -z $yes ]] || return 0
    read -r -p "$1 Type yes: " answer || true
    [[ $answer == yes ]] || die "nothing was changed"
}

# An older archive is brought up to date by the services; a newer one would lose what this version does not know.
check_versions() {
    local newer version here
    version=$(read_json "$work/manifest.json" .version) here=$(server_version)
    [[ $(printf '%s\n' "$version" "$here" | sort -V | tail -n 1) == "$here" ]] ||
        die "the archive was written by version $version, and this is $here: upgrade this server first"
    read_migrations > "$work/here.json"
    newer=$(jq -r --slurpfile here "$work/here.json" '[.migrations | to_entries[] | select(.value > ($here[0][.key] // 0)) | .key] | join(" ")' "$work/manifest.json")
    [[ -z $newer ]] || die "the archive was written with newer tables of $newer: upgrade this server first"
    newer=$(jq -r --slurpfile here "$work/tables.json" '[.tables[] | select(.environment == null or .policy != "space") | .name] - [$here[0][].name] | join(" ")' "$work/manifest.json")
    [[ -z $newer ]] || die "this version no longer has the tables $newer"
}

# check_spaces APP: both must have the same version of the schema, because some tables keep the rows that they have.
check_spaces() {
    local there here
    there=$(read_json "$work/manifest.json" ".spaces.$from.version // empty")
    here=$(query "SELECT version FROM storage.spaces WHERE schema = '$(schema_of "$1" "$environment")'")
    [[ -n $there ]] || die "the archive has no $from environment in storage"
    [[ -n $here ]] || die "the environment $environment of $1 has not been used yet: read from it once"
    [[ $there == "$here" ]] || die "the archive's collections have version $there, those of $environment $here: restore $from itself"
}

# say_plan APP: rows in the archive and on the server, by service.
say_plan() {
    local name
    for name in $environments; do
        echo "environment $name of $1${from:+, from $from}     in the archive   on the server"
        { rows_there "${from:-$name}"; rows_here "$1" "$name"; } | awk -F '\t' '{ rows[$2 " " $1] += $3; services[$2] }
            END { for (service in services) printf "  %-30s %12d %12d\n", service, rows[service " there"], rows[service " here"] }' | sort
    done >&2
    [[ -z $dry_run ]] || say "dry run: nothing was changed"
}

# rows_there ENVIRONMENT: lines of "there", service, rows.
rows_there() {
    read_json "$work/manifest.json" '.tables[] | select(.environment == $name and (.policy == "space" or $from == ""))
        | ["there", (.name | split(".")[0]), .rows] | @tsv' --arg name "$1" --arg from "$from"
}

# rows_here APP ENVIRONMENT: the same of the server.
rows_here() {
    {
        [[ -n $from ]] || read_json "$work/tables.json" '.[] | select(.policy | IN("replace", "merge", "same"))
            | "SELECT \u0027here\u0027, \u0027\(.name | split(".")[0])\u0027, count(*) FROM \(.quoted) WHERE \(.condition);"'
        cat << 'SQL'
SELECT format('SELECT ''here'', ''space'', count(*) FROM %s', c.oid::regclass) FROM pg_class AS c
WHERE c.relkind = 'r' AND c.relnamespace = to_regnamespace('@schema') \gexec
SQL
    } | fill "$1" "$2" | database -F $'\t'
}

# commit_restore: runs the script. If the connection is lost at the end, the database knows whether the restore is committed.
commit_restore() {
    (cd "$work" && database -f restore.sql > "$work/counted") && return
    case $(outcome) in
        committed) say "the connection was lost after the database had committed the restore" ;;
        aborted) die "the database refused the archive; nothing was changed" ;;
        *)
            # Rows and bytes may or may not belong together now: clients stay out.
            undo=()
            die "the connection was lost, and whether the restore is committed is not known; the app stays out of use: run the same command again"
            ;;
    esac
}

# outcome: what became of the script's transaction: committed, aborted, or unknown. Waits half a minute for the database.
outcome() {
    local number status end=$((SECONDS + 30))
    number=$(cat "$work/transaction" 2> /dev/null || true)
    [[ $number =~ ^[0-9]+$ ]] || { echo aborted; return; }
    while ((SECONDS < end)); do
        status=$(query "SELECT pg_xact_status('$number'::xid8)" 2> /dev/null || true)
        [[ ! $status =~ ^(committed|aborted)$ ]] || { echo "$status"; return; }
        sleep 1
    done
    echo unknown
}

# extract FILE [rows]: all of it, or all but the bytes of files. What the manifest lists was compared with it before, and age
# allows no other content now.
extract() {
    local needed free options=() list=files.sha256 bytes=0
    if [[ -n ${2:-} ]]; then
        options=(--anchored --exclude=files --exclude=analytics) list=/dev/null
        bytes=$(read_json "$work/manifest.json" .files.bytes)
    fi
    needed=$(($(stat -L -c %s "$1") - bytes + 1048576))
    free=$(df --output=avail -B1 "$work" | tail -n 1)
    ((free > needed)) || die "$work needs $((needed >> 20)) MiB, and $((free >> 20)) MiB are free: see TMPDIR"
    mkdir "$work/archive"
    open_archive "$1" | tar -x -f - -C "$work/archive" --no-same-owner "${options[@]}"
    (cd "$work/archive" && members manifest.json "$list" | sha256sum --check --quiet --strict -) >&2 ||
        die "the archive changed while it was read"
    # An environment that was never used has no tables.
    mkdir -p "$work/archive/sql" "$work/archive/rows"
    mv "$work/archive/sql" "$work/archive/rows" "$work/"
}

# Roll-ups read the events of the last minute again, and would count those twice that are already counted in the archive.
wait_for_rollups() {
    local seconds
    seconds=$(read_json "$work/manifest.json" 'if .lastEvent then (.lastEvent[0:19] + "Z" | fromdate) + 90 - now | ceil else 0 end')
    ((seconds <= 0)) || { say "waiting $seconds s, because the archive has events of its last minute"; sleep "$seconds"; }
}

# --- clients stay out meanwhile ---

# close_app APP: gateways refuse the app's keys within two seconds, as for an app that is out of use.
close_app() {
    closed=$(query "UPDATE auth.apps SET archived = now() WHERE id = '$1' AND archived IS NULL RETURNING id")
    [[ -z $closed ]] || undo+=(open_app)
    [[ -z $closed ]] || sleep 3
}

open_app() { [[ -z $closed ]] || query "UPDATE auth.apps SET archived = NULL WHERE id = '$closed'"; closed=; }
