// Package history remembers what waited in channels. Its nouns: a [History] has the [Point]s of the last six hours of
// each channel, in less than 64 KiB each; an [Archive] keeps a History in a file, from which another process goes on;
// [Rates] are messages a second, from counts that grow.
package history
