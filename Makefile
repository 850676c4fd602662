# gpushim: one non-recursive Makefile. `make help` lists the targets.
#
# Sources are found by folder, so a new file needs no line here. Two object trees: build/obj (what ships) and
# build/check (assertions and fault points on, for tests). BUILD=asan|ubsan|both|tsan puts a third one beside them.

CUDA_HOME ?= /usr/local/cuda
CC        ?= gcc
BUILD     ?= release
PREFIX    ?= /usr/local
O         := $(if $(filter release,$(BUILD)),build,build/$(BUILD))
V         ?= 0
Q         := $(if $(filter 0,$(V)),@,)
say        = $(if $(filter 0,$(V)),@printf '  %-7s %s\n' $(1) '$(2)',@:)

# What the library calls itself, for the loader and for people. Nobody links to it, so its name has no number.
VERSION   := 0.1.0
SONAME    := libgpushim.so

# Function names for the report: symbol tables of modules, and their demangling.
REPORT_LIBS := -lelf -liberty

# --- flags ---------------------------------------------------------------------------------------------------------
WARN      := -Wall -Wextra -Wshadow -Wpointer-arith -Wmissing-prototypes -Wvla -Wundef
CPPFLAGS_ := -I. -isystem $(CUDA_HOME)/include -D_GNU_SOURCE -DGPUSHIM_VERSION='"$(VERSION)"' $(CPPFLAGS)
CFLAGS_   := -std=c17 -g -O2 -fPIC -fvisibility=hidden -fno-strict-aliasing -fno-omit-frame-pointer $(WARN) $(CFLAGS)
SAN_asan  := -fsanitize=address
SAN_ubsan := -fsanitize=undefined -fno-sanitize-recover=undefined
SAN_tsan  := -fsanitize=thread
SAN_both  := $(SAN_asan) $(SAN_ubsan)
SAN       := $(SAN_$(BUILD))
CFLAGS_   += $(SAN)
CHECK     := -DGSB_DEBUG -DGSB_FAULTS
DEPS       = -MMD -MP

