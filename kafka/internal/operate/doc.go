// Package operate is what operators do with channels: look at them, count and list them, return their dead letters,
// purge, rewind, remove and restore them, and find orphans. A [Namespace] is what they work on. Each operation is one
// function in the file of its name.
package operate
