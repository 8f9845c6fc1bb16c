# shellcheck shell=bash
# The SQL that writes an archive's rows into the database, and that deletes an app's. Sourced by `app`, not run.
# shellcheck disable=SC2154  # `work`, `exists`, `environments` and the options are set by `app` and `restore`

# archived_tables POLICIES: the archive's tables of these policies, as lines: name, quoted, columns, condition, path, rows, checksum.
archived_tables() {
    read_json "$work/manifest.json" '.tables | sort_by(.level)[] | select(.policy | IN($policies | splits(" ")))
        | select(.environment == null or (.environment | IN($environments | splits(" "))))
        | [.name, .quoted, .columns, .condition, .path, .rows, .checksum, .environment // ""] | @tsv' \
        --arg policies "$1" --arg environments "${from:-$environments}"
}

# pg_dump 17 and later writes this setting, which older servers do not have.
newer_settings='/^SET transaction_timeout = /d'

begin_script() {
    row_settings
    cat << 'SQL'
BEGIN;
SET LOCAL lock_timeout = '60s';
SET client_min_messages = warning;
-- For `outcome`.
SELECT pg_current_xact_id() \g transaction
SELECT pg_advisory_xact_lock(hashtextextended('martlet.app-archive', 0)) \g /dev/null
CREATE FUNCTION pg_temp.require(is_so boolean, otherwise text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN IF is_so IS NOT TRUE THEN RAISE EXCEPTION '%', otherwise; END IF; END $$;
SQL
}

# Roll-ups and blocks of events are not written meanwhile.
lock_analytics() { echo "SELECT FROM analytics.rollups, analytics.block_reach FOR UPDATE \\g /dev/null"; }

# copy_in QUOTED COLUMNS PATH
copy_in() { printf "\\\\copy %s (%s) FROM PROGRAM 'zstd -d -q -c %s'\n" "$1" "$2" "$3"; }

# require_digest NAME QUOTED COLUMNS CONDITION ROWS CHECKSUM
require_digest() {
    printf "SELECT pg_temp.require((number, checksum) = (%s, %s), '%s is not what was archived: ' || number || ' rows') FROM (%s) AS digest \\\\g /dev/null\n" \
        "$5" "$6" "${1//\'/}" "$(digest "$2" "$3" "$4")"
}

# delete_rows APP POLICIES: of the server, children before parents.
delete_rows() {
    local name
    for name in $environments; do
        read_json "$work/tables.json" 'sort_by(-.level)[] | select(.policy | IN($policies | splits(" "))) | select(.condition)
            | "DELETE FROM \(.quoted) WHERE \(.condition);"' --arg policies "$2" | fill "$1" "$name"
    done
}

load_tables() {
    local name table columns condition path rows checksum
    archived_tables "$1" | while IFS=$'\t' read -r name table columns condition path rows checksum _; do
        copy_in "$table" "$columns" "$path"
    done
    archived_tables "$1" | while IFS=$'\t' read -r name table columns condition path rows checksum _; do
        require_digest "$name" "$table" "$columns" "$condition" "$rows" "$checksum"
    done
}

# Adds missing rows. Rows of policy `same` must then equal those of the archive.
merge_tables() {
    local name table columns path compared
    archived_tables "$1" | while IFS=$'\t' read -r name table columns _ path _; do
        echo "CREATE TEMPORARY TABLE merged ON COMMIT DROP AS SELECT $columns FROM $table LIMIT 0;"
        copy_in merged "$columns" "$path"
        echo "INSERT INTO $table ($columns) OVERRIDING SYSTEM VALUE SELECT $columns FROM merged ON CONFLICT DO NOTHING;"
        compared='id, app_id, environment'
        [[ $name != analytics.terms ]] || compared=$columns
        [[ $1 != same ]] || cat << SQL
SELECT pg_temp.require(NOT EXISTS (SELECT $compared FROM merged EXCEPT SELECT $compared FROM $table),
    'on this server the numbers of the app''s $name stand for something else: restore into an empty server') \g /dev/null
SQL
        echo "DROP TABLE merged;"
    done
}

# load_schema APP SOURCE TARGET: replaces the schema of environment TARGET with that of SOURCE in the archive.
load_schema() {
    local source target name table columns condition path rows checksum
    source=$(schema_of "$1" "$2") target=$(schema_of "$1" "$3")
    echo "DROP SCHEMA IF EXISTS $target CASCADE;"
    [[ -e $work/sql/$2-pre.sql ]] || return 0
    rename "$source" "$target" "$work/sql/$2-pre.sql" && rename "$source" "$target" "$work/sql/$2-post.sql"
    sed -i "$newer_settings" "$work/sql/$2-pre.sql" "$work/sql/$2-post.sql"
    echo "\\i sql/$2-pre.sql"
    archived_tables space | while IFS=$'\t' read -r name table columns condition path rows checksum of; do
        [[ $of == "$2" ]] || continue
        [[ -z $from ]] || is_copied "${name#space.}" || continue
        copy_in "$target.${table#*.}" "$columns" "$path"
        require_digest "$name" "$target.${table#*.}" "$columns" true "$rows" "$checksum"
    done
    echo "\\i sql/$2-post.sql"
    # The scripts of pg_dump switch it off.
    echo "SET LOCAL lock_timeout = '60s';"
}

rename() { [[ $1 == "$2" ]] || sed -i "s/\\b$1\\b/$2/g; / TO $1_copy;\$/d" "$3"; }

# What a copy of another environment has: collections and files, but not users, hooks and history (`CopyEnvironment`).
is_copied() { [[ $1 != _* || $1 =~ ^_(collections|roles|role_members|role_managers|relations|files)$ ]]; }

write_restore_script() {
    local name
    {
        begin_script
        lock_analytics
        for name in $environments; do fill "$1" "$name" < "$scripts/app-before.sql"; done
        echo "SET LOCAL session_replication_role = replica;"
        if [[ $exists == 0 ]]; then load_tables app; fi
        delete_rows "$1" 'replace clear'
        read_json "$work/manifest.json" '.days[] | "SELECT analytics.make_events_day(\u0027\(.)\u0027) \\g /dev/null"'
        merge_tables same
        merge_tables merge
        load_tables replace
        echo "SELECT storage.provision_copy('$1') \\g /dev/null"
        for name in $environments; do load_schema "$1" "$name" "$name"; done
        echo "SET LOCAL session_replication_role = origin;"
        for name in $environments; do fill "$1" "$name" < "$scripts/app-after.sql"; done
        [[ -z $keep_access ]] || for name in $environments; do keep_users "$name"; done
        if [[ $exists == 0 ]]; then echo "UPDATE auth.key_ring SET version = version + 1; NOTIFY martlet_key_ring;"; fi
        advance_sequences "$1"
        count_restored
        echo "COMMIT;"
    } > "$work/restore.sql"
}

# keep_users ENVIRONMENT: keeps users' passwords and who is disabled as before the restore. Users without name and address get no
# password.
keep_users() {
    cat << SQL
UPDATE auth.users AS u SET disabled = f.disabled,
    password = CASE WHEN f.password IS NULL OR u.user_name IS NOT NULL OR u.email IS NOT NULL THEN f.password ELSE u.password END
FROM former_users_$1 AS f WHERE f.id = u.id AND (f.disabled, f.password) IS DISTINCT FROM (u.disabled, u.password);
SQL
}

# On another server, sequences continue after the restored numbers.
advance_sequences() {
    fill "$1" live << 'SQL'
SELECT format('SELECT setval(%L, greatest((SELECT last_value FROM %s), (SELECT coalesce(max(%I), 1) FROM %s))) \g /dev/null',
    s.name, s.name, a.attname, a.attrelid::regclass)
FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid, pg_get_serial_sequence(a.attrelid::regclass::text, a.attname) AS s (name)
WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attidentity <> '' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND c.relnamespace::regnamespace::text IN ('auth', 'storage', 'config', 'analytics', 'notifications', 'app_@app', 'app_@app_test')
\g sequences.sql
\i sequences.sql
SQL
}

count_restored() {
    printf "SELECT '%s rows and %s files are in the archive; %s rows were compared after they were written';\n" \
        "$(read_json "$work/manifest.json" '[.tables[].rows] | add // 0')" "$(read_json "$work/manifest.json" .files.count)" \
        "$(archived_tables 'replace space' | awk -F '\t' '{ sum += $6 } END { printf "%d", sum }')"
}

# write_copy_script APP: collections and files of the other environment, as the copy of live to test does it.
write_copy_script() {
    local target
    target=$(schema_of "$1" "$environment")
    {
        begin_script
        echo "CREATE TEMPORARY TABLE kept_users ON COMMIT DROP AS TABLE $target.\"_User\";"
        echo "CREATE TEMPORARY TABLE kept_hooks ON COMMIT DROP AS TABLE $target._hooks;"
        echo "CREATE TEMPORARY TABLE kept_usage ON COMMIT DROP AS TABLE $target._file_usage;"
        echo "SELECT storage.provision_copy('$1') \\g /dev/null"
        load_schema "$1" "$from" "$environment"
        cat << SQL
INSERT INTO $target."_User" SELECT * FROM kept_users;
INSERT INTO $target._hooks SELECT * FROM kept_hooks;
DELETE FROM $target._files WHERE state IS NOT NULL;
INSERT INTO $target._file_usage (files, bytes, maximum_files, maximum_bytes)
SELECT (SELECT count(*) FROM $target._files), (SELECT coalesce(sum(size), 0) FROM $target._files), maximum_files, maximum_bytes FROM kept_usage;
INSERT INTO $target._closed DEFAULT VALUES;
SQL
        # An environment that is closed to clients stays closed.
        [[ $(read_json "$work/manifest.json" ".spaces.$from.access // (if \"$from\" == \"live\" then \"closed\" else \"open\" end)") == open ]] ||
            echo "UPDATE storage.spaces SET access = 'closed' WHERE schema = '$target';"
        echo "SELECT pg_notify('martlet_storage_rights', '$target') \\g /dev/null"
        count_restored
        echo "COMMIT;"
    } > "$work/restore.sql"
}
