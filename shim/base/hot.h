/* Where variables lie that calls read again and again: side by side, not one by one on pages of their own. Between two calls a
 * program, Python above all, uses up the processor's caches, of data and of translated addresses: then each page that a call
 * touches costs it more than its work does. */
#ifndef GSB_HOT_H
#define GSB_HOT_H

#define GSB_HOT __attribute__((section("gpushim_hot")))	  /* read by many calls, written seldom */
#define GSB_BUSY __attribute__((section("gpushim_busy"))) /* written by many calls */
#define GSB_OURS __attribute__((visibility("hidden")))	  /* of a declaration: needs no look where the variable lies */

#endif
