// Package deathkind names the kinds of death, by which a dead letter says why it was rejected, and the frames of a
// panic.
package deathkind
