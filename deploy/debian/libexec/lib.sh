# shellcheck shell=bash
# What setup, backup and restore share. Sourced, not run.

settings=${MARTLET_SETTINGS_FOLDER:-/etc/martlet}
state=/var/lib/martlet
# Records of backups and proofs. The variable has the name of auth's setting.
records=${MARTLET_BACKUP_DIRECTORY:-/var/lib/martlet-backup}
# Where certbot writes challenges. Only root writes there, because root follows links. Sources/…/DoctorCommand.swift checks
# whether the folder exists.
challenges=/var/lib/martlet-acme
cluster=martlet
database=martlet

say() { printf '%s\n' "$*" >&2; }
die() { printf 'martlet: %s\n' "$*" >&2; exit 1; }

need_root() { ((EUID == 0)) || die "this command must be run as root"; }

# need_program PROGRAM PACKAGE
need_program() { command -v "$1" > /dev/null || die "$1 is missing: apt-get install $2"; }

# write_private FILE OWNER MODE: writes standard input to FILE, which no one else can read at any time. A file with the same
# contents is not replaced.
write_private() {
    local new
    new=$(umask 077 && mktemp "$1.XXXXXX")
    cat > "$new"
    chown "$2" "$new"
    chmod "$3" "$new"
    if cmp -s "$new" "$1"; then rm -f "$new"; else mv -f "$new" "$1"; fi
}

# value_of KEY FILE: the value in a file of lines KEY=VALUE, or nothing.
value_of() { [[ ! -r $2 ]] || sed -n "s/^$1=//p" "$2" | tail -n 1; }

# Copies certificate and key, because the user `martlet` cannot read those of most ACME clients. The gateway loads changed files
# within a second.
# install_certificate CHAIN KEY
install_certificate() {
    install -d -o root -g martlet -m 0750 "$settings/tls"
    write_private "$settings/tls/key.pem" root:martlet 0640 < "$2"
    write_private "$settings/tls/certificate.pem" root:martlet 0640 < "$1"
}

# self_signed_certificate HOST FOLDER: writes certificate.pem and key.pem.
self_signed_certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 7 -subj /CN=martlet \
        -addext "subjectAltName=DNS:$1" -keyout "$2/key.pem" -out "$2/certificate.pem" 2> /dev/null
}

# Has certbot get a certificate, unless it has one for the same host and of the same authority that is not due. certbot.timer
# renews it later, by the same options, and calls HOOK when there is a new one. DIRECTORY is another authority's (RFC 8555); MAIL
# may be empty.
# order_certificate HOST MAIL DIRECTORY HOOK
order_certificate() {
    local contact=(--register-unsafely-without-email) server=() mode=--keep-until-expiring last
    [[ -z $2 ]] || contact=("--email=$2")
    [[ -z $3 ]] || server=("--server=$3")
    last=$(sed -n 's/^server *= *//p' /etc/letsencrypt/renewal/martlet.conf 2> /dev/null || true)
    [[ -z $last || $last == "${3:-https://acme-v02.api.letsencrypt.org/directory}" ]] || mode=--force-renewal
    certbot certonly --quiet --non-interactive --agree-tos "${contact[@]}" "${server[@]}" \
        --cert-name martlet --domain "$1" --renew-with-new-domains "$mode" --key-type ecdsa \
        --webroot --webroot-path "$challenges" --deploy-hook "$4"
}

random_hex() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

# Sets `version`, `port` and `data` of the cluster of `martlet setup`; fails if there is none.
find_cluster() {
    local line
    line=$(pg_lsclusters --no-header 2> /dev/null | awk -v name="$cluster" '$2 == name { print $1, $3, $6 }')
    [[ -n $line ]] || return 1
    # shellcheck disable=SC2034  # for those who source this file
    read -r version port data <<< "$line"
}

# Runs psql as the superuser of the cluster, over its socket, without a password.
as_postgres() { (cd / && exec runuser -u postgres -- "$@"); }
sql() { as_postgres psql -X -q -At -v ON_ERROR_STOP=1 -p "$port" "$@"; }

# make_cluster [PORT]: creates a cluster in Debian's way, so that Debian's tools (pg_lsclusters, pg_upgradecluster) and user work with it.
make_cluster() {
    if ! find_cluster; then
        version=$(printf '%s\n' /usr/lib/postgresql/*/bin/initdb | sort -V | tail -n 1 | cut -d / -f 5)
        [[ $version != '*' ]] && ((version >= 15)) || die "PostgreSQL 15 or newer is needed: apt-get install postgresql"
        say "creating the PostgreSQL cluster $version/$cluster"
        pg_createcluster ${1:+--port="$1"} --locale C.UTF-8 --encoding UTF8 "$version" "$cluster" -- --data-checksums > /dev/null
        find_cluster
    fi
    local etc=/etc/postgresql/$version/$cluster drop_in=/etc/systemd/system/postgresql@$version-$cluster.service.d
    # The services log in by password; Debian's default admits only system users with the same name as their role.
    grep -q "^local *$database " "$etc/pg_hba.conf" ||
        sed -i "0,/^local *all *all/s//local   $database   all   scram-sha-256\n&/" "$etc/pg_hba.conf"
    # Values of rows must not get into the server's log. Archiving is on from the start, because switching it on needs a restart.
    write_private "$etc/conf.d/10-martlet.conf" postgres: 0644 << 'END'
# Written by "martlet setup"; put your own settings into another file here whose name sorts after this one.
max_connections = 200
shared_buffers = 256MB
timezone = 'UTC'
log_timezone = 'UTC'
log_min_error_statement = panic
log_parameter_max_length_on_error = 0
log_error_verbosity = terse
archive_mode = on
archive_command = 'true'
# For GET /admin/database/statements.
shared_preload_libraries = 'pg_stat_statements'
END
    # Debian's unit does not restart a killed server.
    install -d "$drop_in"
    printf '[Service]\nRestart=on-failure\nRestartSec=1\n' > "$drop_in/martlet.conf"
    systemctl daemon-reload
    systemctl enable --quiet "postgresql@$version-$cluster"
}
