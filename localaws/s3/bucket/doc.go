// Package bucket is the model of S3's buckets: what they hold, without any protocol.
//
// Its nouns: a [Store] holds the buckets of an account. A [Bucket] holds objects, ordered by key, the uploads that are
// not complete, and its [Settings]. An [Object] is immutable; a write replaces it. Its [Content] is a list of slices of
// blobs, so that copying and joining parts copies no bytes. A [Blob] is stored bytes, wherever they are, with a count
// of its users. An [Upload] has parts. A [Rule] says when objects expire and uploads are aborted. A [Condition] is what
// a write requires of the object that it replaces.
//
// Every modification is a [Change], and is made by one function, Bucket.apply, while the bucket's lock is held: what is
// keeps buckets in a store sees everything there.
package bucket