# --- sources -------------------------------------------------------------------------------------------------------
base_src    := $(wildcard shim/base/*.c)
lib_src     := $(wildcard shim/*.c shim/*/*.c allocator/*.c graph/*.c)
lib_asm     := $(wildcard shim/*/*.S)
report_src  := $(wildcard report/*.c) $(base_src) shim/core/conf.c
sim_src     := $(wildcard tests/sim/cuda/*.c)
simrt_src   := $(wildcard tests/sim/cudart/*.c)
# Stand-ins for PyTorch's libraries; libc10_cuda.so once for each mangling that it may call.
torch_src   := $(filter-out tests/sim/torch/c10.c tests/sim/torch/rt_%,$(wildcard tests/sim/torch/*.c))
torch_lib   := $(O)/sim/torch/libc10.so $(O)/sim/torch/libc10_cuda.so $(O)/sim/torch/signed/libc10_cuda.so
testlib_src := $(wildcard tests/lib/*.c)

lib_obj     := $(lib_src:%.c=$(O)/obj/%.o) $(lib_asm:%.S=$(O)/obj/%.o)
check_obj   := $(lib_src:%.c=$(O)/check/%.o) $(lib_asm:%.S=$(O)/check/%.o)
# What runs in every allocation and free is optimized as one piece.
hot_src     := $(wildcard allocator/*.c) $(addprefix shim/,base/lock.c base/slab.c core/device.c core/order.c \
  core/stream.c core/thread.c stack/key.c watch/launch.c wrap/launch.c api/runtime.c api/entry_runtime.c wrap/quick.c watch/note.c)
ifeq ($(SAN),)
$(hot_src:%.c=$(O)/obj/%.o): OPTIMIZE := -O3 -flto=auto
endif

report_obj  := $(report_src:%.c=$(O)/obj/%.o)
simthreads_obj := $(patsubst %.c,$(O)/obj/%.o,$(wildcard tests/sim/threads/*.c))
sim_obj     := $(sim_src:%.c=$(O)/obj/%.o)
testlib_obj := $(testlib_src:%.c=$(O)/check/%.o)

# Programs under tests/: the prefix of the name says what a program links to.
#   rt_*   libcudart.so.13   rt12_* libcudart.so.12   drv_* libcuda.so.1   st_* the toolkit's static runtime
#   dl_*   nothing (it loads what it needs)
# lib_* is a shared library, linked to nothing or to what the word after lib_ says.
unit_src    := $(wildcard tests/unit/test_*.c tests/model/test_*.c)
unit_bin    := $(unit_src:%.c=$(O)/%)
prog_rooms  := preload labelled labelled/blind conformance fault sim/torch mutants
prog_src    := $(wildcard $(foreach room,$(prog_rooms),$(addprefix tests/$(room)/,rt_*.c rt12_*.c drv_*.c st_*.c dl_*.c)))
prog_bin    := $(prog_src:%.c=$(O)/%)
proglib_src := $(wildcard $(addsuffix /lib_*.c,tests/preload tests/labelled/blind))
proglib_bin := $(proglib_src:%.c=$(O)/%.so)
gpu_c_src   := $(wildcard tests/gpu/*.c)
gpu_cu_src  := $(wildcard tests/gpu/*.cu)
# tests/stack: shim/stack as a library that interpreters load, programs that use it, and libraries that those load.
stack_probe := $(O)/tests/stack/libstackprobe.so
stack_prog  := $(patsubst %.c,$(O)/%,$(wildcard tests/stack/prog_*.c))
stack_lib   := $(patsubst %.c,$(O)/%.so,$(wildcard tests/stack/lib_*.c))
# tests/soak: one program of several files.
soak_obj    := $(patsubst %.c,$(O)/obj/%.o,$(wildcard tests/soak/*.c))
soak_bin    := $(O)/tests/soak/program
# A tool is named with a dash; the other files there are its parts.
tool_src    := $(wildcard tests/tools/*-*.c)
toolpart_src := $(filter-out $(tool_src),$(wildcard tests/tools/*.c))
tool_bin    := $(tool_src:tests/tools/%.c=$(O)/%)

# tests/fuzz: each target is linked to what it reads with, under the address and undefined-behaviour sanitizers.
fuzz_bin    := $(patsubst %.c,$(O)/%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz_conf_src     := $(base_src) shim/core/conf.c
fuzz_snapshot_src := $(filter-out report/main.c,$(report_src))
fuzz_recover_src  := $(fuzz_snapshot_src)
fuzz_import_src   := $(fuzz_snapshot_src)
fuzz_trace_src    := tests/tools/trace.c
FUZZ_SECONDS ?= 60

# --- targets -------------------------------------------------------------------------------------------------------
.PHONY: mutants all help lib check-lib report sim tests libs gpu demo test test-quick tidy clean install deb asan ubsan tsan fuzz bench
.DEFAULT_GOAL := all

all: toolkit lib check-lib report sim tests libs gpu $(fuzz_bin)

help:
	@sed -n 's/^## //p' Makefile

## make             build everything into build/
## make demo        set up what is missing, run a preloaded program, print its report
## make test        every test that needs no GPU; ends with 'N passed, N failed'
## make test-quick  the part of it that ends within 60 seconds
## make tidy        check arrows between rooms, file lengths, exported symbols, openings
## make soak        SEED=1 ROUNDS=100: random programs with and without gpushim, under many settings; FAULTS=full: then
##                  every driver call fails once with each likely error under many settings, which takes hours
## make bench       speed and memory beside other allocators on a GPU; without one, of the simulated GPU. Builds nothing
## make asan        unit and most preload tests under AddressSanitizer (ubsan: likewise; tsan: unit tests, threads)
## make fuzz        libFuzzer (clang) on what reads text and files; FUZZ_SECONDS=60 each
## make mutants     planted bugs are caught: hours (ONLY='pattern': some of them)
## make install     PREFIX=/usr/local DESTDIR=
## make deb         build/gpushim_VERSION_ARCHITECTURE.deb, a Debian package of it
## make clean

.PHONY: toolkit
toolkit:
	@test -f "$(CUDA_HOME)/include/cudaTypedefs.h" || { \
	  echo "gpushim: no CUDA Toolkit (12.4 or newer) at $(CUDA_HOME); install it, or say where it is: make CUDA_HOME=/path" >&2; exit 1; }

# And what it was made of, for scripts/gpu-check, which may run where the repository is another one, or none.
lib: $(O)/libgpushim.so
	@mkdir -p $(O)/gpu
	@echo "$$(sha256sum <$< | cut -d ' ' -f 1) $$(scripts/tree-name)" >$(O)/gpu/made-of
check-lib: $(O)/check/libgpushim.so
report: $(O)/gpushim-report
sim: $(O)/sim/libcuda.so.1 $(O)/sim/12040/libcuda.so.1 $(O)/sim/libsimthreads.so $(O)/sim/libcudart.so.13 $(O)/sim/libcudart.so.12
tests: $(torch_lib) $(stack_probe) $(stack_prog) $(stack_lib) $(unit_bin) $(prog_bin) $(proglib_bin) $(tool_bin)
tests: $(soak_bin)
libs: $(O)/lib/.copied $(O)/lib/.copied-tests

# What the programs need from packages, beside them, so that build/ also runs where those are not installed.
# libunwind is named because nothing links to it: libgpushim.so loads it. Programs find them by DT_RPATH, not RUNPATH,
# because it also holds for what the libraries need in turn.
$(O)/lib/.copied: $(O)/gpushim-report
$(O)/lib/.copied-tests: $(unit_bin) $(tool_bin) | $(O)/lib/.copied
$(O)/lib/.copied $(O)/lib/.copied-tests:
	$(call say,COPY,$(@D))
	@mkdir -p $(@D)
	$(Q)scripts/copy-libs $(@D) $^ $(filter /%,$(shell $(CC) -print-file-name=libunwind.so.8))
	@touch $@

$(O)/obj/%.o: %.c | toolkit
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_) $(CFLAGS_) $(OPTIMIZE) $(DEPS) -c $< -o $@

# The page is read by the assembler, which a cache of compilations would not notice.
$(O)/obj/report/html_parts.o: $(wildcard report/page/*.* report/page/*/*.*)
$(O)/obj/report/html_parts.o: export CCACHE_DISABLE := 1

