/* User objects: what a graph keeps alive for the program. An object is destroyed, on the driver's own thread, when
 * nothing holds a reference any more: not the program, no graph, no executable graph, no launch under way. */
#ifndef SIM_USER_OBJECT_H
#define SIM_USER_OBJECT_H

struct sim_user_object;

/* References that a graph holds to one object, in a list. */
struct sim_retained {
	struct sim_user_object *object;
	unsigned count;
	struct sim_retained *next;
};

/* Takes one reference to each object of another list; the list was empty. */
void sim_user_object_retain_all(struct sim_retained **list, const struct sim_retained *from);
void sim_user_object_drop_all(struct sim_retained **list);

#endif
