# SPDX-License-Identifier: MIT
# Makefile: the front door. Every target first installs what it needs and lacks (dev/setup says so).

.DEFAULT_GOAL := help
PREFIX ?= /usr/local
# Of folders that are not configured yet.
export CMAKE_GENERATOR ?= Ninja
# A shell leaves the tilde in PREFIX=~/x as it is.
prefix = $(abspath $(patsubst ~/%,$(HOME)/%,$(PREFIX)))

.PHONY: help demo install uninstall test test-long soak bench bench-heaps reference dist clean

help:
	@echo 'tarn: a memory-management library for C and C++'
	@echo
	@echo '  make demo         build tarn, and compare it with the system malloc (under three minutes)'
	@echo '  make install      build the library and the command, and install them to PREFIX (/usr/local)'
	@echo '  make uninstall    remove what was installed to PREFIX'
	@echo '  make test         run what a change can break (at most twelve minutes on two cores)'
	@echo '  make test-long    run the rest: every folder, all rounds, real programs (half an hour)'
	@echo '  make soak         run 38 real programs in three modes, and faults that take long (an hour and a half)'
	@echo '  make bench        compare with other allocators, side by side (an hour and a half)'
	@echo '  make bench-heaps  measure heaps beside those of mimalloc (a quarter of an hour)'
	@echo '  make reference    write the reference of the headers, build/reference/html/index.html'
	@echo '  make dist         write the library as two files, dist/tarn.hpp and dist/tarn.cpp'
	@echo '  make clean        remove what these have built'
	@echo
	@echo 'Each of them installs what is missing, with apt, and says what and why.'

demo:
	@dev/setup build tools
	@dev/demo

install:
	@dev/setup build tools
	@cmake --preset release -DTARN_BUILD_TOOLS=ON -DCMAKE_INSTALL_PREFIX='$(prefix)'
	@cmake --build build/release --target tarn_installed
	@cmake --install build/release

uninstall:
	@cmake -DPREFIX='$(prefix)' -P cmake/uninstall.cmake

test:
	@dev/setup build tools test
	@dev/test

test-long:
	@dev/setup build tools test programs reference
	@dev/test --long

# SECONDS_AT_LIMIT: how long the processes at a limit live, each of three in three modes.
SECONDS_AT_LIMIT ?= 180
soak:
	@dev/setup build tools test programs soak
	@cmake --preset release-tests -DTARN_TEST_AMOUNT=100 -DTARN_TESTS=life
	@cmake --build build/release
	@tests/programs/soak build/release $(SECONDS_AT_LIMIT)

bench:
	@dev/setup build tools test bench
	@bench/run

bench-heaps:
	@dev/setup build tools test bench
	@bench/heaps

reference:
	@dev/setup reference
	@dev/reference

dist:
	@dev/setup build
	@dev/amalgamate dist
	@echo 'dist/ has tarn.hpp, tarn.cpp and tarn.h; docs/packaging.md says how to use them'

clean:
	rm -rf build dist
