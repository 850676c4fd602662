/* Calls that have to fail, each with the code that CUDA defines for it. */
#ifndef SOAK_REFUSED_H
#define SOAK_REFUSED_H

void refused_one(int stream);

#endif
