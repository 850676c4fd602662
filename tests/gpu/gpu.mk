# Programs for a real GPU (scripts/gpu-check runs them). Built where nvcc is, run anywhere: device code for Hopper, and
# intermediate code for every card from Turing on. What needs nvcc or CUPTI's header is left out where they are missing,
# in one line; the rest of the build goes on.

NVCC      := $(wildcard $(CUDA_HOME)/bin/nvcc)
GPU       := $(O)/gpu
GPU_CODE  := -gencode arch=compute_75,code=compute_75 -gencode arch=compute_90,code=sm_90
NVFLAGS   := -O2 -std=c++17 $(GPU_CODE) -lineinfo
gpu_stubs := -L$(CUDA_HOME)/lib64/stubs -lcuda

gpu_cupti := $(firstword $(wildcard $(CUDA_HOME)/include/cupti.h $(CUDA_HOME)/extras/CUPTI/include/cupti.h))

# Programs of the matrix. What needs the header of a library is left out where that is missing.
gpu_has    = $(if $(wildcard $(CUDA_HOME)/include/$(1)),$(2))
gpu_compat_cu := cooperative dynamic managed mapped texture
gpu_compat_drv := contexts linger
gpu_compat_rt := copies $(call gpu_has,cublasLt.h,cublaslt) $(call gpu_has,cufft.h,cufft) $(call gpu_has,cusolverDn.h,cusolver) \
  $(call gpu_has,cusparse.h,cusparse) $(call gpu_has,nvrtc.h,nvrtc)

# One program of several files. Its host makes what the device made, to the bit: neither fuses operations.
gpu_bound := $(addprefix $(GPU)/,$(addsuffix .o,launch_bound $(addprefix launch_bound_,integers motion solvers streams \
  $(call gpu_has,cublas_v2.h,language))))

# All of it but the part with cuBLAS, for the simulated device: kernels are functions of the host.
gpu_bound_sim := $(addprefix $(GPU)/sim/,$(addsuffix .o,bound_sim launch_bound $(addprefix launch_bound_,integers motion solvers streams)))
gpu_bound_h   := $(addprefix tests/gpu/,bound_sim.h launch_bound.h check.h load.h) tests/sim/sim.h

gpu_bin   := procaddr launch_bound_sim $(addprefix compat/,$(gpu_compat_drv) $(gpu_compat_rt)) \
             $(if $(NVCC),vec_static vec_shared vec_ptds cublas_gemm drv_api overhead stray event_pairs launch_bound loops $(addprefix compat/,$(gpu_compat_cu))) \
             $(if $(gpu_cupti),libcupti_counter.so)

.PHONY: gpu
gpu: $(addprefix $(GPU)/,$(gpu_bin))
	$(if $(NVCC),,@echo "gpushim: no nvcc in $(CUDA_HOME)/bin: programs for a real GPU are not built" >&2)
	$(if $(gpu_cupti),,@echo "gpushim: no cupti.h in $(CUDA_HOME): the CUPTI counter is not built" >&2)

$(GPU)/.made:
	@mkdir -p $(@D) && touch $@

# One source, three ways to reach the driver.
$(GPU)/vec_static: VEC := -cudart static
$(GPU)/vec_shared: VEC := -cudart shared
$(GPU)/vec_ptds: VEC := -cudart static --default-stream per-thread
$(GPU)/vec_static $(GPU)/vec_shared $(GPU)/vec_ptds: tests/gpu/vec.cu tests/gpu/check.h $(GPU)/.made
	$(call say,NVCC,$@)
	$(Q)$(NVCC) $(NVFLAGS) $(VEC) -I. -o $@ $<

$(GPU)/cublas_gemm: tests/gpu/cublas_gemm.cu tests/gpu/check.h $(GPU)/.made
	$(call say,NVCC,$@)
	$(Q)$(NVCC) $(NVFLAGS) -cudart static -I. -o $@ $< -ldl

$(GPU)/event_pairs: tests/gpu/event_pairs.cu tests/gpu/check.h $(GPU)/.made
	$(call say,NVCC,$@)
	$(Q)$(NVCC) $(NVFLAGS) -cudart static -I. -o $@ $< $(gpu_stubs)

$(GPU)/loops: tests/gpu/loops.cu tests/gpu/check.h tests/gpu/load.h tests/gpu/turns.h $(GPU)/.made
	$(call say,NVCC,$@)
	$(Q)$(NVCC) $(NVFLAGS) -cudart static -I. -o $@ $< -ldl

