# shellcheck shell=bash
# A fresh Debian 12 with systemd, in a container of its own, in which tests install the Debian package. Sourced, not run.
# Needs root and podman. The container is privileged, because systemd's sandboxes need mounts and namespaces.

# MARTLET_MACHINE_IMAGE names another image, such as one with the recommended packages in it.
# start_machine DEB: sets `machine`; it is removed at the end of the script.
start_machine() {
    local image=${MARTLET_MACHINE_IMAGE:-localhost/martlet-machine}
    "$root/deploy/containers" prepare
    "$root/deploy/containers" base
    podman image exists "$image" || podman build --network host --tag "$image" - > /dev/null << 'END'
FROM docker.io/library/debian:bookworm-slim
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends systemd systemd-sysv && rm -rf /var/lib/apt/lists/*
CMD ["/sbin/init"]
END
    # Closes the descriptor of `step`, which the container's monitor would keep open.
    machine=$(DISABLE_HC_SYSTEMD=true podman run --detach --rm --systemd always --privileged --memory 4g "$image" 3>&-)
    trap end EXIT
    podman cp "$1" "$machine:/root/martlet.deb"
    until inside systemctl is-system-running > /dev/null 2>&1; do sleep 0.2; done
}

stop_machine() { podman kill "$machine" > /dev/null 2>&1 || true; }

# Runs a command in the machine, for ten minutes at most.
inside() { timeout 600 podman exec --interactive "$machine" "$@"; }

# Runs the shell script from standard input in the machine.
script() { inside bash -euo pipefail -s; }

# step TEXT COMMAND…: runs a step and says how long it took; ends the script if a command of it fails.
step() {
    local start=${EPOCHREALTIME/./}
    current=$1 log=$(mktemp)
    shift
    # The command does not run in a condition, where a function would continue after a failed command, nor in a subshell, because
    # a step may set `machine`. `end` says what failed.
    "$@" > "$log" 2>&1
    printf 'ok  %5d ms  %s\n' $(((${EPOCHREALTIME/./} - start) / 1000)) "$current"
    grep '^note: ' "$log" | sed 's/^note: /               /' || true
    rm -f "$log"
    current=''
}

# At the end of the script: says which step failed, and removes the machine.
exec 3>&1
end() {
    if [[ -n ${current:-} ]]; then
        # The output of this shell still goes to the log.
        { sed 's/^/    /' "$log" | tail -n 60; echo "martlet: FAILED: $current"; } >&3
        rm -f "$log"
    fi
    stop_machine
}

# --- what several tests do in the machine ---

download() {
    script << 'END'
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --download-only /root/martlet.deb
END
}

install_package() {
    script << 'END'
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq /root/martlet.deb
END
}

# Writes /root/client.sh: functions that call the server as a client would.
set_up_client() {
    script << 'END'
cat > /root/client.sh << 'CLIENT'
json=/var/lib/martlet/connection.json
# call METHOD PATH [CURL ARGUMENT…]
call() {
    curl -sS --fail-with-body --max-time 30 -X "$1" -H "X-Martlet-Secret: $(jq -r .secret $json)" "${@:3}" \
        "http://127.0.0.1:8080/api/$(jq -r .appKey $json)/$2"
}
note() { call POST storage/Notes -d "{\"title\":\"$1\"}" > /dev/null; }
notes() { call POST 'storage/query/Notes?limit=1000' -d '{}' | jq .count; }
has_note() { [[ $(call POST storage/query/Notes -d "{\"title\":\"$1\"}" | jq .count) == 1 ]]; }
file() { echo "content of $1" | call POST "upload/files/?name=$1" --data-binary @- -H 'Content-Type: text/plain' > /dev/null; }
has_file() { [[ $(call GET "upload/files/$1") == "content of $1" ]]; }
CLIENT
END
}

# Sets the server up without TLS.
set_up() {
    set_up_client
    script << 'END'
printf 'host=api.example.org\ntls=none\ndatabase=local\nstaff=alice\n' > /root/answers
martlet setup --file /root/answers
END
}

install_and_set_up() { download && install_package && set_up; }
