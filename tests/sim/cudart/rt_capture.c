/* cudaStreamGetCaptureInfo and its kin: the functions whose signatures differ between 12 and 13.
 *
 * In 12 the plain name has three arguments, _v2 six and _v3 seven; in 13 the plain name has seven and the others are
 * gone. The header declares 13's, so the 12 build defines its own under another name with the symbol as a label. */
#include "tests/sim/cudart/rt.h"

static cudaError_t capture_info(const struct rt_streamed *d, cudaStream_t stream, enum cudaStreamCaptureStatus *status,
				unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **dependencies,
				const cudaGraphEdgeData **edges, size_t *count)
{
	return rt_result(d->cuStreamGetCaptureInfo(stream, (CUstreamCaptureStatus *)status, (cuuint64_t *)id, graph,
						   dependencies, (const CUgraphEdgeData **)edges, count));
}

RT_TWIN(cudaStreamBeginCaptureToGraph, _ptsz,
	(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *after, const cudaGraphEdgeData *edges,
	 size_t count, enum cudaStreamCaptureMode mode),
	(stream, graph, after, edges, count, mode))
{
	return rt_result(d->cuStreamBeginCaptureToGraph(stream, graph, after, (const CUgraphEdgeData *)edges, count,
							(CUstreamCaptureMode)mode));
}

#if SIM_CUDART_MAJOR == 12
#pragma GCC visibility push(default)
cudaError_t rt12_capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
			      unsigned long long *id) __asm__("cudaStreamGetCaptureInfo");
cudaError_t rt12_capture_info_ptsz(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
				   unsigned long long *id) __asm__("cudaStreamGetCaptureInfo_ptsz");
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
					unsigned long long *id, cudaGraph_t *graph,
					const cudaGraphNode_t **dependencies, size_t *count);
cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
					unsigned long long *id, cudaGraph_t *graph,
					const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **edges,
					size_t *count);
cudaError_t rt12_update(cudaStream_t stream, cudaGraphNode_t *after, size_t count,
			unsigned flags) __asm__("cudaStreamUpdateCaptureDependencies");
cudaError_t rt12_update_ptsz(cudaStream_t stream, cudaGraphNode_t *after, size_t count,
			     unsigned flags) __asm__("cudaStreamUpdateCaptureDependencies_ptsz");
cudaError_t cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream, cudaGraphNode_t *after,
						   const cudaGraphEdgeData *edges, size_t count, unsigned flags);
#pragma GCC visibility pop

RT_TWIN(rt12_update, _ptsz, (cudaStream_t stream, cudaGraphNode_t *after, size_t count, unsigned flags),
	(stream, after, count, flags))
{
	return rt_result(d->cuStreamUpdateCaptureDependencies(stream, after, NULL, count, flags));
}

RT_TWIN(cudaStreamUpdateCaptureDependencies_v2, _ptsz,
	(cudaStream_t stream, cudaGraphNode_t *after, const cudaGraphEdgeData *edges, size_t count, unsigned flags),
	(stream, after, edges, count, flags))
{
	return rt_result(
	    d->cuStreamUpdateCaptureDependencies(stream, after, (const CUgraphEdgeData *)edges, count, flags));
}

RT_TWIN(rt12_capture_info, _ptsz, (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id),
	(stream, status, id))
{
	return capture_info(d, stream, status, id, NULL, NULL, NULL, NULL);
}

RT_TWIN(cudaStreamGetCaptureInfo_v2, _ptsz,
	(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
	 const cudaGraphNode_t **dependencies, size_t *count),
	(stream, status, id, graph, dependencies, count))
{
	return capture_info(d, stream, status, id, graph, dependencies, NULL, count);
}

RT_TWIN(cudaStreamGetCaptureInfo_v3, _ptsz,
	(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
	 const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **edges, size_t *count),
	(stream, status, id, graph, dependencies, edges, count))
{
	return capture_info(d, stream, status, id, graph, dependencies, edges, count);
}
#else
RT_TWIN(cudaStreamUpdateCaptureDependencies, _ptsz,
	(cudaStream_t stream, cudaGraphNode_t *after, const cudaGraphEdgeData *edges, size_t count, unsigned flags),
	(stream, after, edges, count, flags))
{
	return rt_result(
	    d->cuStreamUpdateCaptureDependencies(stream, after, (const CUgraphEdgeData *)edges, count, flags));
}

RT_TWIN(cudaStreamGetCaptureInfo, _ptsz,
	(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
	 const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **edges, size_t *count),
	(stream, status, id, graph, dependencies, edges, count))
{
	return capture_info(d, stream, status, id, graph, dependencies, edges, count);
}
#endif
