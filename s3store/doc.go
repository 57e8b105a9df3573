// Package s3store is a driver.Store in an S3 bucket, for bodies that are too large for their messages.
//
//	store, err := s3store.Open(ctx, &s3store.Options{Bucket: "acme-prod-payloads"})
//	backend, err := snssqs.Open(ctx, &snssqs.Options{Store: store})
//
// A [Store] writes each body as one object with a random key, and never a second one with this key. Objects that
// nothing deletes, because they have several readers or because a process crashed, are deleted by a rule of the
// bucket's lifecycle after Options.Lifetime. A [Source] is a bucket of another program whose objects the store may
// read. [Decisions] are small objects of another kind, each written once; they decide which messages are cancelled.
//
// docs/large-messages.md describes the whole way of a large message, and the permissions.
package s3store
