# php: the interpreter opens its extensions with RTLD_DEEPBIND; with USE_ZEND_ALLOC=0 every value is
# a block of tarn's.
#
# SPDX-License-Identifier: MIT
needs=php

run_case() {
  cat > script.php << 'END'
<?php
$counts = [];
$text = '';
for ($i = 1; $i <= 200000; ++$i) {
  $key = 'key' . ($i * 7919 % 50021);
  $counts[$key] = ($counts[$key] ?? 0) + $i;
  if ($i % 2) $text .= chr(97 + $i % 26);
}
ksort($counts);
preg_match_all('/[aeiou]+/', $text, $found);
$rows = json_decode(json_encode(array_map(fn($k) => ['k' => $k, 'v' => $counts[$k]],
                                          array_keys($counts))), true);
$packed = gzcompress(serialize($rows), 9);
$same = unserialize(gzuncompress($packed)) == $rows;
$loaded = array_filter(['json', 'ctype', 'tokenizer', 'posix', 'ftp', 'calendar'],
                       'extension_loaded');
$tokens = function_exists('token_get_all') ? count(token_get_all('<?php echo 1 + 2;')) : 0;
echo array_sum($counts), ' ', count($counts), ' ', count($found[0]), ' ', $same ? 'same' : 'other',
     ' ', implode(',', $loaded), ' ', $tokens, ' ', hash('sha256', $text), "\n";
END
  plain=$(php script.php)
  expect "the sums" "$(on_tarn php script.php)" "$plain"
  expect "the sums, every value from tarn" \
    "$(on_tarn env USE_ZEND_ALLOC=0 php script.php)" "$plain"
  expect "the first sum" "${plain%% *}" 20000100000
  expect_account 'php*'
}
