package walk

import "crypto/sha256"

// IDs is a set of ids of messages. It keeps 16 bytes of a hash of each, because a channel may have millions of them.
type IDs map[[16]byte]struct{}

// Add adds an id.
func (s IDs) Add(id string) { s[hashOf(id)] = struct{}{} }

// Has reports whether an id is in the set.
func (s IDs) Has(id string) bool {
	_, there := s[hashOf(id)]
	return there
}

func hashOf(id string) [16]byte {
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:16])
}
