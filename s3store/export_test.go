package s3store

// CopySource is how a copy names its source.
var CopySource = copySource

// CopyInParts makes a store copy objects above a size in parts of that size, so that a test need not have 5 GiB.
func (s *Store) CopyInParts(size int64) { s.copyUpTo, s.copyPart = size, size }
