// Package described shows channels: as JSON for programs, and as a text for people.
//
// Its nouns: a [Channel] is all that is known about one channel, as JSON, and [Text] writes the same for people. A
// [Listed] channel is one of a list, as JSON.
package described
