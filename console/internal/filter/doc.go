// Package filter reads the filters that people write in the console.
//
// Its nouns: a [Filter] selects messages; it is a list of terms, such as kind:timeout, older:2h or error:"no stock".
// All terms must hold. An [Error] says at which column a filter does not parse.
//
// An empty filter is an error, so that an action never means all messages by mistake. The term all selects all.
package filter
