# perl: hashes, strings that grow, sorting, regular expressions and fork.
#
# SPDX-License-Identifier: MIT
needs=perl

run_case() {
  cat > script.pl << 'END'
use strict;
use warnings;
my %count;
my $text = '';
for my $i (1 .. 200000) {
  $count{ 'key' . ($i * 7919 % 100003) } += $i;
  $text .= chr(97 + $i % 26) if $i % 3 == 0;
}
my $sum = 0;
$sum += $_ for values %count;
my @sorted = sort { $count{$a} <=> $count{$b} || $a cmp $b } keys %count;
my $vowels = () = $text =~ /[aeiou]/g;
my @nested = map { { id => $_, list => [1 .. $_ % 50], text => 'x' x ($_ % 700) } } 1 .. 20000;
my $length = 0;
$length += @{ $_->{list} } + length $_->{text} for @nested;
delete $count{$_} for @sorted[0 .. 50000];
my $children = 0;
for my $child (1 .. 20) {
  my $pid = fork;
  die 'fork' unless defined $pid;
  if (!$pid) { my @more = map { 'y' x $_ } 1 .. 2000; exit(@more == 2000 ? 0 : 1) }
  waitpid $pid, 0;
  ++$children if $? == 0;
}
print join(' ', $sum, scalar @sorted, $vowels, $length, scalar keys %count, $children), "\n";
END
  plain=$(perl script.pl)
  expect "the sums" "$(on_tarn perl script.pl)" "$plain"
  expect "the first sum" "${plain%% *}" 20000100000
  expect_account perl
}
