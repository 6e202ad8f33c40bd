# node: buffers, compression, worker threads and a promise storm; sums that are known beforehand.
#
# SPDX-License-Identifier: MIT
needs=node

run_case() {
  cat > script.js << 'END'
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const crypto = require('crypto');
const zlib = require('zlib');

function churn(seed) {
  let total = 0;
  const kept = [];
  for (let i = 0; i < 20000; ++i) {
    const buffer = Buffer.alloc((i * 37 + seed) % 9000, i % 251);
    total += buffer.length;
    if (i % 10 === 0) kept.push(buffer);
    if (kept.length > 500) kept.shift();
  }
  return total;
}

async function main() {
  const text = Array.from({ length: 50000 }, (_, i) => `line ${i}`).join('\n');
  const packed = zlib.deflateSync(Buffer.from(text), { level: 9 });
  if (zlib.inflateSync(packed).toString() !== text) throw new Error('zlib');
  const parsed = JSON.parse(JSON.stringify({ rows: text.split('\n').map((t, i) => ({ t, i })) }));
  const workers = [1, 2, 3, 4].map((seed) => new Promise((done, failed) => {
    const worker = new Worker(__filename, { workerData: seed });
    worker.on('message', done);
    worker.on('error', failed);
  }));
  const sums = await Promise.all(workers);
  await Promise.all(Array.from({ length: 2000 }, () => new Promise((done, failed) =>
    crypto.randomBytes(1000, (error) => (error ? failed(error) : done())))));
  const digest = crypto.createHash('sha256').update(text).digest('hex');
  console.log(parsed.rows.length, sums.join(','), churn(0), digest);
}

if (isMainThread) main();
else parentPort.postMessage(churn(workerData));
END
  plain=$(node script.js)
  expect "the sums" "$(on_tarn node script.js)" "$plain"
  case $plain in 50000*) ;; *) fail "the script did not run: $plain" ;; esac
  expect_account 'node*'
}
