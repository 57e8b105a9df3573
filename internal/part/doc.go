// Package part is the rule for the parts of a channel's name, which all backends and the core share: it makes the
// mapping from channels to the names of a service one to one.
package part
