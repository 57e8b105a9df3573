// Package s3 is Amazon S3 on this machine: its actions, in the file of their noun, over the model in
// package bucket.
//
// Its nouns: a bucket holds objects by key. The given properties are what a client says about an object; they are kept
// and shown. A condition decides whether an object is read or written. An upload is a multipart upload, which has parts
// until it is completed or aborted. The lifecycle of a bucket expires objects at midnight UTC. A notification reports a
// change to a destination, which is a queue or a topic. [Service] holds all of these.
//
// A change is visible to every later request. Notifications are delivered before the change is answered. A bucket has
// no versions, and its objects are not encrypted; what clients say about encryption is kept and shown. So are
// configurations that modules for Terraform set by habit and that do not act here: canned access control lists, rules
// of cross-origin resource sharing, logging, websites and transitions. Reads of parts of S3 that are not built answer
// as for a bucket that does not use them; writes are refused by the name of the part.
package s3