$(gpu_bound): $(GPU)/%.o: tests/gpu/%.cu tests/gpu/launch_bound.h tests/gpu/check.h tests/gpu/load.h $(GPU)/.made
	$(call say,NVCC,$@)
	$(Q)$(NVCC) $(NVFLAGS) -fmad=false -Xcompiler -ffp-contract=off $(call gpu_has,cublas_v2.h,-DWITH_CUBLAS) -I. -c -o $@ $<

$(GPU)/launch_bound: $(gpu_bound)
	$(call say,NVCC,$@)
	$(Q)$(NVCC) $(GPU_CODE) -cudart static -o $@ $^ -ldl

$(GPU)/sim/%.cc: tests/gpu/%.cu tests/gpu/bound_sim.py
	@mkdir -p $(@D)
	$(Q)python3 tests/gpu/bound_sim.py $< > $@.new && mv $@.new $@

$(GPU)/sim/bound_sim.o: tests/gpu/bound_sim.cc
$(filter-out %/bound_sim.o,$(gpu_bound_sim)): %.o: %.cc
$(gpu_bound_sim): $(gpu_bound_h)
	$(call say,CXX,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -O2 -ffp-contract=off -I. -isystem $(CUDA_HOME)/include -c -o $@ $(filter %.cc,$^)

$(GPU)/launch_bound_sim: $(gpu_bound_sim) | sim
	$(call say,CXX,$@)
	$(Q)$(CXX) -o $@ $^ -Wl,--allow-shlib-undefined $(link_rt) -ldl

$(GPU)/kernels.fatbin: tests/gpu/kernels.cu $(GPU)/.made
	$(call say,NVCC,$@)
	$(Q)$(NVCC) $(NVFLAGS) -fatbin -o $@ $<

$(GPU)/overhead: tests/gpu/overhead.cu tests/gpu/check.h $(GPU)/.made
	$(call say,NVCC,$@)
	$(Q)$(NVCC) $(NVFLAGS) -cudart shared -I. -o $@ $< $(gpu_stubs)

$(GPU)/stray: tests/gpu/stray.cu tests/gpu/check.h $(GPU)/.made
	$(call say,NVCC,$@)
	$(Q)$(NVCC) $(NVFLAGS) -cudart shared -I. -o $@ $<

$(addprefix $(GPU)/compat/,$(gpu_compat_cu)): $(GPU)/compat/%: tests/gpu/compat/%.cu tests/gpu/check.h tests/gpu/load.h $(GPU)/.made
	$(call say,NVCC,$@)
	@mkdir -p $(@D)
	$(Q)$(NVCC) $(NVFLAGS) $(if $(filter dynamic,$*),-rdc=true) -cudart static -I. -o $@ $<

# Linked to the simulated libraries, whose names are those of the real ones; no rpath, so they run with either.
$(addprefix $(GPU)/compat/,$(gpu_compat_drv)): gpu_link = $(link_drv)
$(addprefix $(GPU)/compat/,$(gpu_compat_rt)): gpu_link = $(link_rt)
$(addprefix $(GPU)/compat/,$(gpu_compat_drv) $(gpu_compat_rt)): $(GPU)/compat/%: tests/gpu/compat/%.c tests/gpu/check.h tests/gpu/load.h | sim
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_) $(CFLAGS_) -o $@ $< -Wl,--allow-shlib-undefined $(gpu_link) -ldl -lpthread -lm

# Uses the driver API alone; its kernels lie inside it.
$(GPU)/drv_api: tests/gpu/drv_api.c tests/gpu/check.h tests/gpu/kernels.h $(GPU)/kernels.fatbin
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS_) $(CFLAGS_) -DKERNELS_FATBIN='"$(GPU)/kernels.fatbin"' -o $@ $< $(gpu_stubs)

# Every typed driver function of the toolkit: name, version, per-thread twin or not.
$(GPU)/procaddr_list.h: $(CUDA_HOME)/include/cudaTypedefs.h $(GPU)/.made
	$(Q)grep -oE 'PFN_cu[A-Za-z0-9]+_v[0-9]+(_ptsz|_ptds)?\)' $< | sort -u | \
	  sed -E 's/PFN_(cu[A-Za-z0-9]+)_v([0-9]+)\)/ROW(\1, \2, 0)/; s/PFN_(cu[A-Za-z0-9]+)_v([0-9]+)_pt..\)/ROW(\1, \2, 2)/' > $@

$(GPU)/procaddr: tests/gpu/procaddr.c $(GPU)/procaddr_list.h
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS_) $(CFLAGS_) -I$(GPU) -o $@ $< -ldl

$(GPU)/libcupti_counter.so: tests/gpu/cupti_counter.c $(GPU)/.made
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS_) -isystem $(dir $(gpu_cupti)) $(CFLAGS_) -shared -o $@ $< -ldl -lpthread
