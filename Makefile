# SPDX-License-Identifier: BSD-2-Clause
# make            build/frtrace
# make BPF=0      build/nobpf/frtrace: without the tracer (no clang, bpftool, libbpf)
# make SAN=1      build/san/…: address and undefined-behaviour sanitizers
# make check      unit tests (no root)     make V=1 shows the commands
# make fuzz       each target of tests/fuzz for FUZZ_SECONDS (clang)
BPF ?= 1
SAN ?= 0
V ?= 0

ifeq ($(origin CC),default)
CC = gcc
endif
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool) bpftool)
PKG_CONFIG ?= pkg-config
PREFIX ?= /usr/local

VARIANT := $(if $(filter 0,$(BPF)),nobpf)$(if $(filter 1,$(SAN)),$(if $(filter 0,$(BPF)),-)san)
B := build$(if $(VARIANT),/$(VARIANT))

VERSION := 0.1.0

PKGS := libmnl jansson smartcols zlib
PKGS += $(shell $(PKG_CONFIG) --exists libprotobuf-c && echo libprotobuf-c)
ifneq ($(BPF),0)
PKGS += libbpf libelf
endif

CPPFLAGS += -D_GNU_SOURCE -DFRT_VERSION='"$(VERSION)"' -DFRT_BPF=$(BPF) -Iinclude -Isrc -I$(B)/gen
CFLAGS ?= -O2 -g
WARN := -std=gnu11 -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
ALL_CFLAGS = $(CFLAGS) $(WARN) $(shell $(PKG_CONFIG) --cflags $(PKGS)) -pthread -MMD -MP
LIBS = $(shell $(PKG_CONFIG) --libs $(PKGS)) -lm -pthread
ifeq ($(SAN),1)
ALL_CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDFLAGS += -fsanitize=address,undefined
endif

