# redis_server: a server of a script's own, for what sources this: $work is its folder, $server its
# process; fail() ends the script.
#
# SPDX-License-Identifier: MIT

# start_server VARIABLE=VALUE...: with these in its environment, and with $server_options, until it
# answers. Not through a function: in the background that would be a shell, and the server its
# child.
start_server() {
  env "$@" redis-server --port 0 --unixsocket "$work/socket" --dir "$work" --save '' \
    --daemonize no --logfile "$work/log" ${server_options-} &
  server=$!
  tries=0
  while [ "$(ask ping 2> "$work/ping")" != PONG ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || fail "the server does not answer: $(cat "$work/log")"
    sleep 0.1
  done
}

ask() {
  redis-cli -s "$work/socket" "$@"
}
