# shellcheck shell=bash
# Writes an app's archive. Sourced by `app`, not run.
# An archive is a tar, encrypted by age: manifest.json, files.sha256, then sql/, rows/, and files/ and analytics/ with the bytes
# of files.
# shellcheck disable=SC2154  # `work`, `key` and the options are set by `app`

# back_up APP FILE
back_up() {
    local app=$1 to=$2
    check_app_id "$app"
    [[ -n $to ]] || die "--to FILE is missing"
    [[ ! -e $to ]] || die "$to already exists"
    connect
    [[ $(query "SELECT count(*) FROM auth.apps WHERE id = '$app'") == 1 ]] || die "there is no app $app"
    make_key
    read_tables "$work/tables.json"
    mkdir "$work/sql" "$work/rows"
    begin_snapshot
    plan_rows "$app"
    write_rows
    write_schemas "$app"
    list_files "$app"
    read_facts "$app"
    end_snapshot
    check_files
    write_manifest
    undo+=(remove_part)
    (cd "$work" && tar -c -f - --owner=0 --group=0 --mode=0600 --no-recursion --verbatim-files-from --files-from=members) |
        age --encrypt --recipients-file <(age-keygen -y "$key") > "$to.part"
    sync "$to.part"
    verify "$to.part" > /dev/null
    mv "$to.part" "$to"
    undo=()
}

remove_part() { rm -f "$to.part"; }

make_key() {
    [[ ! -e $key ]] || return 0
    age-keygen -o "$key" 2> /dev/null || die "could not create the key $key: see --key"
    say "created the key $key. Without it no archive can be read: keep a copy apart from the archives"
}

# --- one snapshot for everything: a session holds it, and all others use it ---

begin_snapshot() {
    coproc holder { database; }
    holder_input=${holder[1]} holder_process=$!
    echo "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET idle_in_transaction_session_timeout = 0; SELECT pg_export_snapshot();" >&"${holder[1]}"
    IFS= read -r -t 60 -u "${holder[0]}" snapshot || die "the database exported no snapshot"
}

end_snapshot() {
    exec {holder_input}>&-
    wait "$holder_process"
}

# Runs the script on standard input as of the snapshot, in the folder `work`.
in_snapshot() {
    (
        cd "$work"
        { row_settings; printf "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;\nSET TRANSACTION SNAPSHOT '%s';\n" "$snapshot"; cat; } | database
    )
}

# plan_rows APP: writes `plan.json`, what is to be archived: name, quoted, policy, level, environment, condition, columns, path.
plan_rows() {
    local environment
    for environment in live test; do
        fill "$1" "$environment" << 'SQL' | in_snapshot
SELECT coalesce(jsonb_agg(jsonb_build_object('name', 'space.' || c.relname, 'quoted', format('%I.%I', n.nspname, c.relname), 'level', 9,
    'policy', CASE WHEN c.relname IN ('_changes', '_idempotency', '_orphans', '_transfers', '_transfer_parts', '_thumbnails', '_role_guesses',
        '_hook_deliveries', '_hook_failures') THEN 'clear' ELSE 'space' END,
    'environment', '@environment', 'condition', 'true',
    'columns', (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute AS a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '')) ORDER BY c.relname), '[]')
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = '@schema' AND c.relkind = 'r';
SQL
        fill "$1" "$environment" < "$work/tables.json" | jq -c --arg environment "$environment" \
            '[.[] | select(.policy | IN("replace", "merge", "same")) | . + {environment: $environment}]'
    done > "$work/plans"
    fill "$1" live < "$work/tables.json" | jq -c '[.[] | select(.policy == "app") | . + {environment: null}]' >> "$work/plans"
    jq -s -c 'add | map(select(.policy != "clear")) | to_entries | map(.value + {path: "rows/\(.key + 1).zst"})' "$work/plans" > "$work/plan.json"
}

# Writes each table's rows, compressed, and a line for each table in `digests`: path, number of rows, checksum.
write_rows() {
    read_json "$work/plan.json" '.[] | [.path, .quoted, .columns, .condition] | @tsv' | while IFS=$'\t' read -r path table columns condition; do
        printf "\\\\copy (SELECT %s FROM %s WHERE %s) TO PROGRAM 'zstd -q -o %s'\n" "$columns" "$table" "$condition" "$path"
        printf "SELECT '%s', * FROM (%s) AS digest;\n" "$path" "$(digest "$table" "$columns" "$condition")"
    done > "$work/rows.sql"
    in_snapshot < "$work/rows.sql" > "$work/digests"
}

# Tables, indexes and triggers of the app's own schemas, without rows.
write_schemas() {
    local environment section
    for environment in live test; do
        [[ $(query "SELECT to_regnamespace('$(schema_of "$1" "$environment")') IS NOT NULL") == t ]] || continue
        for section in pre post; do
            pg_dump --snapshot="$snapshot" --schema-only --section="$section-data" --schema="$(schema_of "$1" "$environment")" \
                --no-tablespaces --no-publications --no-security-labels --file="$work/sql/$environment-$section.sql"
        done
    done
}

