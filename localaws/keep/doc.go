// Package keep is the seam between a server and the disk.
//
// Its nouns: a [Store] keeps records. A record is a key with a value. A [Change] sets or deletes one record. The server
// loads every record when it starts, and then only writes: it serves calls from memory.
package keep