$(O)/obj/%.o: %.S | toolkit
	$(call say,AS,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_) $(DEPS) -g -c $< -o $@

$(O)/check/%.o: %.c | toolkit
	$(call say,CC,$< (check))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_) $(CHECK) $(CFLAGS_) -O1 $(DEPS) -c $< -o $@

$(O)/check/%.o: %.S | toolkit
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_) $(if $(SAN),-DGS_DOORS_UNNAMED) $(DEPS) -g -c $< -o $@

# Never unloaded, whoever closes it: its threads, and what it has registered, would be left behind (nodelete).
shim_link := -Wl,-soname,$(SONAME) -Wl,-z,defs -Wl,-z,now -Wl,-z,nodelete

ifeq ($(SAN),)
$(O)/libgpushim.so: $(lib_obj) shim/gpushim.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -O3 -flto=auto -o $@ $(lib_obj) $(SAN) $(shim_link) -Wl,--version-script=shim/gpushim.map \
	  -Wl,--build-id $(LDFLAGS)

# The shim with assertions and fault points, and doors to them: for tests/fault.
$(O)/check/libgpushim.so: $(check_obj) $(O)/check/tests/fault/check_door.o shim/gpushim.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $(check_obj) $(O)/check/tests/fault/check_door.o $(SAN) $(shim_link) \
	  -Wl,--version-script=shim/gpushim.map $(LDFLAGS)