# Right of the record: no root, no libbpf. The unit tests link only this.
RIGHT := $(wildcard src/util/*.c src/record/*.c src/analyze/*.c src/report/*.c)
LEFT := $(wildcard src/workload/*.c src/env/*.c)
ifneq ($(BPF),0)
LEFT += $(filter-out src/trace/none.c,$(wildcard src/trace/*.c))
else
LEFT += src/trace/none.c
endif
CMD := $(wildcard src/cmd/*.c)
PROTO := $(wildcard src/report/*.proto)

obj = $(patsubst %.c,$(B)/%.o,$(1))
PROTO_C := $(patsubst src/report/%.proto,$(B)/gen/%.pb-c.c,$(PROTO))
PROTO_O := $(PROTO_C:.c=.o)
RIGHT_O := $(call obj,$(RIGHT)) $(PROTO_O)
LEFT_O := $(call obj,$(LEFT))
CMD_O := $(call obj,$(CMD)) $(B)/src/main.o

ifeq ($(V),0)
Q = @
say = @printf '  %-8s %s\n' $(1) $(2)
endif

.PHONY: all
all: $(B)/frtrace
.DELETE_ON_ERROR:

$(B)/frtrace: $(CMD_O) $(LEFT_O) $(B)/libright.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/libright.a: $(RIGHT_O)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

# Generated readers and writers of protocol buffers are not held to our warnings.
$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h: src/report/%.proto
	$(call say,PROTOC,$<)
	$(Q)mkdir -p $(@D) && protoc-c --proto_path=src/report --c_out=$(B)/gen $<
$(B)/gen/%.pb-c.o: $(B)/gen/%.pb-c.c
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(call obj,$(wildcard src/report/*.c)): $(PROTO_C:.c=.h)

# BPF: every family is one object, linked into one, made into one skeleton.
ifneq ($(BPF),0)
BPF_ARCH := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
# The definitions of the maps first: libbpf's linker (1.1) loses their offsets
# when it sees an extern before them.
BPF_SRC := bpf/maps.bpf.c $(filter-out bpf/maps.bpf.c,$(wildcard bpf/*.bpf.c))
BPF_O := $(patsubst bpf/%.bpf.c,$(B)/bpf/%.bpf.o,$(BPF_SRC))
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v2 -D__TARGET_ARCH_$(BPF_ARCH) -D__bpf__ -Wall -Wextra -Werror \
	-Wno-unused-parameter -Iinclude -Ivmlinux -Ibpf $(shell $(PKG_CONFIG) --cflags libbpf)

$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h vmlinux/*.h include/frtrace/*.h)
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -c -o $@ $<
$(B)/bpf/frtrace.o: $(BPF_O)
	$(call say,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^
$(B)/gen/frtrace.skel.h: $(B)/bpf/frtrace.o
	$(call say,SKEL,$@)
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen skeleton $< name frtrace_bpf > $@
$(call obj,$(wildcard src/trace/*.c)): $(B)/gen/frtrace.skel.h
endif

# Unit tests: one program per file, right half (and the pure parts of the workload) only.
UNIT := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c))
UNIT_HELP := $(call obj,$(filter-out $(wildcard tests/unit/test_*.c),$(wildcard tests/unit/*.c)))
$(B)/tests/%: tests/unit/%.c $(UNIT_HELP) $(B)/libright.a $(call obj,$(wildcard src/workload/*.c))
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) -Itests/unit $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< \
		$(UNIT_HELP) $(call obj,$(wildcard src/workload/*.c)) $(B)/libright.a \
		$(shell $(PKG_CONFIG) --cflags --libs cmocka) $(LIBS)
$(call obj,$(wildcard tests/unit/*.c)): ALL_CFLAGS += -Itests/unit

# The tracer against the real kernel: root, BPF.
ifneq ($(BPF),0)
TRACE_O := $(call obj,$(filter-out src/trace/none.c,$(wildcard src/trace/*.c)) $(wildcard src/env/*.c))
SYSTEM := $(patsubst tests/system/test_%.c,$(B)/tests/system_%,$(wildcard tests/system/test_*.c))
$(B)/tests/system_%: tests/system/test_%.c $(wildcard tests/system/*.h) $(TRACE_O) $(B)/libright.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(TRACE_O) \
		$(B)/libright.a $(shell $(PKG_CONFIG) --cflags --libs cmocka) $(LIBS)
endif
# The workload's system tests (root): one program, run by test_workload.sh.
SYSTEM += $(B)/tests/workload
$(B)/tests/workload: $(wildcard tests/system/workload/*.c tests/system/workload/*.h) \
		$(call obj,$(wildcard src/workload/*.c)) $(B)/libright.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(ALL_CFLAGS)) $(LDFLAGS) -o $@ \
		$(filter %.c %.o %.a,$^) $(LIBS)

.PHONY: system
system: $(SYSTEM)

# Loops that the tests of `frtrace run` and `frtrace attach` follow.
LOOPS := $(patsubst tests/system/loops/%.c,$(B)/loops/%,$(wildcard tests/system/loops/*.c))
$(B)/loops/%: tests/system/loops/%.c
	$(call say,LOOP,$@)
	$(Q)mkdir -p $(@D) && $(CC) -O2 -g -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread -o $@ $<
system: $(LOOPS)

STIM := $(patsubst tests/stimuli/%.c,$(B)/stimuli/%,$(wildcard tests/stimuli/*.c))
$(B)/stimuli/%: tests/stimuli/%.c $(wildcard tests/stimuli/*.h)
	$(call say,STIM,$@)
	$(Q)mkdir -p $(@D) && $(CC) -O2 -g -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread -o $@ $< -lm

# Fuzzing: one program per target, with the sanitizers; seeds and a dictionary beside it.
FUZZ := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SECONDS ?= 60
$(B)/fuzz/%: tests/fuzz/fuzz_%.c $(RIGHT) $(PROTO_C) $(wildcard src/*/*.h include/frtrace/*.h)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) -O1 -g -std=gnu11 $(CPPFLAGS) -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined $(shell $(PKG_CONFIG) --cflags $(PKGS)) -o $@ $< $(RIGHT) \
		$(PROTO_C) $(LIBS)
.PHONY: fuzz $(addprefix fuzz-,$(FUZZ))
fuzz: $(addprefix fuzz-,$(FUZZ))
$(addprefix fuzz-,$(FUZZ)): fuzz-%: $(B)/fuzz/%
	$(Q)mkdir -p $(B)/fuzz/$*.corpus && $< -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 \
		-artifact_prefix=$(B)/fuzz/$*- -dict=tests/fuzz/record.dict $(B)/fuzz/$*.corpus tests/fuzz/record

.PHONY: unit stimuli check clean install
unit: $(UNIT)
stimuli: $(STIM) $(LOOPS)
check: unit
	$(Q)tests/unit/run $(UNIT)
clean:
	rm -rf build

install: $(B)/frtrace
	install -D -m 755 $(B)/frtrace $(DESTDIR)$(PREFIX)/bin/frtrace
	install -D -m 644 doc/frtrace.8 $(DESTDIR)$(PREFIX)/share/man/man8/frtrace.8
	install -D -m 644 doc/frtrace.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/frtrace

-include $(shell find $(B) -name '*.d' 2>/dev/null)
