// Command iterator takes deliveries in a loop and settles them itself. It leaves the loop early: deliveries that were
// prefetched and not started are released, and the next consumer receives them.
package main
