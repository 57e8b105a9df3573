// Command iterator takes deliveries in a loop and settles them itself. It stops in the middle: what it had fetched and
// not begun goes back at once, and the next one to come takes it up.
package main
