# redis: the server under its benchmark, pipelined, with a save by fork in between; and its own test
# of memory.
#
# SPDX-License-Identifier: MIT
needs="redis-server redis-benchmark redis-cli"

. "$here/redis_server.sh"

start_on_tarn() {
  start_server LD_PRELOAD="$library" TARN_OPTIONS="$options"
}

stop_case() {
  [ -z "${server:-}" ] || kill "$server" 2> "$work/kill"
}

stop_server() {
  ask shutdown nosave > "$work/shutdown" 2>&1 || true
  status=0
  wait "$server" || status=$?
  server=
  expect "the server's exit status" "$status" 0
}

run_case() {
  start_on_tarn
  [ -n "${TARN_TEST_ANY_MALLOC:-}" ] || grep -q libtarn "/proc/$server/maps" ||
    fail "the server does not run on tarn"
  on_tarn redis-benchmark -s "$work/socket" -q -P 16 -n 100000 -r 20000 -d 100 \
    -t set,get,incr,lpush,lpop,sadd,hset,zadd,lrange_100,mset > benchmark 2>&1 ||
    fail "redis-benchmark: $(tail -n 3 benchmark)"
  ask flushall > "$work/flushed"
  ask eval 'for i = 1, 50000 do redis.call("set", "k" .. i, string.rep("v", i % 500)) end' 0 \
    > "$work/filled"
  ask eval 'for i = 1, 50000, 3 do redis.call("append", "k" .. i, string.rep("w", 300)) end' 0 \
    > "$work/appended"
  ask eval 'for i = 1, 2000 do redis.call("hset", "h", i, i * i) end' 0 > "$work/hashed"
  expect "a value" "$(ask get k499 | tr -d '\n' | wc -c)" 799
  expect "a hash" "$(ask hget h 1999)" 3996001
  ask bgsave > "$work/saving"
  while [ "$(ask info persistence | tr -d '\r' | sed -n 's/rdb_bgsave_in_progress://p')" != 0 ]; do
    ask eval 'for i = 1, 50000, 50 do redis.call("set", "k" .. i, i) end' 0 > "$work/written"
  done
  status=$(ask info persistence | tr -d '\r' | sed -n 's/rdb_last_bgsave_status://p')
  expect "the save" "$status" ok
  ask save > "$work/saved"
  digest=$(ask debug digest 2> "$work/digest" || true)
  stop_server
  expect_account 'redis-*'
  start_on_tarn
  expect "the keys after a restart" "$(ask dbsize)" 50001
  expect "the digest after a restart" "$(ask debug digest 2> "$work/digest" || true)" "$digest"
  stop_server
  on_tarn redis-server --test-memory 64 > memory 2>&1 || fail "the test of memory failed"
  grep -q "Your memory passed this test" memory || fail "the test of memory did not pass"
}