else
# Programs under a sanitizer cannot have doors called dlsym (see shim/api/doors.S): there is one shim for them.
$(O)/libgpushim.so $(O)/check/libgpushim.so: $(O)/check/libgpushim_doors.so
	@ln -sf $(if $(filter %/check/libgpushim.so,$@),,check/)libgpushim_doors.so $@
endif

$(O)/gpushim-report: $(report_obj)
	$(call say,LD,$@)
	$(Q)$(CC) -o $@ $(report_obj) $(SAN) $(LDFLAGS) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/lib:$$ORIGIN/../lib/gpushim' -lcjson -lz $(REPORT_LIBS)

$(O)/check/libgpushim_check.a: $(check_obj)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $(check_obj)

# The shim for programs under a sanitizer: as above, but its doors have other names, which are exported.
$(O)/check/libgpushim_doors.so: $(check_obj) $(O)/check/tests/fault/check_door.o
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $^ $(SAN) $(shim_link) $(LDFLAGS)

$(O)/sim/libcuda.so.1: $(sim_obj) $(wildcard tests/sim/cuda/*.map)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -o $@ $(sim_obj) $(SAN) -Wl,-soname,libcuda.so.1 -Wl,--build-id -Wl,-Bsymbolic -Wl,-z,defs \
	  $(addprefix -Wl$(comma)--version-script=,$(wildcard tests/sim/cuda/libcuda.map)) -ldl -lpthread
	@ln -sf libcuda.so.1 $(O)/sim/libcuda.so

# The driver as it was before 12.5: without the functions that came later, for whoever looks them up by symbol.
$(O)/sim/12040/libcuda.so.1: $(sim_obj) tests/sim/cuda/driver_names.def
	$(call say,LD,$@)
	@mkdir -p $(@D)
	@awk -F '[(,]' 'BEGIN { print "{ global: *; local:" } /^SIM_FN/ && $$4 > 12040 { print $$2 ";" } END { print "};" }' \
	  tests/sim/cuda/driver_names.def >$(@D)/libcuda.map
	$(Q)$(CC) -shared -o $@ $(sim_obj) $(SAN) -Wl,-soname,libcuda.so.1 -Wl,--build-id -Wl,-Bsymbolic -Wl,-z,defs \
	  -Wl,--version-script=$(@D)/libcuda.map -ldl -lpthread

$(O)/sim/libsimthreads.so: $(simthreads_obj) $(O)/sim/libcuda.so.1
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $^ $(SAN) -Wl,-soname,libsimthreads.so -Wl,-z,defs -ldl -lpthread

comma := ,
define simrt_rules
$(O)/obj/cudart$(1)/%.o: tests/sim/cudart/%.c | toolkit
	$$(call say,CC,$$< ($(1)))
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CPPFLAGS_) -DSIM_CUDART_MAJOR=$(1) $$(CFLAGS_) $$(DEPS) -c $$< -o $$@

$(O)/sim/libcudart.so.$(1): $(simrt_src:tests/sim/cudart/%.c=$(O)/obj/cudart$(1)/%.o) $(wildcard tests/sim/cudart/libcudart.so.$(1).map)
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) -shared -o $$@ $(simrt_src:tests/sim/cudart/%.c=$(O)/obj/cudart$(1)/%.o) $$(SAN) -Wl,-soname,libcudart.so.$(1) -Wl,-Bsymbolic \
	  $(addprefix -Wl$(comma)--version-script=,$(wildcard tests/sim/cudart/libcudart.so.$(1).map)) -ldl -lpthread
endef
$(eval $(call simrt_rules,12))
$(eval $(call simrt_rules,13))

# --- test programs -------------------------------------------------------------------------------------------------
$(unit_bin): $(O)/%: $(O)/check/%.o $(testlib_obj) $(O)/check/libgpushim_check.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -o $@ $< $(testlib_obj) $(O)/check/libgpushim_check.a $(SAN) $(LDFLAGS) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../../lib' \
	  -lcmocka -lcjson -lz -ldl -lpthread -lm

link_rt   = $(O)/sim/libcudart.so.13
link_rt12 = $(O)/sim/libcudart.so.12
link_drv  = $(O)/sim/libcuda.so.1
# Its dlsym is wrapped, so that the program sees what the runtime is told.
link_st   = -Wl,--wrap=dlsym $(CUDA_HOME)/lib64/libcudart_static.a -lrt
link_dl   =
link_shim = $(O)/libgpushim.so
# The word of a name that says what is linked: tests/preload/lib_rt_count -> rt.
link_word = $(firstword $(subst _, ,$(patsubst lib_%,%,$(notdir $(1)))))

# Programs find the simulated libraries only through scripts/sim-run: no rpath, so that they run on a real driver too.
$(prog_bin): $(O)/tests/%: tests/%.c | sim
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_) $(CFLAGS_) $(DEPS) -o $@ $< -Wl,--allow-shlib-undefined \
	  $(link_$(call link_word,$*)) -rdynamic -ldl -lpthread

$(soak_bin): $(soak_obj) | sim
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -o $@ $(soak_obj) $(SAN) -Wl,--allow-shlib-undefined $(link_rt) $(link_drv) -rdynamic -ldl -lpthread

$(proglib_bin): $(O)/tests/%.so: tests/%.c | sim lib
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_) $(CFLAGS_) -fvisibility=default $(DEPS) -shared -o $@ $< \
	  $(link_$(call link_word,$*)) -ldl

$(O)/sim/torch/libc10.so: tests/sim/torch/c10.c | sim
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_) $(CFLAGS_) -fvisibility=default $(DEPS) -shared -o $@ $< $(SAN) -Wl,-soname,libc10.so

$(O)/sim/torch/signed/libc10_cuda.so: CPPFLAGS_ += -DTORCH_SIGNED
$(O)/sim/torch/libc10_cuda.so $(O)/sim/torch/signed/libc10_cuda.so: $(torch_src) $(wildcard tests/sim/torch/*.h) \
  $(O)/sim/torch/libc10.so
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_) $(CFLAGS_) -fvisibility=default -shared -o $@ $(torch_src) $(SAN) -Wl,-soname,libc10_cuda.so \
	  -Wl,-rpath,'$$ORIGIN:$$ORIGIN/..' $(O)/sim/torch/libc10.so $(link_rt) -ldl -lpthread

$(stack_probe): tests/stack/probe.c $(O)/check/libgpushim_check.a tests/stack/probe.map
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_) $(CHECK) $(CFLAGS_) $(DEPS) -shared -o $@ $< $(O)/check/libgpushim_check.a $(SAN) $(LDFLAGS) \
	  -Wl,-soname,$(@F) -Wl,--version-script=tests/stack/probe.map -ldl -lpthread

$(stack_prog): $(O)/%: %.c $(stack_probe)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS_) $(CFLAGS_) $(DEPS) -rdynamic -o $@ $< $(stack_probe) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN' \
	  -lcmocka -ldl -lpthread

$(stack_lib): $(O)/%.so: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_) $(CFLAGS_) -fvisibility=default $(DEPS) -shared -o $@ $<

$(filter-out %/trace-model,$(tool_bin)): $(O)/%: tests/tools/%.c $(toolpart_src) $(wildcard tests/tools/*.h) | sim
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS_) $(CFLAGS_) -o $@ $(filter %.c,$^) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/lib' $(link_rt) -lz -ldl -lpthread

# trace-model has the allocator itself, and no CUDA.
model_src := $(filter allocator/%,$(lib_src)) $(base_src)
$(O)/trace-model: tests/tools/trace-model.c tests/tools/trace.c $(model_src:%.c=$(O)/obj/%.o)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS_) $(CFLAGS_) -o $@ $^ -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/lib' -lz -ldl -lpthread

FUZZ = $(CPPFLAGS_) -DGSB_DEBUG -std=c17 -g -O1 -fno-omit-frame-pointer -fno-strict-aliasing $(WARN)
FUZZ_SAN = address,undefined -fno-sanitize-recover=undefined

define fuzz_rules
$(O)/tests/fuzz/$(1): tests/fuzz/$(1).c tests/fuzz/mutate.c $($(1)_src) $(wildcard report/*.h report/page/* shim/*/*.h tests/fuzz/*.h)
	$$(call say,CC,$$<)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(FUZZ) -fsanitize=$$(FUZZ_SAN) -o $$@ $$(filter %.c,$$^) $(REPORT_LIBS) -lcjson -lz -ldl -lpthread

$(O)/fuzz/$(1): tests/fuzz/$(1).c $($(1)_src)
	$$(call say,CLANG,$$<)
	@mkdir -p $$(@D)
	$$(Q)clang $$(FUZZ) -fsanitize=fuzzer,$$(FUZZ_SAN) -o $$@ $$^ $(REPORT_LIBS) -lcjson -lz -ldl -lpthread
endef
$(foreach target,$(notdir $(fuzz_bin)),$(eval $(call fuzz_rules,$(target))))

include $(wildcard tests/gpu/gpu.mk)
gpu:

# --- running -------------------------------------------------------------------------------------------------------
# demo and test are for a fresh machine: they set up first, so what they build is built by a second make.
jobs = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

demo: toolkit
	@scripts/setup
	@$(MAKE) --no-print-directory $(if $(filter 0,$(V)),-s) $(jobs) lib report sim $(filter %_demo,$(prog_bin))
	@scripts/demo

test: toolkit
	@scripts/setup --tests
	@$(MAKE) --no-print-directory $(if $(filter 0,$(V)),-s) $(jobs) all
	@$(MAKE) --no-print-directory $(if $(filter 0,$(V)),-s) $(jobs) BUILD=both sanitized
	@scripts/run-tests

# What tests/preload/test_sanitizers.sh runs: the shim, the simulated driver and a few programs, under two sanitizers.
.PHONY: sanitized
sanitized: toolkit lib sim $(addprefix $(O)/tests/preload/,rt_planted rt_demo rt_mix rt_graph rt_threads)

test-quick: all
	@scripts/run-tests --quick

.PHONY: soak
SEED   ?= 1
ROUNDS ?= 100
soak: lib check-lib sim tests
	@nice tests/soak/soak.py --build $(O) --seed $(SEED) --rounds $(ROUNDS)
ifneq ($(FAULTS),)
	@nice tests/fault/full_sweep.py --build $(O)
endif

tidy: lib
	@scripts/tidy

bench:
	@scripts/bench

asan ubsan tsan: toolkit
	@$(MAKE) --no-print-directory $(jobs) BUILD=$@ lib check-lib sim tests
	@scripts/run-tests --build build/$@

fuzz: toolkit
	@command -v clang >/dev/null || { \
	  echo "gpushim: make fuzz needs clang with libFuzzer (Debian: clang and libclang-rt-dev)" >&2; exit 1; }
	@$(MAKE) --no-print-directory $(patsubst $(O)/tests/fuzz/%,$(O)/fuzz/%,$(fuzz_bin))
	@tests/fuzz/run $(O)/fuzz $(FUZZ_SECONDS)

mutants: all
	@tests/mutants/run.py --only '$(or $(ONLY),*)'

install: toolkit lib report $(O)/lib/.copied
	@scripts/install "$(DESTDIR)$(PREFIX)" $(VERSION) $(O) "$(PREFIX)"

deb: toolkit lib report $(O)/lib/.copied
	@scripts/deb/build $(VERSION) $(O)

clean:
	rm -rf build

-include $(shell find $(O) -path $(O)/mutants -prune -o -name '*.d' -print 2>/dev/null)
