// Package deathkind names the kinds of death, by which a dead letter says why it was rejected.
package deathkind
