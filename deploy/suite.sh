# shellcheck shell=bash
# What tests of the composed suite share: deploy/smoke-containers and deploy/test-compose. Sourced, not run.

# Processes that a test has started beside the containers.
helpers=()

# One test at a time: project and image have fixed names, so that a run that was killed is cleaned up by the next.
# start_test DIST: prepares machine and images, and removes what a killed run has left. Everything is removed at the end.
start_test() {
  exec 9> /var/lock/martlet-smoke-containers
  flock 9

  rm -rf /var/tmp/martlet-smoke.??????
  work=$(mktemp -d /var/tmp/martlet-smoke.XXXXXX)
  trap clean_up EXIT
  trap 'exit 130' INT TERM
  # Its own directory: secrets are beside compose.yaml, and podman-compose prefers the .env there to everything else.
  cp "$directory"/compose*.yaml "$work/"

  port=$(free_port)
  url=http://127.0.0.1:$port
  export MARTLET_COMPOSE_FILE=$work/compose.yaml MARTLET_PROJECT=martlet-smoke MARTLET_IMAGE=localhost/martlet:smoke
  export MARTLET_PORT=127.0.0.1:$port MARTLET_PUBLIC_URL=$url

  step 'The machine is prepared' prepare
  engine=$("$directory/containers" engine)
  # As in deploy/containers: without systemd, no health checks are run.
  [[ -d /run/systemd/system ]] || export DISABLE_HC_SYSTEMD=true
  step "The images are built from $1" "$directory/containers" build "$1"
  "$directory/containers" down --volumes 9>&-
}

# Runs a step and prints one line: what, and how long it took.
step() {
  local sentence=$1 start=${EPOCHREALTIME/./}
  shift
  current=$sentence
  # Close the lock's descriptor; otherwise a container's monitor would keep the lock.
  "$@" 9>&-
  printf 'ok  %5d ms  %s%s\n' $(((${EPOCHREALTIME/./} - start) / 1000)) "$sentence" "${note:+ ($note)}"
  note=''
}

refuse() {
  echo "    $*" >&2
  return 1
}

clean_up() {
  local status=$?
  trap - EXIT
  if [[ ${succeeded:-} != yes ]]; then
    ((status != 0)) || status=1
    echo "NOT OK         ${current:-start}" >&2
    print_logs >&2 || true
  fi
  ((${#helpers[@]} == 0)) || kill "${helpers[@]}" 2> /dev/null || true
  if [[ -n ${engine:-} ]]; then
    "$directory/containers" down --volumes || status=1
  fi
  rm -rf "$work"
  exit "$status"
}

print_logs() {
  local service container
  [[ -n ${engine:-} ]] || return 0
  for service in postgres migrate auth storage config analytics notifications gateway; do
    for container in $("$directory/containers" list "$service"); do
      echo "--- $service: $("$engine" inspect --format '{{.State.Status}} {{.State.ExitCode}}, restarts {{.RestartCount}}' "$container")"
      "$engine" logs --tail 20 "$container" 2>&1 | cut -c 1-400
    done
  done
}

prepare() {
  local missing=() program
  for program in curl jq ${MARTLET_TEST_PUSH:+socat}; do
    command -v "$program" > /dev/null || missing+=("$program")
  done
  if [[ ${#missing[@]} -gt 0 ]]; then
    apt-get update --quiet=2
    DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends "${missing[@]}" > /dev/null
  fi
  "$directory/containers" prepare
}

free_port() {
  local candidate
  while :; do
    candidate=$((20000 + RANDOM % 10000))
    (exec 3<> "/dev/tcp/127.0.0.1/$candidate") 2> /dev/null || break
  done
  echo "$candidate"
}

# --- clients ---

create_app() {
  local app
  app=$("$directory/containers" martlet app create --name Demo --json)
  app_key=$(jq --exit-status --raw-output .appKey <<< "$app")
  secret=$(jq --exit-status --raw-output .secret <<< "$app")
  master=$(jq --exit-status --raw-output .masterKey <<< "$app")
}

# Takes the keys of the app that the first `up` has made, and opens it.
take_first_app() {
  local file=$work/secrets/first-app.json
  app_key=$(jq -er .appKey "$file") secret=$(jq -er .secret "$file") master=$(jq -er .masterKey "$file")
  ingest=$(jq -er .ingestKey "$file") number=$(jq -er .appNumber "$file")
  [[ -s $work/secrets/admin.txt ]]
  open_app
}

# Opens a new app, which is closed: clients may only do what a rule allows. The gateway gets the app's keys through its feed, so
# the first requests may come too early.
open_app() {
  local status deadline=$((SECONDS + 120))
  until status=$(curl --silent --show-error --max-time 60 --request PUT --header "X-Martlet-Master-Key: $master" \
    --data '{"access":"open"}' --output /dev/null --write-out '%{http_code}' "$url/api/$app_key/rules/settings") && [[ $status == 200 ]]; do
    ((SECONDS < deadline)) || refuse "$status"
    sleep 0.2
  done
}

# Sends a JSON body to a path of the app; prints the answer, the status on a last line of its own.
post() {
  curl --silent --show-error --max-time 60 --header 'Content-Type: application/json' \
    ${3:+--header "X-Martlet-Secret: $3"} --data "$2" --write-out '\n%{http_code}' "$url/api/$app_key/$1" || true
}
