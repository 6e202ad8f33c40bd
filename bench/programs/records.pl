# Records in Perl: hashes of arrays, string building, patterns, sorting.
# SPDX-License-Identifier: MIT
use strict;
use warnings;

my $count = shift;
my $state = 12345;
sub number { $state = ($state * 1103515245 + 12345) % 2147483648; return $state; }

my @records;
for my $i (0 .. $count - 1) {
  push @records, {number => $i, name => "name-" . number() % 9973,
                  tags => ["tag" . number() % 97, "group" . $i % 13],
                  amount => number() % 100000 / 100};
}
my $text = join "\n",
    map { join ",", $_->{number}, $_->{name}, @{$_->{tags}}, $_->{amount} } @records;
my (%words, %groups);
$words{$_}++ for split /[^a-z0-9]+/, lc $text;
my $found = grep { $_->{name} =~ /name-(\d*)7(\d)/ } @records;
for my $record (@records) {
  push @{$groups{$_}}, $record for @{$record->{tags}};
}
my $total = 0;
for my $tag (sort keys %groups) {
  my @sorted = sort { $a->{amount} <=> $b->{amount} || $a->{number} <=> $b->{number} }
      @{$groups{$tag}};
  $total += $sorted[0]{number};
}
print "$found ", scalar(keys %words), " ", scalar(keys %groups), " $total\n";