# Lists the bytes of files: `wanted`, paths in the archive, and `known`, those whose SHA-256 the database has, as sha256sum prints it.
list_files() {
    : > "$work/wanted.files" && : > "$work/known.files"
    [[ -n $with_files ]] || return 0
    local environment
    for environment in live test; do
        if [[ -e $work/sql/$environment-pre.sql ]]; then
            fill "$1" "$environment" << 'SQL'
SELECT sha256 || '  files/@schema/' || left(blob, 2) || '/' || blob FROM @schema._files AS f WHERE to_jsonb(f) ->> 'state' IS DISTINCT FROM 'refused';
SQL
        fi
        fill "$1" "$environment" << 'SQL'
SELECT sha256 || '  analytics/tickets_' || s.id || '/' || left(blob, 2) || '/' || blob
FROM analytics.ticket_attachments AS a JOIN analytics.tickets AS t ON t.id = a.ticket JOIN analytics.spaces AS s ON s.id = t.space
WHERE s.app_id = '@app' AND s.environment = '@environment';
SELECT '-  analytics/crash_' || s.id || '/' || left(blob, 2) || '/' || blob
FROM analytics.crash_attachments AS a JOIN analytics.spaces AS s ON s.id = a.space WHERE s.app_id = '@app' AND s.environment = '@environment';
SQL
    done > "$work/files.sql"
    echo "SELECT DISTINCT '-  analytics/symbols_$1/' || left(blob, 2) || '/' || blob FROM analytics.symbol_files WHERE app_id = '$1' AND blob IS NOT NULL;" >> "$work/files.sql"
    in_snapshot < "$work/files.sql" | LC_ALL=C sort -u > "$work/listed.files"
    grep -v '^-' "$work/listed.files" > "$work/known.files" || true
    sed 's/^[^ ]*  //' "$work/listed.files" | LC_ALL=C sort -u > "$work/wanted.files"
}

# Writes files.sha256 from the bytes, and compares it with what the database knows.
check_files() {
    fetch_files files "$files"
    fetch_files analytics "$analytics_files"
    (cd "$work" && xargs -r -d '\n' -a wanted.files sha256sum) > "$work/files.sha256" 2> "$work/unreadable" ||
        die "the bytes of files are missing (see --files, --analytics-files and --no-files): $(head -n 3 "$work/unreadable" | paste -s -d ';')"
    LC_ALL=C sort -o "$work/files.sha256" "$work/files.sha256"
    LC_ALL=C comm -23 "$work/known.files" "$work/files.sha256" > "$work/differing"
    [[ ! -s $work/differing ]] || die "files differ from their SHA-256 in the database: $(head -n 3 "$work/differing" | sed 's/^[^ ]*  //' | paste -s -d ' ')"
}

# Writes the rest of the manifest's data, as JSON.
read_facts() {
    fill "$1" live << 'SQL' | in_snapshot > "$work/facts.json"
SELECT jsonb_build_object(
    'created', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'app', (SELECT jsonb_build_object('id', id, 'number', number, 'name', name) FROM auth.apps WHERE id = '@app'),
    'days', (SELECT coalesce(jsonb_agg(day), '[]') FROM analytics.events_days() AS day),
    'lastEvent', (SELECT max(e.received) FROM analytics.events AS e JOIN analytics.spaces AS s ON s.id = e.space
        WHERE s.app_id = '@app' AND e.received > now() - interval '2 minutes'),
    'spaces', (SELECT coalesce(jsonb_object_agg(CASE schema WHEN '@schema' THEN 'live' ELSE 'test' END,
        jsonb_build_object('version', version, 'access', access)), '{}') FROM storage.spaces WHERE schema IN ('@schema', '@schema_test')));
SQL
}

write_manifest() {
    local bytes
    bytes=$(cd "$work" && xargs -r -d '\n' -a wanted.files stat -L -c %s | awk '{ sum += $1 } END { printf "%.0f", sum }')
    read_migrations > "$work/migrations.json"
    (cd "$work" && find sql rows -type f | LC_ALL=C sort) > "$work/parts"
    (cd "$work" && xargs -d '\n' -a parts sha256sum files.sha256) > "$work/sums"
    jq -n --argjson format "$format" --arg version "$(server_version)" --arg files "${with_files:-}" --argjson bytes "${bytes:-0}" \
        --argjson count "$(wc -l < "$work/wanted.files")" --slurpfile plan "$work/plan.json" --slurpfile facts "$work/facts.json" \
        --slurpfile migrations "$work/migrations.json" --rawfile digests "$work/digests" --rawfile sums "$work/sums" '
        ([$digests | splits("\n") | select(. != "") | split("|") | {key: .[0], value: {rows: (.[1] | tonumber), checksum: .[2]}}] | from_entries) as $digest
        | {format: $format, version: $version} + $facts[0] + {migrations: $migrations[0],
           files: {included: ($files != ""), count: $count, bytes: $bytes},
           tables: [$plan[0][] | . + $digest[.path]],
           members: [$sums | splits("\n") | select(. != "") | {sha256: .[0:64], path: .[66:]}]}' > "$work/manifest.json"
    cat <(printf '%s\n' manifest.json files.sha256) "$work/parts" "$work/wanted.files" > "$work/members"
}
