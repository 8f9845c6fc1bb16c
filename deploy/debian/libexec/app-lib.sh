# shellcheck shell=bash
# What the parts of `app` share: the database, its tables, and reading an archive. Sourced after lib.sh, not run.
# shellcheck disable=SC2034,SC2154  # `scripts`, `work`, `key` and the options are set by `app`

services=(auth storage config analytics notifications)
# Archives with another number are refused.
format=1

# The text of JSON that `jq` selects from a file: read_json FILE FILTER [ARGUMENTS…]
read_json() { jq -r "${@:3}" "$2" "$1"; }

# Passes the address in libpq's environment variables, because everybody can read a process's arguments.
connect() {
    local url=${MARTLET_DATABASE_URL:-} name
    [[ -n $url ]] || url=$(value_of MARTLET_DATABASE_URL "$settings/setup.env")
    [[ $url =~ ^postgres(ql)?://([^:@/]+):([^@/]*)@([^:/?]*|\[[^]]*\])(:([0-9]+))?/([^?]+)(\?(.*))?$ ]] ||
        die "set MARTLET_DATABASE_URL to postgresql://user:password@host:port/database, as superuser"
    local parts=("${BASH_REMATCH[@]}")
    export PGUSER PGPASSWORD PGHOST PGPORT=${parts[6]:-5432} PGDATABASE PGAPPNAME=martlet-app PGCONNECT_TIMEOUT=12
    PGUSER=$(decode "${parts[2]}") PGPASSWORD=$(decode "${parts[3]}") PGHOST=$(decode "${parts[4]}") PGDATABASE=$(decode "${parts[7]}")
    PGHOST=${PGHOST#[} PGHOST=${PGHOST%]}
    [[ ! ${parts[9]} =~ (^|&)sslmode=([a-z-]+) ]] || export PGSSLMODE=${BASH_REMATCH[2]}
    [[ ! ${parts[9]} =~ (^|&)host=([^&]+) ]] || PGHOST=$(decode "${BASH_REMATCH[2]}")
    name=$(query "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") || die "the database does not answer"
    [[ $name == t ]] || die "this needs the database's superuser, who can read every service's tables"
}

# Percent-decodes.
decode() { printf '%b' "${1//%/\\x}"; }

# psql without the operator's own settings; the first error ends it.
database() { psql -X -q -At -v ON_ERROR_STOP=1 "$@"; }
query() { database -c "$1"; }

check_app_id() { [[ $1 =~ ^[a-z][a-z0-9]{0,31}$ ]] || die "not an app's id: $1 (see: martlet app list)"; }

# schema_of APP ENVIRONMENT
schema_of() { [[ $2 == live ]] && echo "app_$1" || echo "app_$1_test"; }

# Writes app-tables.sql's answer to a file.
read_tables() {
    database -f "$scripts/app-tables.sql" > "$1"
    local unknown
    unknown=$(read_json "$1" '[.[] | select(.policy == null) | .name] | join(" ")')
    [[ -z $unknown ]] || die "app-tables.sql has no policy for these tables: $unknown"
}

# fill APP ENVIRONMENT: replaces the placeholders of conditions on standard input.
fill() { sed "s/@app/$1/g; s/@environment/$2/g; s/@schema/$(schema_of "$1" "$2")/g"; }

# Settings on which the text of a row, and so its checksum, depends.
row_settings() {
    cat << 'SQL'
SET client_encoding = 'UTF8';
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET intervalstyle = 'postgres';
SET bytea_output = 'hex';
SET extra_float_digits = 1;
SET search_path = pg_catalog;
SET statement_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SQL
}

# digest TABLE COLUMNS CONDITION: a query for rows and a checksum that does not depend on their order.
digest() { printf 'SELECT count(*) AS number, coalesce(sum(hashtextextended(ROW(%s)::text, 0)), 0) AS checksum FROM %s WHERE %s' "$2" "$1" "$3"; }

# The last migration of each service, as JSON.
read_migrations() {
    local service
    for service in "${services[@]}"; do
        query "SELECT '$service', coalesce(max(number), 0) FROM $service.migrations"
    done | jq -R -s '[splits("\n") | select(. != "") | split("|") | {key: .[0], value: (.[1] | tonumber)}] | from_entries'
}

server_version() { sed -n 's/^\([0-9][0-9A-Za-z.-]*\)$/\1/p' <<< "$("${MARTLET_PROGRAM:-$scripts/../bin/martlet}" version)" | head -n 1; }

# --- reading an archive ---

need_key() { [[ -s $key ]] || die "there is no key $key: see --key"; }

# open_archive FILE: writes the archive's tar to standard output. It ends with an error if a byte was changed or is missing.
open_archive() { age --decrypt --identity "$key" "$1"; }

# Reads an archive once, in little memory and no disk, compares every member with its checksum and prints the manifest.
verify() {
    local file=$1
    need_key
    [[ -s $file ]] || die "there is no archive $file"
    rm -f "$work"/{manifest.json,files.sha256,read}
    # shellcheck disable=SC2016  # for the shell that tar starts
    open_archive "$file" 2> "$work/reading" | WORK=$work tar -x -f - --to-command='
        case $TAR_FILENAME in
            manifest.json) head -c 67108864 > "$WORK/manifest.json" ;;
            files.sha256) tee "$WORK/files.sha256" | sha256sum | sed "s/-$/files.sha256/" >> "$WORK/read" ;;
            *) sha256sum | while read -r sum _; do printf "%s  %s\n" "$sum" "$TAR_FILENAME" >> "$WORK/read"; done ;;
        esac' 2>> "$work/reading" || die "$file is damaged, was changed, or has another key: $(tail -n 1 "$work/reading")"
    check_manifest "$file"
    members "$work/manifest.json" "$work/files.sha256" | LC_ALL=C sort > "$work/wanted"
    LC_ALL=C sort "$work/read" | cmp -s "$work/wanted" - || die "$file does not have the members that its manifest lists"
    say "${file%.part} is complete: $(describe "$work/manifest.json")"
    cat "$work/manifest.json"
}

# members MANIFEST FILES: every member but the manifest, as sha256sum prints it.
members() {
    read_json "$1" '.members[] | "\(.sha256)  \(.path)"'
    cat "$2"
}

check_manifest() {
    local manifest=$work/manifest.json
    [[ -s $manifest ]] || die "$1 is not an app's archive"
    [[ $(read_json "$manifest" .format) == "$format" ]] ||
        die "$1 has format $(read_json "$manifest" .format), and this version reads $format: use the version $(read_json "$manifest" .version)"
    check_app_id "$(read_json "$manifest" .app.id)"
}

describe() {
    read_json "$1" '"app \(.app.id) (\(.app.name)) of \(.created), version \(.version): \([.tables[].rows] | add // 0) rows of \(.tables | length) tables, \(.files.count) files of \(.files.bytes) bytes"'
}
